import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.formulas import Apply, Constant, InputError, evaluate, parse_text, to_text
from trainlaw.formulas.algebra.sympy_bridge import from_sympy, to_sympy

POINTS = {name: np.random.default_rng(seed).uniform(0.3, 2, 30) for seed, name in enumerate("xyz")}


@settings(max_examples=60)
@given(st.from_type(Apply))
def test_round_trip_keeps_values(expression):
    try:
        back = from_sympy(to_sympy(expression, "xyz"))
    except InputError:
        # sympy saw that it is complex or infinite: then it is valid nowhere, or a constant part of it is not.
        return
    values, valid = evaluate(expression, POINTS)
    others, others_valid = evaluate(back, POINTS)
    valid &= others_valid & (np.abs(values) < 1e6)
    assert np.mean(np.isclose(values, others, rtol=1e-6, atol=1e-6)[valid]) > 0.9 if valid.any() else True


@pytest.mark.parametrize(
    ("text", "back"),
    [
        ("x + y", "x + y"),
        ("sqrt(x)", "sqrt(x)"),
        ("cbrt(x)", "cbrt(x)"),
        ("1 / x", "inv(x)"),
        ("x^2", "square(x)"),
        ("max(x, max(y, 3))", "max(max(3, x), y)"),
        ("abs(x)", "abs(x)"),
        ("step(x)", "step(x)"),
        ("tanh(x)", "tanh(x)"),
        ("exp(x)", "exp(x)"),
        ("exp(1)", "2.718281828459045"),
        ("0.1 * x", "0.1 * x"),
        ("0.5", "0.5"),
        ("x^0.3", "x^0.3"),
    ],
)
def test_known(text, back):
    assert to_text(from_sympy(to_sympy(parse_text(text)))) == back


def test_numbers_are_exact():
    for value in (0.1, 1 / 3, 1e300, -2.5e-310, 12345678901234567.0, 0.0):
        assert from_sympy(to_sympy(Constant(value))) == Constant(value)


def test_positive_names():
    assert to_sympy(parse_text("sqrt(x^2)"), ["x"]) == sympy.Symbol("x", positive=True)


def test_a_number_with_arguments_is_computed_as_it_is_written():
    assert to_text(from_sympy(sympy.sqrt(2) * sympy.Symbol("x"))) == "x * sqrt(2)"
    assert from_sympy(sympy.pi).value == pytest.approx(np.pi, rel=1e-15)
    assert from_sympy(sympy.Rational(1, 3)) == Constant(1 / 3)
