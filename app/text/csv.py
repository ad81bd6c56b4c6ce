"""Rows as CSV text that no spreadsheet takes for formulas."""

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def inert(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: a text that starts like one gets an apostrophe.

    >>> inert("=1+1"), inert("resnet50"), inert(-0.5)
    ("'=1+1", 'resnet50', -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell


def rows_as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV text with a header; texts that start like a formula get an apostrophe.

    >>> rows_as_csv(["name", "time_s"], [["=x", 0.5]])
    "name,time_s\\n'=x,0.5\\n"
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(list(map(inert, header)))
    writer.writerows([inert(cell) for cell in row] for row in rows)
    return buffer.getvalue()
