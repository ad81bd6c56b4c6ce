import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import (
    Apply,
    Constant,
    InputError,
    UnknownNameError,
    Variable,
    constants,
    parse_text,
    to_text,
)

expressions = st.from_type(Apply)


@given(expressions)
def test_exact_text_reads_back_as_the_same_tree(expression):
    assert parse_text(to_text(expression)) == expression


@given(expressions)
def test_rounded_text_is_readable_by_the_parser(expression):
    assert len(constants(parse_text(to_text(expression, digits=3)))) == len(constants(expression))


@given(st.text(min_size=1, max_size=20))
def test_any_name_survives(name):
    assert parse_text(to_text(Apply("exp", (Variable(name),)))) == Apply("exp", (Variable(name),))


@given(st.text(alphabet="xy12.+-*/^(),e[]` \n", max_size=25))
def test_any_text_gives_a_formula_or_one_clear_line(text):
    try:
        parse_text(text)
    except (InputError, UnknownNameError) as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-2^2", "-2^2"),
        ("2^3^x", "2^3^x"),
        ("(2^3)^x", "(2^3)^x"),
        ("x - (y - z)", "x - (y - z)"),
        ("--x", "--x"),
        ("x ** -y", "x^-y"),
        ("-(2)", "-(2)"),
        ("x*-3", "x * -3"),
        ("neg(x)*y", "-x * y"),
        ("1E3", "1000"),
        ("C[harness] * x", "C[harness] * x"),
        ("max( x,min(y , 2))", "max(x, min(y, 2))"),
        (".5e-3", "0.0005"),
    ],
)
def test_reads(text, written):
    assert to_text(parse_text(text)) == written


def test_rounding_never_makes_a_number_infinite():
    assert to_text(Constant(1.7976931348623157e308), digits=3) == "1.7976931348623157e+308"
    assert to_text(Constant(6.0), digits=3) == "6"


def test_precedence():
    assert parse_text("1 - x / y ^ 2 * z").operator == "sub"
    assert parse_text("-x^2") == Apply("neg", (Apply("pow", (Variable("x"), Constant(2.0))),))
    assert parse_text("(-2)^x") == Apply("pow", (Constant(-2.0), Variable("x")))
