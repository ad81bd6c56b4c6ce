"""Cell formulas without addresses: placeholders are filled in, and are as long as the longest address."""

import pytest
from trainlaw.app.workbook.model import _placeholder, cell_form, cell_name, kind_of
from trainlaw.formulas import parse_text
from trainlaw.formulas.printers.excel import excel_expression

PLACES = {"x": "$B$4", "y": "'All GPUs'!$AB$1234"}


@pytest.mark.parametrize("text", ["x + y", "exp(-x) * max(y, 2) / x", "(x - y) ^ 0.5 * min(x, 3)"])
def test_a_filled_form_is_the_expression_written_at_once(text):
    form = cell_form(parse_text(text))
    assert form.meanings == ()
    assert form.filled(-1, PLACES, str) == excel_expression(parse_text(text), PLACES)


def test_a_long_expression_has_steps_that_are_filled_in_too():
    long = " + ".join(f"{n}.123456789 * x ^ 0.{n} / (2 + exp(-y * {n}))" for n in range(1, 160))
    form = cell_form(parse_text(f"max({long}, 0.5)"))
    steps = [form.filled(number, PLACES, "$C${}".format) for number in range(len(form.meanings))]
    result = form.filled(-1, PLACES, "$C${}".format)
    assert steps and "$C$" in result
    assert all("{" not in text and len(text) <= 8192 for text in (*steps, result))


def test_placeholders_are_as_long_as_any_address():
    assert {len(_placeholder(kind, number)) for kind in ("name", "step") for number in (0, 999_999)} == {40}
    assert len("'Layer facts'!$XFD$1048576:$XFD$1048576") <= 40


def test_cell_names_and_kinds():
    assert cell_name("C[harness]") == "tl_c_harness_"
    assert (kind_of("macs"), kind_of("n_gpus"), kind_of("nonsense")) == ("cnn", "choice", "unknown")
