"""The sheet Predict: choices, live prediction, what it is made of, and whether the training covers it."""

from collections.abc import Mapping
from typing import NamedTuple

from trainlaw.app.error_tables import interval_of
from trainlaw.app.lookup_tables import cnn_label
from trainlaw.app.sheet_writer import SheetWriter
from trainlaw.app.workbook_cells import (
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_GPU,
    FIRST_PRECISION,
    INPUTS,
    PREFIX,
    Cell,
    Model,
    cell_name,
)
from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

_TERM_WIDTH = 56  # characters
_NUMBER_TEXTS: Mapping[str, tuple[str, str, str]] = {
    "batch_per_gpu": ("images per iteration", "images", "on one GPU"),
    "has_optimizer": ("with the optimizer step", "1 or 0", "1: the time includes the update of the weights"),
    "has_input_copy": ("with the copy of the images", "1 or 0", "1: the time includes their copy to the GPU"),
}
_QUANTITY_TITLES = (
    ("quantity", "head"),
    ("value", "head_right"),
    ("unit", "head_unit"),
    ("least in training", "head_right"),
    ("most in training", "head_right"),
    ("outside", "head_right"),
    ("meaning", "head_unit"),
)
_INSIDE = "inside the range of the training runs"
_OUTSIDE = " quantities lie outside the training range, see below: do not trust this time"


class _Result(NamedTuple):
    title: str
    formula: str
    value: float | str
    unit: str
    style: str


def write_predict(book: Workbook, styles: Mapping[str, Format], model: Model) -> None:
    """Write the sheet; its named cells are those that `workbook_cells` refers to."""
    sheet = SheetWriter(book, styles, "Predict", (_TERM_WIDTH, 32, 16, 18, 18, 10, 70))
    sheet.sheet.hide_gridlines(2)
    sheet.title(
        "Time of one CNN training iteration", "Choose in the yellow cells; the rest is computed from them."
    )
    results = _numbers(sheet, model, _choices(sheet)) + 1
    terms = results + 9
    quantities, seconds = _terms(sheet, model, terms)
    outside = _quantities(sheet, model, quantities)
    _results(sheet, results, _result_lines(model, seconds, outside))


def _choices(sheet: SheetWriter) -> int:
    """Write the drop-downs from row 4 on; return the next free row."""
    sheet.text(3, 0, "Choose", "section")
    choices = (
        ("gpu", "GPU", FIRST_GPU, "gpus_listed", "add your own as a row of sheet GPUs"),
        ("cnn", "CNN", cnn_label(*FIRST_CNN), "cnns_listed", "add your own as a row of sheet CNNs"),
        ("precision", "precision", FIRST_PRECISION, "precisions_precision", "as used by the GPU"),
    )
    for row, (name, title, value, listed, note) in enumerate(choices, start=4):
        sheet.text(row, 0, title)
        sheet.text(row, 1, value, "input")
        sheet.text(row, 3, note, "note")
        rule = {"validate": "list", "source": f"={PREFIX}{listed}", "error_type": "warning"}
        sheet.sheet.data_validation(row, 1, row, 1, rule)
        sheet.define(PREFIX + name, row, 1)
    return 4 + len(choices)


def _numbers(sheet: SheetWriter, model: Model, row: int) -> int:
    """Write the inputs that are numbers, as far as the formula needs them; return the next free row."""
    used = {cell.name for cell in model.raw}
    for name, (title, unit, note) in _NUMBER_TEXTS.items():
        if cell_name(name) in used or name == "batch_per_gpu":
            sheet.text(row, 0, title)
            sheet.number(row, 1, INPUTS[name], "input")
            sheet.text(row, 2, unit, "unit")
            sheet.text(row, 3, note, "note")
            sheet.define(cell_name(name), row, 1)
            row += 1
    return row


def _terms(sheet: SheetWriter, model: Model, row: int) -> tuple[int, str]:
    """Write a line per term; return the next free row and the range of the terms' seconds."""
    sheet.text(row, 0, "What the time is made of", "section")
    for column, title in enumerate(("term", "time, s", "share")):
        sheet.text(row + 1, column, title, "head_right" if column else "head")
    first, last = row + 2, row + 1 + len(model.terms)
    for line, term in enumerate(model.terms, start=first):
        sheet.wrapped_text(line, 0, term.text, _TERM_WIDTH)
        sheet.formula(line, 1, term.formula, term.value, "seconds")
        share = f"{xl_rowcol_to_cell(line, 1)}/{PREFIX}time_s"
        sheet.formula(line, 2, share, term.value / model.seconds, "share")
    bars = {"type": "data_bar", "bar_solid": True, "bar_color": "#F4B183",
            "min_type": "num", "min_value": 0, "max_type": "num", "max_value": 1}  # fmt: skip
    sheet.sheet.conditional_format(first, 2, last, 2, bars)
    return last + 2, f"{xl_rowcol_to_cell(first, 1)}:{xl_rowcol_to_cell(last, 1)}"


def _quantities(sheet: SheetWriter, model: Model, row: int) -> str:
    """Write features and raw columns; return the range of the flags for outside the training range."""
    sheet.text(row, 0, "The quantities behind it", "section")
    for column, (title, style) in enumerate(_QUANTITY_TITLES):
        sheet.text(row + 1, column, title, style)
    first = row + 2
    cells = [*model.features, *(cell for cell in model.raw if cell.formula or model.range_of(cell))]
    for line, cell in enumerate(cells, start=first):
        _quantity(sheet, line, cell, model.range_of(cell))
    last = first + max(len(cells), 1) - 1
    return f"{xl_rowcol_to_cell(first, 5)}:{xl_rowcol_to_cell(last, 5)}"


def _quantity(sheet: SheetWriter, row: int, cell: Cell, ends: tuple[float, float] | None) -> None:
    style = "seconds" if cell.unit == "s" else "amount"
    sheet.text(row, 0, cell.name.removeprefix(PREFIX))
    # An input has its cell above; here it is only repeated.
    sheet.formula(row, 1, cell.formula or cell.name, cell.value, style)
    if cell.formula:
        sheet.define(cell.name, row, 1)
    sheet.text(row, 2, cell.unit, "unit")
    sheet.text(row, 6, cell.meaning, "unit")
    if ends is not None:
        sheet.number(row, 3, ends[0], style)
        sheet.number(row, 4, ends[1], style)
        low, high = xl_rowcol_to_cell(row, 3), xl_rowcol_to_cell(row, 4)
        outside = f"IF(OR({cell.name}<{low},{cell.name}>{high}),1,0)"
        sheet.formula(row, 5, outside, int(not ends[0] <= cell.value <= ends[1]))


def _result_lines(model: Model, terms: str, outside: str) -> list[_Result]:
    """What the sheet says first; `terms` and `outside` are the ranges that it sums."""
    seconds, factor, time = model.seconds, interval_of(model.formula), f"{PREFIX}time_s"
    images = f"{PREFIX}batch_per_gpu"
    lines = [
        _Result("iteration time", f"SUM({terms})", seconds, "s", "result"),
        _Result("iteration time", f"1000*{time}", 1000 * seconds, "ms", "result_short"),
        _Result("throughput", f"{images}/{time}", FIRST_BATCH / seconds, "images/s", "result_short"),
    ]
    if factor:
        of_interval = f"{PREFIX}interval_factor"
        lines += [
            _Result("interval from", f"{time}/{of_interval}", seconds / factor, "s", "result"),
            _Result("interval to", f"{time}*{of_interval}", seconds * factor, "s", "result"),
        ]
    row = f"MATCH({PREFIX}precision,{PREFIX}precisions_precision,0)"
    count = f"(SUM({outside})+1-INDEX({PREFIX}precisions_trained,{row}))"
    warning = f'IF({count}=0,"{_INSIDE}",{count}&"{_OUTSIDE}")'
    shown = f"{model.outside}{_OUTSIDE}" if model.outside else _INSIDE
    return [
        *lines,
        _Result("training range", warning, shown, "", "result_text"),
        _Result("self-check: computed here as by trainlaw", f"{PREFIX}self_check", True, "", "result_text"),
    ]


def _results(sheet: SheetWriter, row: int, lines: list[_Result]) -> None:
    sheet.text(row, 0, "Prediction", "section")
    for number, line in enumerate(lines, start=row + 1):
        sheet.text(number, 0, line.title)
        sheet.formula(number, 1, line.formula, line.value, line.style)
        sheet.text(number, 2, line.unit, "unit")
    sheet.define(f"{PREFIX}time_s", row + 1, 1)
