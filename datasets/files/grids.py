"""The cells of a spreadsheet as they are: of text in any usual encoding, or of the sheets of a workbook."""

import csv
import datetime
import gzip
import io
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from trainlaw.datasets.files.table_files import (
    MAX_COLUMNS,
    MAX_EMPTY_ROWS,
    MAX_LINE_BYTES,
    check_size,
    excel_book,
    excel_rows,
    read_as,
    read_table_file,
    trimmed,
)
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files.text_files import opened_file

_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TABLE, _OFFICE, _TEXT = (_NAMES % name for name in ("table", "office", "text"))
_MOST_EMPTY = 1000  # empty rows between filled ones
# Of an OpenDocument sheet: a few bytes of it can repeat an empty cell a million times.
_MOST_CELLS = 5_000_000
_DURATION = re.compile(r"PT(\d+)H(\d+)M(\d+(?:\.\d+)?)S")


def read_sheets(place: Path) -> Mapping[str, tuple[list[list[object]], list[int]]]:
    """Return the rows of each sheet by its name, and its hidden rows.

    Raises InputError for a file that is none or is larger than the limits.
    """
    with read_as(place, "an OpenDocument table"):
        with zipfile.ZipFile(place) as archive:
            if archive.getinfo("content.xml").file_size > MAX_GRID_BYTES:
                raise InputError(f"expected at most {MAX_GRID_BYTES} bytes in {place}, got more")
            content = archive.read("content.xml")
        # Entities, which a small file could unfold to any size, occur only after a document type.
        if b"<!DOCTYPE" in content[:2000]:
            raise InputError(f"{place} is not an OpenDocument table: it has a document type")
        sheets = ElementTree.fromstring(content).iter(f"{_TABLE}table")
        return {sheet.get(f"{_TABLE}name") or "": _sheet(sheet, place) for sheet in sheets}


def _sheet(sheet: ElementTree.Element, place: Path) -> tuple[list[list[object]], list[int]]:
    rows: list[list[object]] = []
    hidden: list[int] = []
    n_cells = 0
    for row in sheet.iter(f"{_TABLE}table-row"):
        cells: list[object] = []
        for cell in row:
            # Cells below a merged one may still be in the file, hidden.
            value = None if cell.tag == f"{_TABLE}covered-table-cell" else _value(cell)
            times = min(_times(cell, "columns"), MAX_COLUMNS + 1 - len(cells))
            cells += [value] * times
        cells = list(trimmed(cells))
        # Empty rows are repeated to the end of the sheet.
        times = min(_times(row, "rows"), MAX_GRID_ROWS + 1 - len(rows))
        if cells and row.get(f"{_TABLE}visibility") in ("collapse", "filter"):
            hidden += range(len(rows) + 1, len(rows) + times + 1)
        rows += [cells] * (times if cells else min(times, _MOST_EMPTY))
        # A few bytes can repeat a row of repeated cells to any number.
        n_cells += times * len(cells)
        if len(rows) > MAX_GRID_ROWS or len(cells) > MAX_COLUMNS or n_cells > _MOST_CELLS:
            raise InputError(
                f"expected at most {MAX_COLUMNS} columns and {MAX_GRID_ROWS} rows in {place}, got more"
            )
    while rows and not rows[-1]:
        rows.pop()
    return rows, hidden


def _times(element: ElementTree.Element, what: str) -> int:
    return max(int(element.get(f"{_TABLE}number-{what}-repeated") or 1), 1)


def _value(cell: ElementTree.Element) -> object:
    """Return a number, date, duration or text, None for an empty cell."""
    kind = cell.get(f"{_OFFICE}value-type")
    if kind in ("float", "percentage", "currency"):
        return float(cell.get(f"{_OFFICE}value") or "nan")
    if kind == "boolean":
        return cell.get(f"{_OFFICE}boolean-value") == "true"
    if kind == "date":
        return datetime.datetime.fromisoformat((cell.get(f"{_OFFICE}date-value") or "")[:19])
    if kind == "time" and (match := _DURATION.fullmatch(cell.get(f"{_OFFICE}time-value") or "")):
        hours, minutes, seconds = match.groups()
        return datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    return "\n".join("".join(line.itertext()) for line in cell.iterfind(f"{_TEXT}p")) or None


#: Larger tables are not kept by hand: `trainlaw data check` reads them in trainlaw's columns.
MAX_GRID_BYTES = 64 * 2**20
MAX_GRID_ROWS = 200_000
MAX_GRID_CELLS = 10_000_000  # of 32 bytes each
_TEXTS = (".csv", ".tsv", ".txt", ".dat", ".md")
_OTHERS = {".xls": "Excel's old format", ".numbers": "Numbers", ".pdf": "PDF"}
_SEPARATORS = ("\t", ";", ",", "|")
# Columns that a script aligned with blanks, or separated by one.
_BLANKS = (r"\s{2,}", r"\s+")
_SAMPLE = 300  # lines that decide the separator
# Different texts that are kept as one object each.
_MOST_SHARED = 10_000
_STYLED = re.compile(rb'<c r="[A-Z]{1,3}(\d{1,7})"[^>]*? s="(\d{1,5})"')
_HIDDEN = re.compile(rb'<row r="(\d{1,7})"[^>]*? hidden="(?:1|true)"')
# Bold, code and links of Markdown around the text of a cell.
_MARKUP = (
    (re.compile(r"(\*\*|__|`)(.+?)\1"), r"\2"),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\\([_*])"), r"\1"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True)
class Grid:
    """The cells of a sheet, row by row, all rows of one length; a text is stripped, an empty cell is None.

    separator : of the cells of a text file, "" for a sheet. hidden : numbers of rows that the sheet does not
    show or strikes out, from 1.
    """

    rows: tuple[tuple[object, ...], ...]
    separator: str = ""
    hidden: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.rows[0]) if self.rows else 0


def read_grids(path: str | os.PathLike[str]) -> Mapping[str, Grid]:
    """Return the cells of a file by the name of the sheet, which is "" where a file has no sheets.

    Read are .csv, .tsv, .txt, .dat and .md (also with .gz) in UTF-8, UTF-16 or Windows' Latin, .xlsx, .xlsm,
    .ods and .parquet. Raises InputError for any other file and for one that is too large.
    """
    place = Path(path)
    zipped = place.suffix.lower() == ".gz"
    ending = (place.with_suffix("") if zipped else place).suffix.lower()
    if ending in _OTHERS:
        raise InputError(f"{place} is in {_OTHERS[ending]}; save the table as .xlsx or .csv")
    if ending not in (*_TEXTS, ".xlsx", ".xlsm", ".ods", ".parquet"):
        known = ", ".join((*_TEXTS, ".xlsx", ".ods", ".parquet"))
        raise InputError(f"expected a table in {place} ({known}), got the suffix {ending!r}")
    check_size(place, MAX_GRID_BYTES)
    if ending == ".parquet":
        frame = read_table_file(place)
        if len(frame) > MAX_GRID_ROWS or frame.size > MAX_GRID_CELLS:
            raise InputError(
                f"expected at most {MAX_GRID_ROWS} rows and {MAX_GRID_CELLS} cells in {place}, got "
                f"{len(frame)} rows of {len(frame.columns)} columns"
            )
        cells = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
        return {"": _grid([list(map(str, frame.columns)), *cells])}
    if ending == ".ods":
        sheets = read_sheets(place)
        return {name: _grid(rows, "", hidden) for name, (rows, hidden) in sheets.items() if rows}
    return _sheets(place) if ending in (".xlsx", ".xlsm") else {"": _text_grid(_text(place, zipped), place)}


def _grid(rows: Iterable[Sequence[object]], separator: str = "", hidden: Iterable[int] = ()) -> Grid:
    shared: dict[str, str | None] = {}
    stripped = [tuple(trimmed([_cell(value, shared) for value in row])) for row in rows]
    width = max(map(len, stripped), default=0)
    for number, row in enumerate(stripped):
        if len(row) < width:
            stripped[number] = row + (None,) * (width - len(row))
    return Grid(tuple(stripped), separator, tuple(hidden))


def _cell(value: object, shared: dict[str, str | None]) -> object:
    """Return the value of a cell; texts that occur again and again, such as names, are one object."""
    if not isinstance(value, str):
        return value
    if value in shared:
        return shared[value]
    text = " ".join(value.replace("\u00a0", " ").split()) or None
    if len(shared) < _MOST_SHARED:
        shared[value] = text
    return text


def _text(place: Path, zipped: bool) -> str:
    with (
        read_as(place, "a text table"),
        opened_file(place, MAX_GRID_BYTES) as packed,
        gzip.open(packed) if zipped else packed as file,
    ):
        data = file.read(MAX_GRID_BYTES + 1)
    if len(data) > MAX_GRID_BYTES:
        raise InputError(f"expected at most {MAX_GRID_BYTES} bytes unpacked from {place}, got more")
    for encoding in _encodings(data):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not _CONTROL.search(text):
            return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    raise InputError(f"{place} is not a text table: it holds bytes that are not text")


def _encodings(data: bytes) -> tuple[str, ...]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ("utf-16",)
    head = data[:2000]
    # Without a mark, every other byte of Latin text in UTF-16 is zero.
    if len(head) > 1 and head[1::2].count(0) > len(head) // 3:
        return ("utf-16-le",)
    if len(head) > 1 and head[::2].count(0) > len(head) // 3:
        return ("utf-16-be",)
    return ("utf-8", "cp1252")


def _text_grid(text: str, place: Path) -> Grid:
    for number, line in enumerate(io.StringIO(text), start=1):
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"{place} is not a text table: line {number} is too long")
    first, _, rest = text.partition("\n")
    stated = _stated_separator(first)
    if stated:
        text = f"\n{rest}"  # the first line stays, empty, so that rows keep their numbers
    separator = stated or _separator(list(islice(io.StringIO(text), _SAMPLE)))
    with read_as(place, "a text table"):
        return _grid(_within_limits(_split(io.StringIO(text), separator), place), separator)


def _within_limits(rows: Iterable[list[str]], place: Path) -> Iterator[list[str]]:
    for number, row in enumerate(rows, start=1):
        if len(row) > MAX_COLUMNS or number > MAX_GRID_ROWS:
            raise InputError(
                f"expected at most {MAX_COLUMNS} columns and {MAX_GRID_ROWS} rows in {place}, got "
                f"{len(row)} columns in row {number}"
            )
        yield row


def _stated_separator(line: str) -> str:
    """Return the separator that Excel's first line "sep=;" states; "" for any other line."""
    match = re.fullmatch(r"sep=(.)", line.strip("\"' \n"), re.IGNORECASE)
    return match[1] if match else ""


def _separator(lines: list[str]) -> str:
    """Return the separator that splits most lines into the same number of cells, the more the better."""
    filled = [line for line in lines if line.strip() and not line.startswith("#")]
    scores = {}
    for separator in (*_SEPARATORS, *_BLANKS):
        widths = Counter(len(cells) for cells in _sampled(filled, separator))
        width, times = widths.most_common(1)[0] if widths else (1, 0)
        blank = separator in _BLANKS
        # Lines above a printed table say something of it in one cell.
        whole = sum(number for own, number in widths.items() if own > 1) if separator == _BLANKS[0] else 0
        agreed = times / max(whole or len(filled), 1)
        scores[separator] = agreed * (width - 1) if width > 1 and (not blank or agreed >= 0.6) else 0.0
    plain = max(_SEPARATORS, key=scores.__getitem__)
    # Blanks occur inside names, so that any other separator is more likely, and several more than one.
    return next((found for found in (plain, *_BLANKS) if scores[found] > 0.5), ",")


def _sampled(lines: list[str], separator: str) -> list[list[str]]:
    try:
        return list(_split(lines, separator))
    except csv.Error:
        return []


def _split(lines: Iterable[str], separator: str) -> Iterable[list[str]]:
    if separator in _BLANKS:
        return (re.split(separator, line.strip()) for line in lines)
    rows = csv.reader(lines, delimiter=separator)
    return map(_of_markdown, rows) if separator == "|" else rows


def _of_markdown(row: list[str]) -> list[str]:
    """Return the cells of a line of a Markdown table, none for the line below its header."""
    if len(row) > 2 and not row[0].strip() and not row[-1].strip():
        row = row[1:-1]
    if all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in row):
        return []
    for pattern, plain in _MARKUP:
        row = [pattern.sub(plain, cell) for cell in row]
    return [cell.replace("<br>", " ") for cell in row]


def _sheets(place: Path) -> Mapping[str, Grid]:
    with excel_book(place, 4 * MAX_GRID_BYTES) as book:
        found = {
            sheet.title: _grid(_used_rows(sheet, place), "", _not_shown(place, book, sheet))
            for sheet in book.worksheets
        }
    return {name: grid for name, grid in found.items() if grid.rows}


def _not_shown(place: Path, book: Any, sheet: Any) -> list[int]:
    """Return the rows that a sheet hides or strikes out, which openpyxl does not say row by row."""
    with zipfile.ZipFile(place) as archive:
        content = archive.read(sheet._worksheet_path)
    found = [int(match[1]) for match in islice(_HIDDEN.finditer(content), MAX_GRID_ROWS)]
    styles = enumerate(book._cell_styles)
    struck = {b"%d" % number for number, style in styles if book._fonts[style.fontId].strike}
    cells = _STYLED.finditer(content) if struck else iter(())
    return sorted({*found, *(int(match[1]) for match in cells if match[2] in struck)})


def _used_rows(sheet: object, place: Path) -> list[Sequence[object]]:
    """Return the rows up to the last filled one; their places are those that Excel shows."""
    rows: list[Sequence[object]] = []
    last = 0
    for row in islice(excel_rows(sheet), MAX_GRID_ROWS + 1):
        rows.append(row)
        if row:
            last = len(rows)
        if len(rows) - last > MAX_EMPTY_ROWS:
            break
    if last > MAX_GRID_ROWS:
        raise InputError(f"expected at most {MAX_GRID_ROWS} rows in a sheet of {place}, got more")
    return rows[:last]
