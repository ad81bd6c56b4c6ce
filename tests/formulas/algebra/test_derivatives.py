import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import Apply, Constant, derivative, evaluate, parse_text, to_text
from trainlaw.formulas.algebra.derivatives import value_and_slopes


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("3 * x^2 + exp(y)", "6 * x"),
        ("y", "0"),
        ("7", "0"),
        ("x", "1"),
        ("x * y", "y"),
        ("sin(x)", "cos(x)"),
        ("x^3 / 3", "square(x)"),
        ("log(x)", "inv(x)"),
        ("max(x, y)", "step(x - y)"),
        ("step(x)", "0"),
        ("-x", "-1"),
    ],
)
def test_known(text, slope):
    assert to_text(derivative(parse_text(text), "x")) == slope


@given(st.from_type(Apply), st.integers(0, 1000))
def test_agrees_with_central_differences(expression, seed):
    generator = np.random.default_rng(seed)
    points = {name: generator.uniform(0.3, 3, 60) for name in "xyz"}
    slope, valid = evaluate(derivative(expression, "x"), points)
    differences = []
    for step in (1e-5, 2e-5):
        above, above_valid = evaluate(expression, {**points, "x": points["x"] + step})
        below, below_valid = evaluate(expression, {**points, "x": points["x"] - step})
        valid &= above_valid & below_valid & (np.abs(above) < 1e6)
        with np.errstate(all="ignore"):
            differences.append((above - below) / (2 * step))
    with np.errstate(all="ignore"):
        smooth = np.isclose(*differences, rtol=1e-5, atol=1e-6) & (np.abs(slope) < 1e6)
    # A kink or a jump near a point spoils its difference; those are few.
    agree = np.isclose(slope, differences[0], rtol=1e-3, atol=1e-3)
    usable = valid & smooth
    assert np.mean(agree[usable]) > 0.9 if usable.any() else True


def test_kink_is_the_mean_of_both_sides():
    slope = derivative(parse_text("abs(x)"), "x")
    assert evaluate(slope, {"x": np.array([-2.0, 0.0, 2.0])})[0].tolist() == [-1, 0, 1]


def test_unknown_variable_gives_zero():
    assert derivative(parse_text("x"), "q") == Constant(0.0)


@given(st.from_type(Apply), st.integers(0, 100))
def test_accumulated_slopes_are_those_of_the_derivatives(expression, seed):
    generator = np.random.default_rng(seed)
    columns = {name: generator.uniform(0.5, 2.0, 20) for name in "xyz"}
    value, slopes = value_and_slopes(expression, columns, ["x", "y"])
    np.testing.assert_array_equal(np.broadcast_to(value, 20), evaluate(expression, columns)[0])
    for name, slope in slopes.items():
        exact, valid = evaluate(derivative(expression, name), columns)
        valid &= np.isfinite(slope) & (np.abs(exact) < 1e100)
        np.testing.assert_allclose(np.broadcast_to(slope, 20)[valid], exact[valid], rtol=1e-5, atol=1e-5)
