"""The cells of OpenDocument spreadsheets (.ods), with the cells that are merged."""

import datetime
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from trainlaw.datasets.files.table_files import MAX_COLUMNS, one_line
from trainlaw.formulas.errors import InputError

_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TABLE, _OFFICE, _TEXT = (_NAMES % name for name in ("table", "office", "text"))
_MOST_EMPTY = 1000  # empty rows between filled ones
_MOST_CELLS = 5_000_000
_DURATION = re.compile(r"PT(\d+)H(\d+)M(\d+(?:\.\d+)?)S")

Merged = tuple[int, int, int, int]


def read_sheets(
    place: Path, max_bytes: int, max_rows: int
) -> Mapping[str, tuple[list[list[object]], list[Merged]]]:
    """Return the rows of each sheet by its name, and its merged cells: first row, column, last row, column.

    Raises InputError for a file that is none or is larger than the limits.
    """
    try:
        with zipfile.ZipFile(place) as archive:
            if archive.getinfo("content.xml").file_size > max_bytes:
                raise InputError(f"expected at most {max_bytes} bytes in {place}, got more")
            content = archive.read("content.xml")
        # Entities, which a small file could unfold to any size, occur only after a document type.
        if b"<!DOCTYPE" in content[:2000]:
            raise InputError(f"{place} is not an OpenDocument table: it has a document type")
        sheets = ElementTree.fromstring(content).iter(f"{_TABLE}table")
        return {sheet.get(f"{_TABLE}name") or "": _sheet(sheet, place, max_rows) for sheet in sheets}
    except (
        OSError,
        KeyError,
        ValueError,
        zipfile.BadZipFile,
        ElementTree.ParseError,
        NotImplementedError,
    ) as error:
        raise InputError(f"{place} is not an OpenDocument table: {one_line(error)}") from None


def _sheet(sheet: ElementTree.Element, place: Path, max_rows: int) -> tuple[list[list[object]], list[Merged]]:
    rows: list[list[object]] = []
    merged: list[Merged] = []
    n_cells = 0
    for row in sheet.iter(f"{_TABLE}table-row"):
        cells: list[object] = []
        for cell in row:
            # What a merged cell covers may still be in the file, and is not seen.
            value = None if cell.tag == f"{_TABLE}covered-table-cell" else _value(cell)
            right, down = (
                int(cell.get(f"{_TABLE}number-{what}-spanned") or 1) for what in ("columns", "rows")
            )
            if right > 1 or down > 1:
                merged.append((len(rows), len(cells), len(rows) + down - 1, len(cells) + right - 1))
            times = min(_times(cell, "columns"), MAX_COLUMNS + 1 - len(cells))
            cells += [value] * times
        while cells and cells[-1] is None:
            cells.pop()
        # Empty rows are repeated to the end of the sheet.
        times = min(_times(row, "rows"), max_rows + 1 - len(rows))
        rows += [cells] * (times if cells else min(times, _MOST_EMPTY))
        # A few bytes can repeat a row of repeated cells to any number.
        n_cells += times * len(cells)
        if len(rows) > max_rows or len(cells) > MAX_COLUMNS or n_cells > _MOST_CELLS:
            raise InputError(
                f"expected at most {MAX_COLUMNS} columns and {max_rows} rows in {place}, got more"
            )
    while rows and not rows[-1]:
        rows.pop()
    return rows, merged


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
    return "\n".join(_texts(cell)) or None


def _texts(cell: ElementTree.Element) -> Iterator[str]:
    for line in cell.iterfind(f"{_TEXT}p"):
        yield "".join(line.itertext())
