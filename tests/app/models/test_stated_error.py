import pytest
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS
from trainlaw.app.models.stated_error import evolution_sentence
from trainlaw.app.page.html import page_html
from trainlaw.app.terminal.formula import short_text
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.model import first_choice
from trainlaw.validate.formula_errors import carried_errors


@pytest.mark.usefixtures("few_networks")
def test_show_page_and_workbook_say_what_the_search_adds():
    formula = BUILT_IN_FORMULAS["6"]()
    sentence = evolution_sentence(carried_errors(formula))
    assert "over random search, which has" in sentence
    assert sentence in " ".join(short_text(formula, "built-in", first_choice()).split())
    assert sentence in page_html(formula)
    (sheet,) = (sheet for sheet in workbook_plan(formula).sheets if sheet.name == "Errors")
    cells = [cell.value for cell in sheet.cells.values()]
    assert sentence in cells and "random search" in cells and "random_search" not in cells
