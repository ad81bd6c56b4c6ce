"""The sheet Shorter: the built-in formulas with fewer constants, for the configuration on sheet Predict."""

import numpy as np
from trainlaw.app.models.builtin import shorter_formulas
from trainlaw.app.models.terms import with_named_constants
from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.text.numbers import show_percent
from trainlaw.app.workbook.formula import UNKNOWN, unit_text
from trainlaw.app.workbook.model import Model, cell_name, cell_names, values_of
from trainlaw.formulas import Formula, Variable, substitute, to_text
from trainlaw.formulas.printers import split_for_excel
from trainlaw.validate.held_out_errors import OURS, overall_error

_WIDTHS = (96, 20, 20)


def write_shorter(book: BookPlan, model: Model) -> None:
    """Write each shorter formula with its time and its constants, which can be changed, if there is any."""
    laws = shorter_formulas(model.formula)
    if not laws:
        return
    sheet = SheetWriter(book, "Shorter", _WIDTHS)
    sheet.title(
        "The time of an iteration on one GPU by formulas with fewer constants",
        "For the configuration on sheet Predict, which uses the full formula; change the yellow cells.",
    )
    row = 3
    for name, law in laws.items():
        row = _write(sheet, model, name, law, row)


def _write(sheet: SheetWriter, model: Model, name: str, law: Formula, row: int) -> int:
    """Write a formula from a row on; return the row of the next."""
    expression, constants = with_named_constants(law)
    named = {constant.name: f"{name}_{constant.name}" for constant in constants}
    expression = substitute(expression, {old: Variable(new) for old, new in named.items()})
    numbers = {named[constant.name]: constant.value for constant in constants}
    error = show_percent(overall_error(law, OURS))
    sheet.text(row, 0, f"{name}: {len(constants)} constants, held-out error {error} %", "section")
    sheet.wrapped_text(row + 1, 0, to_text(law.expression, 3), _WIDTHS[0])
    cells = split_for_excel(expression, cell_names({*model.features, *numbers}), str)
    known = {key: np.array([value]) for key, value in {**model.values, **numbers}.items()}
    sheet.formula(
        row + 1, 1, f'IFERROR({cells.formula},"{UNKNOWN}")', float(values_of(expression, known)[0]), "seconds"
    )
    sheet.text(row + 1, 2, "s", "unit")
    sheet.define(f"tl_{name}_s", row + 1, 1)
    for line, (constant, (new, value)) in enumerate(
        zip(constants, numbers.items(), strict=True), start=row + 2
    ):
        sheet.line(line, new, value, "constant", unit=unit_text(constant.unit), name=cell_name(new))
    return row + 3 + len(constants)
