"""The .xlsx writer: what it takes from XlsxWriter, and what it replaces there."""

from trainlaw.app.sheets import xlsx
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from xlsxwriter.worksheet import Worksheet


def test_xlsxwriter_still_calls_the_private_method_that_is_overridden(monkeypatch):
    """`_PlainSheet` overrides it; if XlsxWriter renames it, nothing but the time of writing changes."""
    remedy = "look for its new name in xlsxwriter/worksheet.py, or drop _PlainSheet of app/sheets/xlsx.py"
    assert "_prepare_formula" in vars(Worksheet), f"XlsxWriter has no Worksheet._prepare_formula: {remedy}"
    prepared = []

    def recording(sheet, formula, expand_future_functions=False):
        prepared.append(formula)
        return formula.removeprefix("=")

    monkeypatch.setattr(xlsx._PlainSheet, "_prepare_formula", recording)
    book = BookPlan("", "")
    SheetWriter(book, "Prediction", ()).formula(0, 0, "1+2", 3.0)
    xlsx.xlsx_bytes(book)
    assert prepared == ["=1+2"], f"XlsxWriter does not call _prepare_formula for each formula: {remedy}"
