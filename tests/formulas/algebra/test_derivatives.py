import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import Apply, evaluate, parse_text
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
    points = {name: np.array([0.5, 1.0, 2.0]) for name in "xy"}
    found = slope_of(text, points)
    np.testing.assert_allclose(np.broadcast_to(found, 3), evaluate(parse_text(slope), points)[0], rtol=1e-14)


def slope_of(text, points):
    return value_and_slopes(parse_text(text), points, ["x"])[1]["x"]


@given(st.from_type(Apply), st.integers(0, 1000))
def test_agrees_with_central_differences(expression, seed):
    generator = np.random.default_rng(seed)
    points = {name: generator.uniform(0.3, 3, 60) for name in "xyz"}
    value, slopes = value_and_slopes(expression, points, ["x", "y"])
    exact, valid = evaluate(expression, points)
    np.testing.assert_array_equal(np.broadcast_to(value, 60), exact)
    slope = np.broadcast_to(slopes["x"], 60)
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
    assert slope_of("abs(x)", {"x": np.array([-2.0, 0.0, 2.0])}).tolist() == [-1, 0, 1]


def test_unknown_variable_gives_zero():
    assert value_and_slopes(parse_text("x"), {"x": np.ones(2)}, ["q"])[1]["q"].tolist() == [0.0, 0.0]
