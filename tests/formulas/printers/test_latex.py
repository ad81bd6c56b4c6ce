import re

import pytest
from trainlaw.formulas import parse_text, variables
from trainlaw.formulas.printers.latex import escaped, latex_expression, latex_symbol, print_latex

SYMBOLS = {"x": "x", "y": "y", "z": r"z_{\mathrm{a}}"}


def balanced(text):
    """Whether braces pair up and every \\left has its \\right."""
    level = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        level += 1 if brace == "{" else -1
        if level < 0:
            return False
    return level == 0 and len(re.findall(r"\\left\b", text)) == len(re.findall(r"\\right\b", text))


def test_every_expression_is_well_formed(expressions):
    mathtext = pytest.importorskip("matplotlib.mathtext", reason="needs matplotlib, which is not installed")
    parser = mathtext.MathTextParser("path")
    for item in expressions[:50]:
        text = latex_expression(item, {name: SYMBOLS[name] for name in variables(item)})
        assert balanced(text)
        parser.parse(f"${text}$")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x / (y + 2)", r"\frac{x}{y + 2}"),
        ("(x + y) * -2", r"\left(x + y\right) \cdot \left(-2\right)"),
        ("(x^2)^y", r"\left(x^{2}\right)^{y}"),
        ("1.23456e-7 * x", r"1.23 \times 10^{-7} \cdot x"),
        ("sqrt(abs(x))", r"\sqrt{\left|x\right|}"),
        ("-(x - y)", r"-\left(x - y\right)"),
        ("cube(x + 1)", r"\left(x + 1\right)^{3}"),
        ("(2e9 * x)^2", r"\left(2 \times 10^{9} \cdot x\right)^{2}"),
        ("square(-x)", r"\left(-x\right)^{2}"),
    ],
)
def test_written(text, written):
    assert latex_expression(parse_text(text), {"x": "x", "y": "y"}) == written


def test_digits():
    assert latex_expression(parse_text("1.23456 * x"), {"x": "x"}, digits=None) == r"1.23456 \cdot x"


@pytest.mark.parametrize(
    ("symbol", "written"),
    [
        ("b", "b"),
        ("W_conv", r"W_{\mathrm{conv}}"),
        ("\u03c1", r"\rho"),
        ("\u03bb", r"\lambda"),
        ("peak", r"\mathrm{peak}"),
        ("a_b_c", r"a_{\mathrm{b\_c}}"),
        ("$", r"\mathrm{\$}"),
        ("_", r"\mathrm{\_}"),
        ("\u0416", "\\mathrm{\u0416}"),
    ],
)
def test_symbols(symbol, written):
    assert latex_symbol(symbol) == written


def test_table_of_symbols(law):
    text = print_latex(law)
    assert r"$b$ & $\mathrm{sample}$ & images per iteration \\" in text
    assert r"t = \frac{6.12 \cdot b \cdot M}{P} + \frac{2.5 \cdot A}{B} + 0.001" in text
    assert balanced(text)


def test_specials_are_escaped():
    assert balanced(escaped("\\input{x} $ & # _ ^ ~ % <>"))
    assert escaped("\\input{x}") == r"\textbackslash{}input\{x\}"
