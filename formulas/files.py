"""Untrusted text files read within a size limit, and files written whole or not at all."""

import csv
import io
import json
import os
import secrets
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from trainlaw.formulas.errors import InputError

# A thousand times a usual formula, study or layer table: a wrong file is refused before it fills the memory
# (Python needs up to 25 bytes for a byte of JSON).
MAX_TEXT_BYTES = 16 * 2**20


def write_bytes_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to a temporary name in the folder of `path` and move it onto `path` when whole.

    Raises InputError when the folder does not exist or cannot be written.
    """
    goal = Path(path)
    temporary = goal.with_name(f".{goal.name}.{secrets.token_hex(4)}.part")
    try:
        # "x" fails where the name exists: no other process can have it open.
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            # Without it, a power failure after the rename could leave an empty file.
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


def check_is_file(place: Path) -> None:
    """Raise InputError for a pipe, a socket or a device, which may never end or never begin."""
    if place.exists() and not (place.is_file() or place.is_dir()):
        raise InputError(f"{place} is not a file; save its contents as a file first")


def read_text(path: str | os.PathLike[str], limit_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the UTF-8 text of the file at `path`, without a byte order mark, which spreadsheets write.

    Raises InputError when it cannot be read, holds more than `limit_bytes` bytes, or is not UTF-8.
    """
    goal = Path(path)
    check_is_file(goal)
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
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(f"expected UTF-8 text in {place}, got another byte at {error.start}") from None


def read_json(path: str | os.PathLike[str]) -> object:
    """Return the value of the JSON file at `path`; InputError as `read_text`, or where it is no JSON."""
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"expected JSON in {path}, got something else at {place} ({error.msg})") from None
    except RecursionError:
        raise InputError(f"expected JSON in {path}, got JSON that is nested too deeply") from None
    # Python refuses to convert a number of thousands of digits.
    except ValueError as error:
        raise InputError(f"expected JSON in {path}: {error}") from None


def read_toml(path: str | os.PathLike[str]) -> dict[str, object]:
    """Return the entries of the TOML file at `path`; InputError as `read_text`, or where it is no TOML."""
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected TOML in {path}: {error}") from None


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as a CSV table of these columns: "" where a row lacks one, without its other entries."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_csv(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Return the header of the CSV file at `path` and its rows, by column; "" where a row has no cell.

    Raises InputError as `read_text`, or where it is no CSV table.
    """
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), restval="")
    try:
        rows = list(reader)
    except csv.Error as error:
        raise InputError(f"expected a CSV table in {path}: {error}") from None
    return tuple(reader.fieldnames or ()), rows
