"""The sheet Predict: choices, live prediction, what it is made of, and whether the training covers it."""

from xlsxwriter import Workbook
from xlsxwriter.utility import xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

from trainlaw.app.error_tables import interval_of
from trainlaw.app.workbook_model import FIRST_BATCH, FIRST_CNN, FIRST_GPU, INPUTS, PREFIX, Cell, Model, cell_name
from trainlaw.app.workbook_styles import Styles, fit_on_pages, write_title, lines_height
from trainlaw.app.workbook_tables import cnn_label

_SHEET = "Predict"
_TERM_WIDTH = 56  # characters
_INPUT_TEXTS = {
    "batch_per_gpu": ("images per iteration", "images", "on one GPU"),
    "has_optimizer": ("optimizer step included", "1 or 0", "1: the time includes the update of the weights"),
    "has_input_copy": ("copy of the input included", "1 or 0", "1: the time includes the copy of the images to the GPU"),
}


def write_predict(book: Workbook, styles: Styles, model: Model) -> None:
    """Write the sheet; its named cells are those that `workbook_model` refers to."""
    sheet = book.add_worksheet(_SHEET)
    for column, width in enumerate((_TERM_WIDTH, 32, 16, 18, 18, 10, 70)):
        sheet.set_column(column, column, width)
    sheet.hide_gridlines(2)
    fit_on_pages(sheet)
    write_title(sheet, styles, "Time of one CNN training iteration", "Choose in the yellow cells. Everything else is computed from them.")
    row = _choices(book, sheet, styles, model)
    results = row + 1
    below = results + 9
    below, first_term = _terms(sheet, styles, model, below)
    below, outside = _quantities(book, sheet, styles, model, below)
    _results(book, sheet, styles, model, results, f"SUM({first_term})", outside)


def _define(book: Workbook, name: str, row: int, column: int) -> None:
    book.define_name(name, f"={_SHEET}!{xl_rowcol_to_cell(row, column, row_abs=True, col_abs=True)}")


def _choices(book: Workbook, sheet: Worksheet, styles: Styles, model: Model) -> int:
    """Write the inputs from row 4 on; return the next free row."""
    sheet.write_string(3, 0, "Choose", styles["section"])
    choices = [
        ("gpu", "GPU", FIRST_GPU, "add your own as a row of sheet GPUs"),
        ("cnn", "CNN", cnn_label(*FIRST_CNN), "add your own as a row of sheet CNNs"),
        ("precision", "precision", "fp32", "as used by the GPU"),
    ]
    row = 4
    for name, title, value, note in choices:
        sheet.write_string(row, 0, title, styles["text"])
        sheet.write_string(row, 1, value, styles["input"])
        sheet.write_string(row, 3, note, styles["note"])
        lists = {"gpu": "gpus", "cnn": "cnns", "precision": "precisions"}
        source = f"={PREFIX}{lists[name]}{'' if name == 'precision' else '_listed'}"
        sheet.data_validation(row, 1, row, 1, {"validate": "list", "source": source, "error_type": "warning"})
        _define(book, PREFIX + name, row, 1)
        row += 1
    used = {cell.name for cell in model.raw}
    for name, (title, unit, note) in _INPUT_TEXTS.items():
        if cell_name(name) in used or name == "batch_per_gpu":
            sheet.write_string(row, 0, title, styles["text"])
            sheet.write_number(row, 1, INPUTS[name], styles["input_number"])
            sheet.write_string(row, 2, unit, styles["unit"])
            sheet.write_string(row, 3, note, styles["note"])
            _define(book, cell_name(name), row, 1)
            row += 1
    return row


def _terms(sheet: Worksheet, styles: Styles, model: Model, row: int) -> tuple[int, str]:
    """Write a line per term; return the next free row and the range of the terms' seconds."""
    sheet.write_string(row, 0, "What the time is made of", styles["section"])
    for column, title in enumerate(("term", "time, s", "share")):
        sheet.write_string(row + 1, column, title, styles["head"])
    first = row + 2
    for number, term in enumerate(model.terms):
        sheet.set_row(first + number, lines_height(term.text, _TERM_WIDTH))
        sheet.write_string(first + number, 0, term.text, styles["wrapped"])
        sheet.write_formula(first + number, 1, f"={term.formula}", styles["seconds"], term.value)
        cell = xl_rowcol_to_cell(first + number, 1)
        share = term.value / model.seconds
        sheet.write_formula(first + number, 2, f"={cell}/{PREFIX}time_s", styles["share"], share)
    last = first + len(model.terms) - 1
    bars = {"type": "data_bar", "bar_solid": True, "bar_color": "#F4B183", "min_type": "num", "min_value": 0,
            "max_type": "num", "max_value": 1}  # fmt: skip
    sheet.conditional_format(first, 2, last, 2, bars)
    return last + 2, f"{xl_rowcol_to_cell(first, 1)}:{xl_rowcol_to_cell(last, 1)}"


def _quantities(book: Workbook, sheet: Worksheet, styles: Styles, model: Model, row: int) -> tuple[int, str]:
    """Write features and raw columns; return the next free row and the range of the outside-training flags."""
    sheet.write_string(row, 0, "The quantities behind it", styles["section"])
    header = ("quantity", "value", "unit", "least in training", "most in training", "outside", "meaning")
    for column, title in enumerate(header):
        sheet.write_string(row + 1, column, title, styles["head"])
    first = row + 2
    ranges = {cell_name(name): ends for name, ends in model.formula.ranges.items()}
    cells = [*model.features, *(cell for cell in model.raw if cell.formula or cell.name in ranges)]
    for number, cell in enumerate(cells):
        _quantity(book, sheet, styles, cell, ranges.get(cell.name), first + number)
    last = first + len(cells) - 1
    return last + 2, f"{xl_rowcol_to_cell(first, 5)}:{xl_rowcol_to_cell(last, 5)}"


def _quantity(
    book: Workbook, sheet: Worksheet, styles: Styles, cell: Cell, ends: tuple[float, float] | None, row: int
) -> None:
    style = styles["seconds" if cell.unit == "s" else "amount"]
    sheet.write_string(row, 0, cell.name.removeprefix(PREFIX), styles["text"])
    # An input has its cell above; here it is only repeated.
    sheet.write_formula(row, 1, f"={cell.formula or cell.name}", style, cell.value)
    if cell.formula:
        _define(book, cell.name, row, 1)
    sheet.write_string(row, 2, cell.unit, styles["unit"])
    sheet.write_string(row, 6, cell.meaning, styles["text"])
    if ends is not None:
        sheet.write_number(row, 3, ends[0], style)
        sheet.write_number(row, 4, ends[1], style)
        low, high = xl_rowcol_to_cell(row, 3), xl_rowcol_to_cell(row, 4)
        flag = f"=IF(OR({cell.name}<{low},{cell.name}>{high}),1,0)"
        sheet.write_formula(row, 5, flag, styles["general"], int(not ends[0] <= cell.value <= ends[1]))


def _results(
    book: Workbook, sheet: Worksheet, styles: Styles, model: Model, row: int, total: str, outside: str
) -> None:
    seconds, factor = model.seconds, interval_of(model.formula)
    flags = sum(
        not ends[0] <= cell.value <= ends[1]
        for cell in (*model.features, *model.raw)
        for name, ends in model.formula.ranges.items()
        if cell_name(name) == cell.name
    )
    sheet.write_string(row, 0, "Prediction", styles["section"])
    lines: list[tuple[str, str, float | str | bool, str, str]] = [
        ("iteration time", total, seconds, "s", "result"),
        ("iteration time", f"1000*{PREFIX}time_s", 1000 * seconds, "ms", "result_short"),
        ("throughput", f"{PREFIX}batch_per_gpu/{PREFIX}time_s", FIRST_BATCH / seconds, "images/s", "result_short"),
    ]
    if factor:
        lines += [
            ("interval from", f"{PREFIX}time_s/{PREFIX}interval_factor", seconds / factor, "s", "result"),
            ("interval to", f"{PREFIX}time_s*{PREFIX}interval_factor", seconds * factor, "s", "result"),
        ]
    inside = '"inside the range of the training runs"'
    warning = f'" quantities lie outside the training range, see below: do not trust this time"'
    shown = "inside the range of the training runs" if not flags else f"{flags}{warning[1:-1]}"
    untrained = f"INDEX({PREFIX}precision_trained,MATCH({PREFIX}precision,{PREFIX}precisions,0))"
    count = f"(SUM({outside})+IF({untrained}=1,0,1))"
    lines += [
        ("training range", f"IF({count}=0,{inside},{count}&{warning})", shown, "", "result_text"),
        ("self-check: this application computes as trainlaw does", f"{PREFIX}self_check", True, "", "result_text"),
    ]
    for number, (title, formula, value, unit, style) in enumerate(lines, start=1):
        sheet.write_string(row + number, 0, title, styles["text"])
        sheet.write_formula(row + number, 1, f"={formula}", styles[style], value)
        sheet.write_string(row + number, 2, unit, styles["unit"])
    _define(book, f"{PREFIX}time_s", row + 1, 1)
