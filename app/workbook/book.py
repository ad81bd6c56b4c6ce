"""The workbook: one file that predicts without Python, in which every number can be traced and changed."""

import re

from trainlaw.app.models.builtin import offered_formulas
from trainlaw.app.models.multi_gpu import with_built_in_single_gpu_formula
from trainlaw.app.models.scopes import Inputs, chosen_output
from trainlaw.app.sheets.plan import BookPlan
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.answers import write_answers
from trainlaw.app.workbook.compare import write_compare
from trainlaw.app.workbook.custom import custom_workbook_plan
from trainlaw.app.workbook.formula import write_formula, write_provenance, write_shorter
from trainlaw.app.workbook.gpus import write_all_gpus
from trainlaw.app.workbook.layers import (
    layer_model,
    write_layer_facts,
    write_layer_provenance,
    write_layer_symbols,
    write_layers,
)
from trainlaw.app.workbook.measured import write_measured
from trainlaw.app.workbook.model import PREFIX, Model, workbook_model
from trainlaw.app.workbook.names import write_names
from trainlaw.app.workbook.plan import write_plans
from trainlaw.app.workbook.predict import new_predict, write_predict
from trainlaw.app.workbook.sizes import write_rules, write_size
from trainlaw.app.workbook.tables import (
    write_cnns,
    write_errors,
    write_gpus,
    write_links,
    write_options,
    write_prices,
)
from trainlaw.formulas import Formula
from trainlaw.formulas.scopes import FORWARD

#: Begins the names of cells of forward passes that stand next to those of iterations.
PREFIX_OF_PASSES = "tl_forward_"
_NAME = re.compile(r"\btl_\w+")


def workbook_plan(formula: Formula) -> BookPlan:
    """Return all sheets of the workbook of a formula, by its scope.

    Raises InputError where a feature cannot be computed from GPU, CNN and inputs.
    """
    plans = {
        Inputs.RUN: _run_plan,
        Inputs.LAYERS: _layer_plan,
        Inputs.FEATURES: custom_workbook_plan,
    }
    return chosen_output(formula, "workbook", plans)


def _run_plan(formula: Formula) -> BookPlan:
    """Return the sheets of a formula of whole iterations.

    One that needs the time on one GPU has the built-in formula in its place.
    """
    model = workbook_model(with_built_in_single_gpu_formula(formula))
    book = _new_book(formula)
    if model.is_forward:
        write_passes(book, model)
        write_rules(book, model)
        write_errors(book, formula, model)
        write_gpus(book, formula)
        write_cnns(book)
        write_prices(book)
        write_names(book)
        write_provenance(book, model)
        return book
    predict = new_predict(book)
    write_compare(book, model)
    write_formula(book, model)
    write_shorter(book, model)
    write_forward(book, model)
    write_errors(book, formula, model)
    write_gpus(book, formula)
    write_cnns(book)
    write_rules(book, model)
    write_size(book, model)
    write_links(book)
    write_prices(book)
    write_options(book, model)
    write_plans(book, model, write_all_gpus(book, model))
    write_names(book)
    write_provenance(book, model)
    write_predict(predict, model, write_answers(book, model), has_ranking=True)
    write_measured(book)
    return book


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


def _layer_plan(formula: Formula) -> BookPlan:
    """Return the sheets of a formula of one layer, with the layers of a CNN in place of many GPUs."""
    model = layer_model(formula)
    book = _new_book(formula)
    predict = new_predict(book)
    write_layers(book, model)
    write_layer_symbols(write_formula(book, model), model)
    write_errors(book, formula, model)
    write_gpus(book, formula)
    write_cnns(book)
    write_layer_facts(book, model)
    write_links(book)
    write_prices(book)
    write_options(book, model)
    write_names(book)
    write_layer_provenance(book, model)
    write_predict(predict, model, write_answers(book, model), has_ranking=False)
    return book


def _new_book(formula: Formula) -> BookPlan:
    version = formula.provenance.get("trainlaw_version", "")
    return BookPlan("Time and cost of training a CNN", f"trainlaw {version}")


def workbook_bytes(formula: Formula) -> bytes:
    """Return the workbook of a formula as the bytes of an .xlsx file; the same formula gives the same bytes.

    Raises InputError where a feature of the formula cannot be computed from GPU, CNN and inputs.
    """
    return xlsx_bytes(workbook_plan(formula))
