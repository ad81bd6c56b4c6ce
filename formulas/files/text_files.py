"""Untrusted text files read within a size limit, and files written whole or not at all."""

import csv
import errno
import hashlib
import io
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, cast

from trainlaw.formulas.errors import InputError, given_twice, shown

# A thousand times a usual formula, study or layer table: a wrong file is refused before it fills the memory
# (Python needs up to 25 bytes for a byte of JSON).
MAX_TEXT_BYTES = 16 * 2**20
#: Rows of a small table: configurations, prices, rates.
MAX_ROWS = 20_000
_MAX_DIGITS = 40  # of a whole number; no quantity has more, and Python takes long for thousands
_MAX_TOML_BYTES, _MAX_LEVELS = 2**18, 20  # a definition has a kilobyte and two levels
# Parts of a dotted key; possessive, so that the search takes time in proportion to the text.
_LONG_KEY = re.compile(
    rf"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_MAX_LEVELS},}}"""
)
# Lists and objects of a JSON file: fewer than one in 10 characters, after the first 20,000.
_CHARACTERS_PER_PART, _MOST_PARTS = 10, 20_000
_SEPARATORS = ",;\t"
_MAX_LINE = 2**20  # characters of a row
# No text file has these; a terminal takes some for orders.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def write_bytes_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path`; whole or not at all. Raises InputError as `whole_file`."""
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[io.BufferedWriter]:
    """Give a file of a temporary name in the folder of `path`, which becomes `path` when the block ends.

    Where the block raises, nothing is left. Raises InputError when the folder does not exist or cannot be
    written.
    """
    goal = Path(path)
    temporary = goal.with_name(f".{goal.name}.{secrets.token_hex(4)}.part")
    try:
        # "x" fails where the name exists: no other process can have it open.
        with temporary.open("xb") as file:
            yield file
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


def append_text(path: Path, text: str) -> None:
    """Append `text` to a file, whole or not at all; when this returns, it is on disk. Raises OSError."""
    # One call writes all of it, so that no signal comes between its parts.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        begin, data = os.fstat(file).st_size, text.encode()
        if os.write(file, data) < len(data):
            os.ftruncate(file, begin)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(file)
    finally:
        os.close(file)


def make_durable(path: Path) -> None:
    """Make the content of a file, or the names in a folder, durable, where the system can."""
    if path.is_file() or hasattr(os, "O_DIRECTORY"):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextmanager
def opened_file(path: str | os.PathLike[str], limit_bytes: int | None = None) -> Iterator[io.BufferedReader]:
    """Open a file that the user named, for reading bytes; its errors are those of the user.

    Raises InputError where it cannot be read, is a pipe, a socket or a device, which may never end or never
    begin, or is larger than `limit_bytes`.
    """
    place = Path(path)
    try:
        # To open a pipe otherwise waits for its other end.
        number = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        if getattr(error, "errno", 0) == errno.ENXIO:  # a socket
            raise InputError(
                f"{shown_path(place)} is not a file; save its contents as a file first"
            ) from None
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {shown_path(place)}: {reason}") from None
    with open(number, "rb") as file:
        state = os.fstat(number)
        if not stat.S_ISREG(state.st_mode):
            raise InputError(f"{shown_path(place)} is not a file; save its contents as a file first")
        if limit_bytes is not None and state.st_size > limit_bytes:
            size = f"at most {limit_bytes} bytes in {shown_path(place)}, got {state.st_size}"
            raise InputError(f"expected {size}: is it the right file?")
        yield file


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of the file at `path`; InputError as `opened_file`."""
    with opened_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_text(path: str | os.PathLike[str], limit_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the text of the file at `path`: UTF-8, or UTF-16 with the mark that spreadsheets begin it with.

    Raises InputError when it cannot be read, holds more than `limit_bytes` bytes, or is no such text.
    """
    with opened_file(path, limit_bytes) as file:
        data = file.read(limit_bytes + 1)
    return text_of(data, limit_bytes, Path(path))


def shown_path(place: Path) -> str:
    """Return a path as messages show it: as it is, unless it is longer than any file's."""
    return str(place) if len(str(place)) <= 300 else shown(str(place))


def text_of(data: bytes, limit_bytes: int, place: Path) -> str:
    """Return bytes from `place` as text without a byte order mark; InputError as `read_text`."""
    if len(data) > limit_bytes:
        raise InputError(f"expected at most {limit_bytes} bytes in {place}, got more: is it the right file?")
    is_utf16 = len(data) > 2 and data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = data.decode("utf-16" if is_utf16 else "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(f"expected UTF-8 text in {place}, got another byte at {error.start}") from None
    control = _CONTROL.search(text)
    if control:
        raise InputError(f"expected text in {place}, got {control[0]!r} at character {control.start() + 1}")
    return text


def read_json(path: str | os.PathLike[str]) -> object:
    """Return the value of the JSON file at `path`; InputError as `read_text` and `json_of`."""
    return json_of(read_text(path), path)


def json_of(text: str, place: object) -> Any:
    """Return the value of a JSON text that was read from `place`.

    Raises InputError for any other text, and for what no reader expects: numbers that are not finite or have
    more than 40 digits, half a surrogate pair, a name twice in an object, and more lists and objects than a
    file of this size has.
    """
    check_parts(text, place)
    try:
        value = json.loads(
            text,
            parse_constant=_refused_number,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_unique,
        )
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"expected JSON in {place}, got something else at {where} ({error.msg})") from None
    except RecursionError:
        raise InputError(f"expected JSON in {place}, got JSON that is nested too deeply") from None
    except UnicodeEncodeError:
        raise InputError(f"expected JSON in {place}, got half a surrogate pair in a text") from None
    except InputError as error:
        raise InputError(f"expected JSON in {place}: {error}") from None
    return value


def check_parts(text: str, place: object, characters: int = _CHARACTERS_PER_PART) -> None:
    """Raise InputError for a JSON text with more than one list or object in `characters`.

    Python needs 25 times the memory of a file of nothing but empty ones.
    """
    parts = text.count("{") + text.count("[")
    if parts > _MOST_PARTS + len(text) // characters:
        raise InputError(
            f"expected JSON in {place}, got {parts} lists and objects: more than such a file has"
        )


def _refused_number(name: str) -> NoReturn:
    raise InputError(f"expected finite numbers, got {shown(name)}")


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refused_number(text)


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise InputError(f"expected numbers of at most {_MAX_DIGITS} digits, got {shown(text)}")
    return int(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("expected each field once in a JSON object, got one twice")
    return found


def read_toml(path: str | os.PathLike[str]) -> dict[str, object]:
    """Return the entries of the TOML file at `path`; InputError as `read_text`, or where it is no TOML."""
    import tomllib  # noqa: PLC0415 (short commands read none)

    text = read_text(path, _MAX_TOML_BYTES)
    # The parser keeps a table and a path for each part of a dotted key: 40 kB of dots would take a gigabyte.
    if _LONG_KEY.search(text):
        raise InputError(f"expected TOML in {path}: at most {_MAX_LEVELS} nested levels, got a longer key")
    try:
        value = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected TOML in {path}: {error}") from None
    level: list[object] = [value]
    for _ in range(_MAX_LEVELS):
        level = [part for each in level for part in _parts_of(each)]
    if level:
        raise InputError(f"expected TOML in {path}: at most {_MAX_LEVELS} nested levels, got more")
    return value


def _parts_of(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as a CSV table of these columns: "" where a row lacks one, without its other entries."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_csv(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Return the header of the CSV file at `path` and its rows, by column; "" where a row has no cell.

    Raises InputError as `opened_csv`, for more than 16 MiB and more than `MAX_ROWS` rows.
    """
    with opened_csv(path, MAX_TEXT_BYTES, MAX_ROWS) as (names, rows):
        return names, [dict(zip(names, row, strict=True)) for _, row in rows]


@contextmanager
def opened_csv(
    path: str | os.PathLike[str], limit_bytes: int, most_rows: int
) -> Iterator[tuple[tuple[str, ...], Iterator[tuple[int, list[str]]]]]:
    """Give the header of a CSV file, and its rows with their lines, one cell per column, as they are read.

    path : "-" for standard input. Cells are separated by commas, semicolons or tabs; those that a row lacks
    are "". Raises InputError as `read_text`, for a column without a name or with that of another, for a row
    with more cells than the header, for unclosed quotes, lines of more than a million characters, and more
    than `most_rows` rows.
    """
    standard = str(path) == "-"
    with nullcontext(_standard_input()) if standard else opened_file(path, limit_bytes) as file:
        place = "standard input" if standard else path
        lines = _Lines(file, place)
        first = next(lines, "")
        separator = max(_SEPARATORS, key=first.count)
        cells = csv.reader(chain([first], lines), delimiter=separator, strict=True)
        try:
            names = _header(next(filter(None, cells), []), place)
            yield names, _csv_rows(cells, lines, names, most_rows)
        except csv.Error as error:
            raise InputError(f"expected a CSV table in {place}: {error}") from None


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise InputError("expected a table on standard input, which is closed")
    return io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))


class _Lines(Iterator[str]):
    """The lines of a file as text, decoded and checked as they are read."""

    def __init__(self, file: io.BufferedReader, place: object) -> None:
        """Read from `file`; place : its name in messages."""
        is_utf16 = file.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff")
        self._text = io.TextIOWrapper(file, "utf-16" if is_utf16 else "utf-8-sig", newline="")
        self.place, self.number, self.characters = place, 0, 0

    def __next__(self) -> str:
        """Return the next line; InputError where it is no text or longer than any."""
        try:
            line = self._text.readline(_MAX_LINE + 1)
        except UnicodeDecodeError:
            raise InputError(
                f"expected UTF-8 text in {self.place}, got another byte after line {self.number}"
            ) from None
        except OSError as error:
            raise InputError(f"cannot read {self.place}: {error.strerror or error}") from None
        if not line:
            raise StopIteration
        self.number += 1
        self.characters += len(line)
        control = _CONTROL.search(line)
        if control:
            raise InputError(f"expected text in {self.place}, got {control[0]!r} in line {self.number}")
        if self.characters > _MAX_LINE:
            raise InputError(f"expected a CSV table in {self.place}: line {self.number} is too long")
        return line


def _header(cells: Sequence[str], place: object) -> tuple[str, ...]:
    """Return the names of the columns; InputError where one is missing or there twice."""
    names = [name.strip() for name in cells]
    twice = given_twice(names)
    if "" in names or twice:
        got = f"{shown(twice[0])} more than once" if twice else shown(list(cells))
        raise InputError(
            f"expected a name for each column in the first line of {place}, each once, got {got}"
        )
    return tuple(names)


def _csv_rows(
    cells: Iterator[list[str]], lines: _Lines, names: Sequence[str], most_rows: int
) -> Iterator[tuple[int, list[str]]]:
    width, count, begins = len(names), 0, lines.number + 1
    lines.characters = 0
    for row in cells:
        if row:
            count += 1
            if count > most_rows:
                raise InputError(f"expected at most {most_rows} rows in {lines.place}, got more")
            if len(row) > width:
                raise InputError(f"{lines.place} line {begins}: expected {width} cells, got {len(row)}")
            yield begins, row if len(row) == width else row + [""] * (width - len(row))
        # The limit is on what one row may take.
        begins, lines.characters = lines.number + 1, 0


def csv_rows(text: str, place: object, separator: str = "") -> list[list[str]]:
    """Return the cells of a CSV text that was read from `place`, without empty lines.

    separator : of cells; by default the one of comma, semicolon and tab that the first line has most of.
    Raises InputError where quotes are not closed or a cell is longer than 131,072 characters.
    """
    between = separator or max(_SEPARATORS, key=text.partition("\n")[0].count)
    try:
        return [
            row for row in csv.reader(io.StringIO(text, newline=""), delimiter=between, strict=True) if row
        ]
    except csv.Error as error:
        raise InputError(f"expected a CSV table in {place}: {error}") from None
