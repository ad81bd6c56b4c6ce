"""The sheets Formula (constants that can be changed, terms, symbols) and Provenance (whence, and the self-check)."""

from collections.abc import Mapping

import numpy as np
from xlsxwriter import Workbook
from xlsxwriter.utility import xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

from trainlaw.app.feature_expressions import feature_expression
from trainlaw.app.plain_json import plain_text
from trainlaw.app.terms import plain_expression, terms
from trainlaw.app.workbook_model import PREFIX, Model, cell_name, first_choice
from trainlaw.app.workbook_styles import Styles, fit_on_pages, write_title, write_table
from trainlaw.formulas import Constant, Formula, evaluate, fold, to_text, variables
from trainlaw.formulas.printers.excel import excel_expression

_AGREEMENT = 1e-9


def write_formula(book: Workbook, styles: Styles, model: Model) -> None:
    """Write the sheet Formula; a changed constant changes the prediction."""
    sheet = book.add_worksheet("Formula")
    sheet.set_column(0, 0, 30)
    sheet.set_column(1, 1, 24)
    sheet.set_column(2, 2, 18)
    sheet.set_column(3, 3, 110)
    fit_on_pages(sheet)
    target = model.formula.target
    write_title(sheet, styles, f"{target.meaning}, {target.symbol} [{target.unit}], is the sum of")
    row = _term_lines(sheet, styles, model, 2)
    row = _constants(book, sheet, styles, model, row + 1)
    _symbols(sheet, styles, model.formula, row + 1)


def _term_lines(sheet: Worksheet, styles: Styles, model: Model, row: int) -> int:
    for number, term in enumerate(model.terms, start=1):
        sheet.write_string(row, 0, f"term {number}", styles["text"])
        sheet.write_string(row, 1, term.text, styles["text"])
        row += 1
    return row


def _constants(book: Workbook, sheet: Worksheet, styles: Styles, model: Model, row: int) -> int:
    sheet.write_string(row, 0, "Constants (change the yellow cells)", styles["section"])
    for column, title in enumerate(("name", "value", "unit", "occurs in")):
        sheet.write_string(row + 1, column, title, styles["head"])
    row += 2
    for constant in model.constants:
        inside = [str(n) for n, term in enumerate(model.terms, start=1) if constant.name in term.constants]
        sheet.write_string(row, 0, constant.name, styles["text"])
        sheet.write_number(row, 1, constant.value, styles["constant"])
        sheet.write_string(row, 2, _unit(constant.unit), styles["text"])
        sheet.write_string(row, 3, f"term {', '.join(inside)}", styles["text"])
        cell = xl_rowcol_to_cell(row, 1, row_abs=True, col_abs=True)
        book.define_name(cell_name(constant.name), f"=Formula!{cell}")
        row += 1
    return row


def _unit(unit: object) -> str:
    if unit is None:
        return "depends on others"
    return "" if str(unit) == "1" else str(unit)


def _symbols(sheet: Worksheet, styles: Styles, formula: Formula, row: int) -> None:
    sheet.write_string(row, 0, "Symbols", styles["section"])
    rows = [
        [spec.name, spec.symbol, _unit(spec.unit), f"{spec.meaning}; computed as {to_text(feature_expression(spec.name))}"]
        for spec in formula.used_features
    ]
    write_table(sheet, row + 1, ["name", "symbol", "unit", "meaning"], rows, styles)


def write_provenance(book: Workbook, styles: Styles, model: Model) -> None:
    """Write the sheet Provenance with the self-check: a fixed configuration, computed by us and by the application."""
    sheet = book.add_worksheet("Provenance")
    sheet.set_column(0, 0, 36)
    sheet.set_column(1, 1, 90)
    fit_on_pages(sheet)
    write_title(sheet, styles, "Where this formula comes from")
    facts = [[key, plain_text(value)] for key, value in model.formula.provenance.items()]
    row = write_table(sheet, 2, ["fact", "value"], facts, styles)
    _self_check(book, sheet, styles, model.formula, row + 1)


def _self_check(book: Workbook, sheet: Worksheet, styles: Styles, formula: Formula, row: int) -> None:
    """Plain numbers in, original constants: what differs here differs because of the application."""
    sheet.write_string(row, 0, "Self-check", styles["section"])
    names = [spec.name for spec in formula.used_features]
    values = dict(zip(names, map(float, first_choice().matrix(names)[0]), strict=True)) if names else {}
    row, places = _fixed_values(sheet, styles, values, row + 1)
    expected, cells = 0.0, []
    for number, term in enumerate(terms(plain_expression(formula)), start=1):
        result = float(evaluate(term, {name: np.array([value]) for name, value in values.items()})[0][0])
        sheet.write_string(row, 0, f"term {number}, computed here", styles["text"])
        text = excel_expression(term, {name: places[name] for name in variables(term)})
        sheet.write_formula(row, 1, f"={text}", styles["general"], result)
        cells.append(xl_rowcol_to_cell(row, 1))
        expected += result
        row += 1
    sheet.write_string(row, 0, "sum, as trainlaw computed it", styles["text"])
    sheet.write_number(row, 1, expected, styles["general"])
    total, known = f"SUM({cells[0]}:{cells[-1]})", xl_rowcol_to_cell(row, 1)
    sheet.write_string(row + 1, 0, "equal", styles["text"])
    sheet.write_formula(row + 1, 1, f"=ABS({total}/{known}-1)<{_AGREEMENT}", styles["general"], True)
    cell = xl_rowcol_to_cell(row + 1, 1, row_abs=True, col_abs=True)
    book.define_name(f"{PREFIX}self_check", f"=Provenance!{cell}")


def _fixed_values(
    sheet: Worksheet, styles: Styles, values: Mapping[str, float], row: int
) -> tuple[int, dict[str, str]]:
    places = {}
    for name, value in values.items():
        sheet.write_string(row, 0, name, styles["text"])
        sheet.write_number(row, 1, value, styles["general"])
        places[name] = xl_rowcol_to_cell(row, 1, row_abs=True, col_abs=True)
        row += 1
    return row, places
