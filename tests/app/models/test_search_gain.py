from io import BytesIO

import pytest
from openpyxl import load_workbook
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.search_gain import evolution_sentence
from trainlaw.app.page.html import page_html
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.terminal.formula import short_text
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.model import first_choice
from trainlaw.formulas import load_formula

from ..workbook.test_book import small_plan


@pytest.mark.slow
def test_show_page_and_workbook_say_what_the_search_adds():
    formula = load_formula(BUILT_IN)
    sentence = evolution_sentence(formula)
    assert "over no search" in sentence and "over random search" in sentence
    assert sentence in " ".join(short_text(formula, "built-in", first_choice()).split())
    assert sentence in page_html(formula)
    book = load_workbook(BytesIO(xlsx_bytes(small_plan(workbook_plan(formula)))))
    cells = [cell.value for row in book["Errors"].iter_rows() for cell in row]
    assert sentence in cells and "random search (as many formulas)" in cells and "random_search" not in cells
