"""The workbook: one file that predicts without Python, in which every number can be traced and changed."""

from trainlaw.app.models.multi_gpu import formula_of_choices
from trainlaw.app.sheets.book_plan import BookPlan
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.errors_sheet import write_errors
from trainlaw.app.workbook.formula_sheet import write_formula
from trainlaw.app.workbook.gpu_sheets import write_all_gpus
from trainlaw.app.workbook.lookup_sheets import write_cnns, write_gpus
from trainlaw.app.workbook.model import workbook_model
from trainlaw.app.workbook.notes_sheet import write_notes
from trainlaw.app.workbook.own_runs_sheet import write_own_runs
from trainlaw.app.workbook.prediction_sheet import new_prediction, write_prediction
from trainlaw.formulas import Formula


def workbook_plan(formula: Formula) -> BookPlan:
    """Return the nine sheets of a formula of whole iterations, or of forward passes.

    Raises InputError where the scope has no workbook, or a feature does not follow from GPU, CNN and inputs.
    """
    model = workbook_model(formula_of_choices(formula, "workbook"))
    version = formula.provenance.get("trainlaw_version", "")
    book = BookPlan("Time and cost of training a CNN", f"trainlaw {version}")
    prediction = new_prediction(book, model)
    write_all_gpus(book, model)
    said = write_formula(book, model)
    write_cnns(book)
    write_gpus(book, formula)
    write_errors(book, formula, model)
    write_own_runs(book, model)
    write_notes(book, model)
    write_prediction(prediction, model, said)
    return book


def workbook_bytes(formula: Formula) -> bytes:
    """Return the workbook of a formula as the bytes of an .xlsx file; the same formula gives the same bytes.

    Raises InputError where a feature of the formula cannot be computed from GPU, CNN and inputs.
    """
    return xlsx_bytes(workbook_plan(formula))
