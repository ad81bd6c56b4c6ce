"""The sheets Formula (constants to be changed, terms, symbols) and Provenance (origin and self-check)."""

from collections.abc import Mapping

import numpy as np
from trainlaw.app.feature_expressions import feature_expression
from trainlaw.app.plain_json import plain_text
from trainlaw.app.sheet_writer import SheetWriter
from trainlaw.app.terms import terms_of
from trainlaw.app.workbook_cells import PREFIX, Model, cell_name, first_choice
from trainlaw.formulas import Formula, evaluate, to_text, variables
from trainlaw.formulas.printers import excel_expression
from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

_AGREEMENT = "1E-9"


def write_formula(book: Workbook, styles: Mapping[str, Format], model: Model) -> None:
    """Write the sheet Formula; a changed constant changes the prediction."""
    sheet = SheetWriter(book, styles, "Formula", (30, 24, 18, 110))
    target = model.formula.target
    sheet.title(f"{target.meaning}, {target.symbol} [{target.unit}]", "It is the sum of these terms.")
    for number, term in enumerate(model.terms, start=1):
        sheet.text(number + 1, 0, f"term {number}")
        sheet.text(number + 1, 1, term.text)
    row = _constants(sheet, model, len(model.terms) + 3)
    _symbols(sheet, model.formula, row + 1)


def _constants(sheet: SheetWriter, model: Model, row: int) -> int:
    sheet.text(row, 0, "Constants (change the yellow cells)", "section")
    for column, title in enumerate(("name", "value", "unit", "occurs in")):
        sheet.text(row + 1, column, title, "head")
    for line, constant in enumerate(model.constants, start=row + 2):
        inside = [str(n) for n, term in enumerate(model.terms, start=1) if constant.name in term.constants]
        sheet.text(line, 0, constant.name)
        sheet.number(line, 1, constant.value, "constant")
        sheet.text(line, 2, _unit(constant.unit), "unit")
        sheet.text(line, 3, f"term {', '.join(inside)}")
        sheet.define(cell_name(constant.name), line, 1)
    return row + 2 + len(model.constants)


def _unit(unit: object) -> str:
    if unit is None:
        return "depends on others"
    return "" if str(unit) == "1" else str(unit)


def _symbols(sheet: SheetWriter, formula: Formula, row: int) -> None:
    sheet.text(row, 0, "Symbols", "section")
    rows = []
    for spec in formula.used_features:
        form = to_text(feature_expression(spec.name))
        rows.append([spec.name, spec.symbol, _unit(spec.unit), f"{spec.meaning}; computed as {form}"])
    sheet.table(row + 1, ["name", "symbol", "unit", "meaning"], rows)


def write_provenance(book: Workbook, styles: Mapping[str, Format], model: Model) -> None:
    """Write the sheet Provenance; the self-check is a configuration computed by us and by the application."""
    sheet = SheetWriter(book, styles, "Provenance", (36, 90))
    sheet.title("Where this formula comes from")
    facts = [[key, plain_text(value)] for key, value in model.formula.provenance.items()]
    row = sheet.table(2, ["fact", "value"], facts)
    _self_check(sheet, model.formula, row + 1)


def _self_check(sheet: SheetWriter, formula: Formula, row: int) -> None:
    """Plain numbers in, original constants: what differs here differs because of the application."""
    sheet.text(row, 0, "Self-check", "section")
    names = [spec.name for spec in formula.used_features]
    values = dict(zip(names, first_choice().matrix(names)[0].tolist(), strict=True)) if names else {}
    places = {name: xl_rowcol_to_cell(row + 1 + number, 1, True, True) for number, name in enumerate(values)}
    for line, (name, value) in enumerate(values.items(), start=row + 1):
        sheet.text(line, 0, name)
        sheet.number(line, 1, value)
    first = row + 1 + len(values)
    results = _computed_terms(sheet, formula, values, places, first)
    last = first + len(results) - 1
    sheet.text(last + 1, 0, "sum, as trainlaw computed it")
    sheet.number(last + 1, 1, sum(results))
    total = f"SUM({xl_rowcol_to_cell(first, 1)}:{xl_rowcol_to_cell(last, 1)})"
    sheet.text(last + 2, 0, "equal")
    sheet.formula(last + 2, 1, f"ABS({total}/{xl_rowcol_to_cell(last + 1, 1)}-1)<{_AGREEMENT}", True)
    sheet.define(f"{PREFIX}self_check", last + 2, 1)


def _computed_terms(
    sheet: SheetWriter, formula: Formula, values: Mapping[str, float], places: Mapping[str, str], row: int
) -> list[float]:
    """Write the terms over the cells `places`; return their values in seconds."""
    results = []
    for number, term in enumerate(terms_of(formula), start=1):
        used = variables(term)
        result = float(evaluate(term, {name: np.array([values[name]]) for name in used})[0][0])
        text = excel_expression(term, {name: places[name] for name in used})
        sheet.text(row, 0, f"term {number}, computed here")
        sheet.formula(row, 1, text, result)
        results.append(result)
        row += 1
    return results
