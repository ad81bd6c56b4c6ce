"""The page of a formula with features of its own, in a browser: live inputs, no fault that axe finds."""

import pytest
from trainlaw.app.models.builtin import formula_named
from trainlaw.app.models.custom_inputs import case_seconds, cases_of
from trainlaw.app.page.custom import custom_page_html

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "page.html"
    path.write_text(custom_page_html(formula_named("xeon-phi-a")), encoding="utf-8")
    return path


def minutes(page):
    return float(page.text_content("#time").removesuffix(" min").replace(",", ""))


def test_inputs_move_the_result(opened, file):
    page = opened(file)
    page.select_option("#group-0", "large")
    page.fill("#input-0", "333")
    law = formula_named("xeon-phi-a")
    case = cases_of(law)[0] | {"threads": 333.0, "epochs": 70.0, "network": "large"}
    assert minutes(page) == pytest.approx(case_seconds(law, [case])[0] / 60, abs=0.006)
    assert page.input_value("#case") == ""
    page.select_option("#case", "12")
    assert (page.input_value("#input-0"), page.input_value("#group-0")) == ("240", "small")


def test_faulty_inputs_are_told(opened, file):
    page = opened(file)
    page.fill("#input-0", "0")
    assert "threads" in page.text_content("#fault")
    assert page.text_content("#time") == "not defined"
    page.fill("#input-0", "5000")
    assert "outside the range" in page.text_content("#fault")
    assert minutes(page) > 0


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1400, "dark")])
def test_axe_finds_no_fault_that_matters(width, scheme, opened, file):
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="needs axe-core-python")
    page = opened(file, "", width, scheme)
    found = axe.Axe().run(page)
    bad = [(f["id"], n["html"]) for f in found["violations"] if f["impact"] != "minor" for n in f["nodes"]]
    assert bad == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
