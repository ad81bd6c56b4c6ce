"""Rows as CSV text that no spreadsheet takes for formulas."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

# Also in full width, which spreadsheets in Japanese and Chinese read alike.
_FORMULA_STARTS = (*"=+-@\uff1d\uff0b\uff0d\uff20", "\t", "\r")


def inert(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: a text that starts like one gets an apostrophe.

    >>> inert("=1+1"), inert("resnet50"), inert(-0.5)
    ("'=1+1", 'resnet50', -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell


def rows_as_csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV text with a header; texts that start like a formula get an apostrophe.

    >>> rows_as_csv(["name", "time_s"], [["=x", 0.5]])
    "name,time_s\\n'=x,0.5\\n"
    """
    return _written(header, (map(inert, row) for row in rows))


def _written(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(inert, header))
    writer.writerows(rows)
    return buffer.getvalue()


def columns_as_csv(columns: Mapping[str, Sequence[object]]) -> str:
    """Return columns as CSV text, as `rows_as_csv`; empty where a number is not finite or a value is None.

    Flags become 1 and 0, texts of a tuple are joined by semicolons.

    >>> columns_as_csv({"name": ["=x", "y"], "fits": [True, False], "notes": [(), ("a", "b")]})
    "name,fits,notes\\n'=x,1,\\ny,0,a; b\\n"
    """
    return _written(columns, zip(*map(_csv_cells, columns.values()), strict=True))


def _csv_cells(values: Sequence[object]) -> Sequence[object]:
    """Return cells of a column; each different text is looked at once, since a file may have millions."""
    kinds = set(map(type, values))
    if kinds <= {int, type(None)}:
        return values
    if kinds <= {float, type(None)}:
        return [value if isinstance(value, float) and isfinite(value) else None for value in values]
    known = {(type(value), value): _csv_cell(value) for value in dict.fromkeys(values)}
    return [known[type(value), value] for value in values]


def _csv_cell(value: object) -> object:
    if isinstance(value, tuple):
        value = "; ".join(map(str, value))
    if isinstance(value, float) and not isfinite(value):
        return None
    return int(value) if isinstance(value, bool) else inert(value)
