"""What belongs to a law of layers on the sheets Formula (symbols) and Provenance (origin, self-check)."""

import numpy as np
from trainlaw.app.models.terms import plain_expression
from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.text.json import plain_text
from trainlaw.app.workbook.layers import LIVE, LayerModel
from trainlaw.app.workbook.model import PREFIX, values_of
from trainlaw.datasets import NETWORK_LAYER_FEATURES
from trainlaw.formulas import FeatureSpec, to_text
from trainlaw.formulas.printers import split_for_excel
from xlsxwriter.utility import xl_rowcol_to_cell

_AGREEMENT = "1E-9"


def write_layer_symbols(sheet: SheetWriter, model: LayerModel) -> None:
    """Write what the symbols of a layer mean, below what sheet Formula has, and where their warnings are."""
    sheet.book.names[f"{PREFIX}outside"] = model.outside_cells
    row = max(place for place, _ in sheet.plan.cells) + 2
    sheet.text(row, 0, f"Symbols of one layer (values: sheet {LIVE})", "section")
    titles = ("symbol", "", "unit", "least in training", "most in training", "", "meaning")
    for column, title in enumerate(titles):
        style = "head" if column == 0 else "head_unit" if title in ("unit", "meaning") else "head_right"
        sheet.text(row + 1, column, title, style)
    for line, name in enumerate(model.layer_features, start=row + 2):
        _symbol(sheet, line, NETWORK_LAYER_FEATURES[name].spec, model)


def _symbol(sheet: SheetWriter, row: int, spec: FeatureSpec, model: LayerModel) -> None:
    sheet.text(row, 0, f"{spec.name} ({spec.symbol})")
    sheet.text(row, 2, "" if spec.unit.is_dimensionless else str(spec.unit), "unit")
    for column, end in enumerate(model.formula.ranges.get(spec.name, ()), start=3):
        sheet.number(row, column, end, "seconds")
    written = to_text(model.layer_features[spec.name])
    text = spec.meaning if written == spec.name else f"{spec.meaning}; computed as {written}"
    sheet.text(row, 6, text, "unit")


def write_layer_provenance(book: BookPlan, model: LayerModel) -> None:
    """Write the sheet Provenance; the self-check is a configuration computed by us and by the application."""
    sheet = SheetWriter(book, "Provenance", (44, 90))
    sheet.title("Where this formula comes from")
    facts = [[key, plain_text(value)] for key, value in model.formula.provenance.items()]
    _self_check(sheet, model, sheet.table(2, ["fact", "value"], facts) + 1)


def _self_check(sheet: SheetWriter, model: LayerModel, row: int) -> None:
    """Plain numbers in, original constants: what differs here differs because of the application."""
    sheet.text(row, 0, "Self-check: the layers of one network", "section")
    names = list(model.layer_features)
    sheet.heads(row + 1, ["number", "time of all equal layers [s]", *names])
    expression, rows = plain_expression(model.formula), model.rows
    law = np.broadcast_to(values_of(expression, rows.columns), len(rows.sums.count)) * rows.sums.count
    far = 3 + len(names)  # first column of steps on the way
    for slot, count in enumerate(rows.sums.count.tolist()):
        line = row + 2 + slot
        sheet.number(line, 0, count)
        places = {}
        for column, name in enumerate(names, start=2):
            sheet.number(line, column, float(rows.columns[name][slot]))
            places[name] = xl_rowcol_to_cell(line, column)
        cells = split_for_excel(
            expression, places, lambda step, line=line: xl_rowcol_to_cell(line, far + step)
        )
        for step, (_, text) in enumerate(cells.helpers):
            part = values_of(cells.expressions[step], rows.columns)
            value = np.broadcast_to(part, len(rows.sums.count))[slot]
            sheet.formula(line, far + step, text, float(value))
        sheet.formula(line, 1, f"{xl_rowcol_to_cell(line, 0)}*({cells.formula})", float(law[slot]))
    last = row + 1 + len(law)
    sheet.text(last + 1, 0, "sum, as trainlaw computed it [s]")
    sheet.number(last + 1, 1, float(law.sum()))
    here = f"SUM({xl_rowcol_to_cell(row + 2, 1)}:{xl_rowcol_to_cell(last, 1)})"
    sheet.text(last + 2, 0, "equal")
    sheet.formula(last + 2, 1, f"ABS({here}/{xl_rowcol_to_cell(last + 1, 1)}-1)<{_AGREEMENT}", True)
    sheet.define(f"{PREFIX}self_check", last + 2, 1)
