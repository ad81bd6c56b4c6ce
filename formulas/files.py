"""Files that are either whole or not there: written beside the goal, then moved onto it."""

import os
import secrets
from pathlib import Path

from trainlaw.formulas.errors import InputError


def write_bytes_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to a temporary name in the folder of `path` and move it onto `path` when whole.

    Raises InputError when the folder does not exist or cannot be written.
    """
    goal = Path(path)
    temporary = goal.with_name(f".{goal.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, goal)
    except OSError as error:
        raise InputError(f"cannot write {goal}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8, line ends as they are, to `path`; whole or not at all.

    Raises InputError when the folder does not exist or cannot be written.
    """
    write_bytes_atomically(path, text.encode("utf-8"))


def read_text(path: str | os.PathLike[str], limit_bytes: int) -> str:
    """Return the UTF-8 text of the file at `path`.

    Raises InputError when it cannot be read, holds more than `limit_bytes` bytes, or is not UTF-8.
    """
    goal = Path(path)
    try:
        with goal.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise InputError(f"cannot read {goal}: {error.strerror or error}") from None
    return text_of(data, limit_bytes, goal)


def text_of(data: bytes, limit_bytes: int, place: Path) -> str:
    """Return bytes that were read from `place` as UTF-8 text; InputError where they are more than the limit
    or another text.
    """
    if len(data) > limit_bytes:
        raise InputError(f"expected at most {limit_bytes} bytes in {place}, got more: is it the right file?")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"expected UTF-8 text in {place}, got another byte at {error.start}") from None
