"""Rows as CSV that a spreadsheet shows and never executes."""

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def inert(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: a text that begins like one gets an apostrophe.

    >>> inert("=1+1"), inert("resnet50"), inert(-0.5)
    ("'=1+1", 'resnet50', -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell


def rows_as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a CSV text with a header; no text in it begins like a spreadsheet's formula.

    >>> rows_as_csv(["name", "time_s"], [["=x", 0.5]])
    "name,time_s\\n'=x,0.5\\n"
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(list(map(inert, header)))
    writer.writerows([inert(cell) for cell in row] for row in rows)
    return buffer.getvalue()
