import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import Apply, Constant, complexity, evaluate, parse_text, tidy, to_text
from trainlaw.formulas.algebra.tidying import fold_constants

from ...rows import each_row

expressions = st.from_type(Apply)
POINTS = {
    name: np.random.default_rng(seed).uniform(0.2, 3, 40) * np.where(np.arange(40) < 25, 1, -1)
    for seed, name in enumerate("xyz")
}


@each_row(
    ("text", "tidied"),
    [
        ("2 * x * y + y * x / 4 - 0 * z", "2.25 * x * y"),
        ("x / x", "1"),
        ("x - x", "0"),
        ("sqrt(4 * x)", "2 * sqrt(x)"),
        ("sqrt(x^2)", "abs(x)"),
        ("-(-x)", "x"),
        ("x * x * x", "cube(x)"),
        ("exp(log(x))", "x"),
        ("log(exp(x))", "x"),
        ("2 / (3 * x)", "0.6666666666666666 / x"),
        ("1 / (x * y)", "inv(x * y)"),
        ("3 + x + 4 - x * 2", "7 - x"),
        ("inv(inv(x))", "x"),
        ("x^2 / y^2", "square(x / y)"),
        ("max(x + 0, x)", "x"),
        ("(2 * x)^3", "8 * cube(x)"),
        ("x ^ 0", "1"),
        ("x ^ 1", "x"),
        ("1 ^ x", "1"),
        ("x + -3", "x - 3"),
        ("abs(-x)", "abs(x)"),
        ("abs(abs(x))", "abs(x)"),
        ("x^0.3 * x^0.2", "sqrt(x)"),
        ("-3 * x + y", "y - 3 * x"),
        ("sqrt(-4 * x) * 3", "6 * sqrt(-x)"),
        ("x + 2 * 3 - min(4, 5)", "x + 2"),
        ("0.5 * (4 * x + 6 * y) * z", "(2 * x + 3 * y) * z"),
        ("z - 2 * (3 * x - 4)", "z + 8 - 6 * x"),
        ("2 * (3 * x + y)", "2 * (3 * x + y)"),
    ],
)
def test_rewrites(text, tidied):
    assert to_text(tidy(parse_text(text))) == tidied


@pytest.mark.parametrize("text", ["1 / 0", "x + log(0)", "0 ^ -1", "sqrt(-1) + x"])
def test_leaves_what_is_not_finite(text):
    assert to_text(tidy(parse_text(text))) == to_text(parse_text(text))


@given(expressions)
def test_keeps_values_and_is_no_more_complex(expression):
    tidied = tidy(expression)
    assert complexity(tidied) <= complexity(expression)
    values, valid = evaluate(expression, POINTS)
    others, others_valid = evaluate(tidied, POINTS)
    # Sums may cancel, so the comparison allows for the rounding of the largest intermediate.
    ordinary = valid & (np.abs(values) > 1e-6) & (np.abs(values) < 1e6)
    exact = np.isclose(values, others, rtol=1e-6, atol=1e-6)
    assert np.mean((exact & others_valid)[ordinary]) > 0.9 if ordinary.any() else True


@given(expressions)
def test_is_stable(expression):
    once = tidy(expression)
    assert complexity(tidy(once)) <= complexity(once)
    assert tidy(expression) == once


@given(expressions)
def test_fold_constants_leaves_no_finite_constant_sum(expression):
    folded = fold_constants(expression)
    values, valid = evaluate(expression, POINTS)
    others, others_valid = evaluate(folded, POINTS)
    assert np.array_equal(valid, others_valid) and np.array_equal(values[valid], others[valid])


def test_fold_constants():
    assert fold_constants(parse_text("sqrt(2 * 8) + 1")) == Constant(5.0)
