"""The workbook: one file that predicts without Python, where every number can be followed and changed."""

from datetime import datetime
from io import BytesIO

from trainlaw.app.sheet_writer import make_styles
from trainlaw.app.workbook_cells import workbook_model
from trainlaw.app.workbook_formula import write_formula, write_provenance
from trainlaw.app.workbook_predict import write_predict
from trainlaw.app.workbook_tables import write_cnns, write_errors, write_gpus, write_precisions
from trainlaw.formulas import Formula
from xlsxwriter import Workbook

# Texts stay texts: nothing that a name begins with makes it a formula or a link.
_OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}


def workbook_bytes(formula: Formula) -> bytes:
    """Return the workbook of a formula as the bytes of an .xlsx file; the same formula gives the same bytes.

    Raises InputError where a feature of the formula cannot be computed from GPU, CNN and inputs.
    """
    model = workbook_model(formula)
    buffer = BytesIO()
    with Workbook(buffer, _OPTIONS) as book:
        book.set_properties(
            {
                "title": "Time of a CNN training iteration",
                "comments": f"trainlaw {formula.provenance.get('trainlaw_version', '')}",
                "created": datetime(2000, 1, 1),  # a fixed date, so that equal formulas give equal files
            }
        )
        book.set_calc_mode("auto")
        styles = make_styles(book)
        write_predict(book, styles, model)
        write_formula(book, styles, model)
        write_errors(book, styles, formula)
        write_gpus(book, styles)
        write_cnns(book, styles)
        write_precisions(book, styles, formula)
        write_provenance(book, styles, model)
    return buffer.getvalue()
