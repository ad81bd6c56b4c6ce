"""The sheet Shorter: the formulas with fewer constants, as LibreOffice computes them."""

import pytest
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, SHORTER
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.model import first_choice

from ...libreoffice import needs_libreoffice, recalculated
from .test_book import built_in_plan, named_value, small_plan


@needs_libreoffice
def test_shorter_formulas_give_the_time_of_the_command(tmp_path):
    plan = small_plan(built_in_plan(), without=("Compare", "Plan", "All plans", "Ranking", "All GPUs"))
    book = recalculated({"built-in.xlsx": xlsx_bytes(plan)}, tmp_path)["built-in.xlsx"]
    for name in SHORTER:
        (expected,) = predict_runs(BUILT_IN_FORMULAS[name](), first_choice())
        assert named_value(book, plan, f"tl_{name}_s") == pytest.approx(expected.time_s, rel=1e-9)


@pytest.mark.slow
def test_another_formula_has_no_such_sheet():
    plan = workbook_plan(BUILT_IN_FORMULAS["short"]())
    assert "Shorter" not in [sheet.name for sheet in plan.sheets]
