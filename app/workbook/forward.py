"""The sheets of forward passes, in a workbook without others and next to those of training iterations."""

import re

from trainlaw.app.models.builtin import offered_formulas
from trainlaw.app.sheets.plan import BookPlan
from trainlaw.app.workbook.answers import write_answers
from trainlaw.app.workbook.formula import write_formula
from trainlaw.app.workbook.model import PREFIX, Model, workbook_model
from trainlaw.app.workbook.predict import new_predict, write_predict
from trainlaw.app.workbook.sizes import write_size
from trainlaw.app.workbook.tables import write_options
from trainlaw.formulas.scopes import FORWARD

#: Begins the names of cells of forward passes that stand next to those of iterations.
PREFIX_OF_PASSES = f"{PREFIX}forward_"
_NAME = re.compile(rf"\b{PREFIX}\w+")


def write_passes(book: BookPlan, model: Model) -> None:
    """Write the sheets that depend on the formula, without the tables of GPUs, CNNs and their names."""
    predict = new_predict(book, model.sheet_name("Predict"))
    write_formula(book, model)
    write_options(book, model)
    write_size(book, model)
    write_predict(predict, model, write_answers(book, model), has_ranking=False)


def write_forward(book: BookPlan, model: Model) -> None:
    """Write the sheets of forward passes next to the built-in formula of iterations, with its tables."""
    law = offered_formulas(model.formula).get(FORWARD)
    if law is None:
        return
    own = BookPlan(book.title, book.comment)
    write_passes(own, workbook_model(law))
    renamed = {name: name.replace(PREFIX, PREFIX_OF_PASSES, 1) for name in own.names}

    def text(formula: str) -> str:
        return _NAME.sub(lambda name: renamed.get(name[0], name[0]), formula)

    for sheet in own.sheets:
        for place, cell in sheet.cells.items():
            sheet.cells[place] = cell._replace(formula=text(cell.formula))
        sheet.drop_downs = {place: renamed.get(name, name) for place, name in sheet.drop_downs.items()}
    book.sheets += own.sheets
    book.names |= {renamed[name]: place for name, place in own.names.items()}
