from xml.etree import ElementTree

import pytest
from trainlaw.formulas import parse_text, variables
from trainlaw.formulas.printers.mathml import mathml_expression, mathml_symbol

CHILDREN = {"mfrac": 2, "msup": 2, "msub": 2, "mroot": 2}


def test_every_expression_is_well_formed(expressions):
    for item in expressions:
        root = ElementTree.fromstring(
            mathml_expression(item, {name: f"<mi>{name}</mi>" for name in variables(item)})
        )
        for element in root.iter():
            assert len(element) == CHILDREN.get(element.tag, len(element))
            assert (element.text is not None) == (element.tag in ("mi", "mn", "mo"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x - -2", "x\u2212(\u22122)"),
        ("1e-7 * x", "1\u00d710\u22127\u00b7x"),
        ("max(x, exp(x))", "max(x,exp(x))"),
        ("(x + 1)^2", "(x+1)2"),
        ("abs(step(x))", "|\u03b8(x)|"),
    ],
)
def test_reads(text, shown):
    element = ElementTree.fromstring(mathml_expression(parse_text(text), {"x": "<mi>x</mi>"}))
    assert "".join(element.itertext()) == shown


def test_symbols():
    assert mathml_symbol("a<b") == "<mi>a&lt;b</mi>"
    assert mathml_symbol("A_x&y") == "<msub><mi>A</mi><mi>x&amp;y</mi></msub>"
