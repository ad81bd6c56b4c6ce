"""Turn any fault in a file of a foreign program into a one-line error."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainlaw.formulas.errors import InputError, MissingDependencyError, TrainlawError, shown


@contextmanager
def foreign_faults(origin: str) -> Iterator[None]:
    """Turn errors caused by a malformed file of another program into an `InputError` that names `origin`.

    A foreign file can be wrong in as many ways as there are lines that read it, so the errors that wrong
    values cause are caught once, here, instead of at each of those lines.
    """
    try:
        yield
    except MissingDependencyError:
        raise
    except TrainlawError as error:
        text = str(error)
        raise InputError(text if origin in text else f"{origin}: {text}") from None
    except Exception as error:
        kind = type(error).__name__
        raise InputError(
            f"{origin}: a value is not what its place expects ({kind}: {shown(str(error))})"
        ) from None


def cnn_name_from_file(path: str | os.PathLike[str]) -> str:
    """Return the name of a CNN made from a file name: letters, digits, dots, dashes and underscores."""
    # Names end up in tables, pages and workbooks, where they must not act as a path or a formula.
    return re.sub(r"[^\w.-]+", "_", Path(path).stem).strip("._-")[:100] or "network"
