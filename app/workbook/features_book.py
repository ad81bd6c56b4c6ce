"""The workbook of a formula that is entered by its features: inputs, result and worked examples, all live."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from trainlaw.app.models.custom_inputs import (
    PUBLISHED,
    case_seconds,
    cases_of,
    group_keys,
    shown_unit,
    with_entered_sizes,
)
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.workbook.formula_sheet import unit_text
from trainlaw.app.workbook.model import first_choice
from trainlaw.app.workbook.notes_sheet import write_provenance
from trainlaw.formulas import SCOPES, Formula, GroupedConstant, to_text
from trainlaw.formulas.printers import excel_expression
from trainlaw.formulas.scopes import LAYER
from xlsxwriter.utility import xl_rowcol_to_cell

_INPUT_ROW = 3
_COLUMNS = 40
_FORMULA_WIDTH = 110
_HEAD_POINTS = 45.0  # room for long names on three lines


def features_workbook_plan(formula: Formula) -> BookPlan:
    """Return the sheets Prediction (inputs and result), Examples (worked ones), Constants and Notes (origin).

    A formula of layers gives the time of the layer that is entered; its examples are those of one CNN.

    Raises InputError where the formula does not fit into one cell.
    """
    formula = with_entered_sizes(formula if formula.scope != LAYER else _with_layers(formula))
    part = SCOPES[formula.scope].part
    book = BookPlan(f"time of one {part}" if part else formula.target.meaning, "trainlaw")
    prediction = SheetWriter(book, "Prediction", (34, 24, 14, 70))
    examples = SheetWriter(book, "Examples", (16,) * _COLUMNS)
    _write_constants(SheetWriter(book, "Constants", (16,) * _COLUMNS), formula)
    _write_prediction(prediction, formula)
    _write_examples(examples, formula)
    _write_notes(book, formula)
    return book


def _with_layers(formula: Formula) -> Formula:
    """Return a formula of layers with the distinct layers of the workbook's first choice as examples."""
    columns = formula_rows(formula, first_choice()).columns
    layers = np.broadcast_arrays(*(columns[spec.name] for spec in formula.used_features))
    names = [spec.name for spec in formula.used_features]
    cases = [dict(zip(names, map(float, layer), strict=True)) for layer in zip(*layers, strict=True)]
    return replace(formula, provenance={**formula.provenance, "cases": cases})


def _write_prediction(sheet: SheetWriter, formula: Formula) -> None:
    sheet.title(sheet.book.title, "Choose and enter values in the yellow cells; the others are computed.")
    case, places, row = cases_of(formula)[0], {}, _INPUT_ROW
    for key in group_keys(formula):
        sheet.text(row, 0, key)
        sheet.text(row, 1, str(case[key]), "input")
        sheet.drop_down(row, 1, _groups_name(formula, key))
        places[key], row = xl_rowcol_to_cell(row, 1, True, True), row + 1
    for spec in formula.used_features:
        title, value = f"{spec.name} ({spec.symbol})", float(case[spec.name])
        sheet.line(row, title, value, "constant", unit=unit_text(spec.unit))
        sheet.text(row, 3, spec.meaning, "unit")
        places[spec.name], row = xl_rowcol_to_cell(row, 1, True, True), row + 1
    # Constants of the chosen group are listed below the result, so that it can be traced.
    first = row + 5
    places |= _looked_up(sheet, formula, places, case, first)
    value = float(case_seconds(formula, [case])[0])
    sheet.text(row + 1, 0, formula.target.meaning, "section")
    sheet.formula(row + 1, 1, _guarded(excel_expression(formula.expression, places)), value, "result")
    sheet.text(row + 1, 2, str(formula.target.unit), "unit")
    sheet.define("tl_time_s", row + 1, 1)
    unit, scale = shown_unit(formula)
    if scale != 1:
        sheet.formula(row + 2, 1, _guarded(f"tl_time_s/{scale:g}"), value / scale, "result_money")
        sheet.text(row + 2, 2, unit, "unit")


def _looked_up(
    sheet: SheetWriter, formula: Formula, places: Mapping[str, str], case: Mapping[str, object], row: int
) -> dict[str, str]:
    """Write the constants of the chosen groups, one per row; return the cell of each."""
    if formula.grouped:
        sheet.text(row - 1, 0, "Constants of the chosen groups", "section")
    cells = {}
    for line, constant in enumerate(formula.grouped, start=row):
        text = _group_constant(formula, constant, places[constant.key])
        sheet.line(line, constant.name, constant.values[str(case[constant.key])], formula=text)
        cells[constant.name] = xl_rowcol_to_cell(line, 1, True, True)
    return cells


def _groups_name(formula: Formula, key: str) -> str:
    # By number: keys and constants may contain characters that no cell name may have.
    return f"tl_groups_{list(group_keys(formula)).index(key) + 1}"


def _group_constant(formula: Formula, constant: GroupedConstant, place: str) -> str:
    """Return the cell formula of a constant for the group that the cell `place` names."""
    column = f"tl_constant_{formula.grouped.index(constant) + 1}"
    return f"INDEX({column},MATCH({place},{_groups_name(formula, constant.key)},0))"


def _guarded(text: str) -> str:
    return f'IFERROR({text},"not known")'


def _write_constants(sheet: SheetWriter, formula: Formula) -> None:
    """Write a table per key with a row per group and a column per constant; name each column."""
    sheet.title("Constants that differ by group", "Change the yellow cells; the whole workbook follows.")
    row = _INPUT_ROW
    for key, groups in group_keys(formula).items():
        constants = [item for item in formula.grouped if item.key == key]
        sheet.heads(row, [key, *(item.name for item in constants)])
        sheet.plan.heights[row] = _HEAD_POINTS
        for line, group in enumerate(groups, start=row + 1):
            sheet.text(line, 0, group)
            for column, item in enumerate(constants, start=1):
                sheet.number(line, column, item.values[group], "constant")
        columns = {_groups_name(formula, key): 0}
        columns |= {
            f"tl_constant_{formula.grouped.index(item) + 1}": n for n, item in enumerate(constants, 1)
        }
        for name, column in columns.items():
            sheet.define_range(name, column, row + 1, row + len(groups))
        row += len(groups) + 3


def _write_examples(sheet: SheetWriter, formula: Formula) -> None:
    """Write a worked example per row: labels, inputs, constants of its groups, and the time, live."""
    sheet.title("Worked examples", "Each row is computed here from its own cells.")
    cases, names = cases_of(formula), [spec.name for spec in formula.used_features]
    keys, constants = list(group_keys(formula)), [item.name for item in formula.grouped]
    published = all(PUBLISHED in case for case in cases)
    unit, scale = shown_unit(formula)
    header = [
        *keys,
        *names,
        f"computed, {unit}",
        *(["published, min", "difference, min"] * published),
        *constants,
    ]
    sheet.heads(2, header)
    sheet.plan.heights[2] = _HEAD_POINTS
    computed = len(keys) + len(names)
    start = computed + 1 + 2 * published
    seconds = case_seconds(formula, cases)
    for row, (case, value) in enumerate(zip(cases, seconds.tolist(), strict=True), start=3):
        places = {name: xl_rowcol_to_cell(row, place) for place, name in enumerate([*keys, *names])}
        for place, key in enumerate(keys):
            sheet.text(row, place, str(case[key]))
        for place, name in enumerate(names, start=len(keys)):
            sheet.number(row, place, float(case[name]))
        for place, item in enumerate(formula.grouped, start=start):
            text = _group_constant(formula, item, places[item.key])
            sheet.formula(row, place, text, item.values[str(case[item.key])])
            places[item.name] = xl_rowcol_to_cell(row, place)
        text = _guarded(f"({excel_expression(formula.expression, places)})/{scale:g}")
        sheet.formula(row, computed, text, value / scale, "money")
        if published:
            stated = float(case[PUBLISHED])
            cells = [xl_rowcol_to_cell(row, computed + offset) for offset in (0, 1)]
            sheet.number(row, computed + 1, stated, "decimal")
            sheet.formula(row, computed + 2, f"{cells[0]}-{cells[1]}", value / scale - stated, "money")
    sheet.plan.frozen = (3, len(keys))


def _write_notes(book: BookPlan, formula: Formula) -> None:
    sheet = SheetWriter(book, "Notes", (44, _FORMULA_WIDTH))
    sheet.title("Notes", "The origin of the formula, and its text.")
    row = write_provenance(sheet, 2, formula)
    sheet.text(row, 0, "formula")
    text = f"{formula.target.name} = {to_text(formula.expression, 6)}"
    sheet.wrapped_text(row, 1, text, _FORMULA_WIDTH)
