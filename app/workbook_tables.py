"""The sheets that hold tables: GPUs, CNNs, Precisions, Errors."""

import math
from collections.abc import Mapping, Sequence

from trainlaw.app.error_tables import (
    BY_CNN,
    BY_GPU,
    LEVEL,
    METRIC_TITLES,
    error_lines,
    estimators,
    interval_of,
    overall_error,
)
from trainlaw.app.lookup_tables import cnn_rows, gpu_rows, precision_rows
from trainlaw.app.sheet_writer import SheetWriter
from trainlaw.app.workbook_cells import PREFIX
from trainlaw.formulas import Formula
from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name

Styles = Mapping[str, Format]
SPARE_ROWS = 1000  # rows that look-ups reach, so that a person can add to a table
_HEAD = 3  # row of the header of each table


def write_gpus(book: Workbook, styles: Styles) -> None:
    """Write the sheet GPUs: one row a card."""
    note = "Facts of the cards, from their makers' sheets."
    _look_up_sheet(book, styles, ("GPUs", "gpu", note), gpu_rows())


def write_cnns(book: Workbook, styles: Styles) -> None:
    """Write the sheet CNNs: counts per image and forward pass."""
    note = "Counts per image and forward pass; MACs are multiply-accumulates, elements outputs of layers."
    _look_up_sheet(book, styles, ("CNNs", "cnn", note), cnn_rows())


def _look_up_sheet(
    book: Workbook, styles: Styles, titles: tuple[str, str, str], table: Mapping[str, Mapping[str, object]]
) -> None:
    """Write a table by row label, and the names by which cell formulas look it up and drop-downs list it."""
    name, kind, note = titles
    header = ["name", *next(iter(table.values()))]
    sheet = SheetWriter(
        book, styles, name, [max(map(len, table)) + 2, *(max(len(name) + 2, 12) for name in header[1:])]
    )
    sheet.title(name, f"{note} Change a value, or add a row below the last: predictions follow.")
    sheet.table(_HEAD, header, [[label, *row.values()] for label, row in table.items()])
    sheet.sheet.freeze_panes(_HEAD + 1, 1)
    top, bottom, right = _HEAD + 2, _HEAD + 1 + SPARE_ROWS, xl_col_to_name(len(header) - 1)
    labels = f"{name}!$A${top}:$A${bottom}"
    book.define_name(f"{PREFIX}{kind}_columns", f"={name}!$A${_HEAD + 1}:${right}${_HEAD + 1}")
    book.define_name(f"{PREFIX}{kind}_table", f"={name}!$A${top}:${right}${bottom}")
    book.define_name(f"{PREFIX}{kind}s", f"={labels}")
    book.define_name(f"{PREFIX}{kind}s_listed", f"={name}!$A${top}:INDEX({labels},COUNTA({labels}))")


def write_precisions(book: Workbook, styles: Styles, formula: Formula) -> None:
    """Write the sheet Precisions: bytes of an element, and which peak rate of a card applies."""
    sheet = SheetWriter(book, styles, "Precisions", [22, 22, 22, 26, 14])
    sheet.title("Precisions", "How a precision enters the features.")
    trained = formula.provenance.get("precisions", ["fp32"])
    rows = [[name, *row.values(), int(name in trained)] for name, row in precision_rows().items()]
    columns = ["precision", *next(iter(precision_rows().values())), "trained"]
    sheet.table(_HEAD, columns, rows)
    for column, name in enumerate(columns):
        letter = xl_col_to_name(column)
        cells = f"${letter}${_HEAD + 2}:${letter}${_HEAD + 1 + len(rows)}"
        book.define_name(f"{PREFIX}precisions_{name}", f"=Precisions!{cells}")


def write_errors(book: Workbook, styles: Styles, formula: Formula) -> None:
    """Write the sheet Errors: how wrong the formula was on GPUs that it had not seen, beside its rivals."""
    sheet = SheetWriter(book, styles, "Errors", [34, *[19] * 9])
    protocol = formula.errors.get("protocol", "this formula carries no held-out errors")
    sheet.title("Errors on GPUs that were held out", f"Absolute percentage errors; {protocol}.")
    sheet.text(2, 0, f"interval factor, {100 * LEVEL:g} %")
    sheet.number(2, 1, interval_of(formula) or math.nan, "seconds")
    sheet.text(2, 2, "a run on a new GPU lies from prediction / factor to prediction x factor", "unit")
    sheet.define(f"{PREFIX}interval_factor", 2, 1)
    names = estimators(formula)
    overall = [
        [title, *(overall_error(formula, name, metric) for name in names)]
        for metric, title in METRIC_TITLES.items()
    ]
    row = sheet.table(4, ["overall, %", *names], overall, "percent") + 1
    for level, title in ((BY_CNN, "architecture"), (BY_GPU, "GPU group")):
        row = sheet.table(row, _error_header(title, names), _error_rows(formula, level), "percent") + 1


def _error_header(title: str, names: Sequence[str]) -> list[str]:
    return [title, "runs", *(f"{name}, %" for name in names)]


def _error_rows(formula: Formula, level: str) -> list[list[object]]:
    return [[line.name, line.rows, *line.errors.values()] for line in error_lines(formula, level)]
