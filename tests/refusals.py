"""What a reader of files may do with any file: read it, or refuse it by one line."""

from collections.abc import Callable
from pathlib import Path

from trainlaw.formulas.errors import TrainlawError


def read_or_refused(read: Callable[[Path], object], path: Path) -> bool:
    """Return whether the file was read; fail where it was neither read nor refused by one line."""
    try:
        read(path)
    except TrainlawError as error:
        assert "\n" not in str(error) and len(str(error)) < 2000
        return False
    return True
