import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import Apply, evaluate, parse_text

from ...rows import each_row

floats = st.lists(st.floats(), min_size=3, max_size=3)


@given(st.from_type(Apply), floats, floats, floats)
def test_never_raises_on_numbers_and_valid_means_finite(expression, x, y, z):
    columns = {"x": np.array(x), "y": np.array(y), "z": np.array(z)}
    values, valid = evaluate(expression, columns)
    assert values.shape == valid.shape == (3,) and values.dtype == np.float64 and valid.dtype == bool
    assert np.all(np.isfinite(values[valid]))


@each_row(
    ("text", "value"),
    [
        ("x + 1", 3),
        ("x - 5", -3),
        ("x * 3", 6),
        ("x / 4", 0.5),
        ("-x", -2),
        ("abs(-x)", 2),
        ("inv(x)", 0.5),
        ("sqrt(x * 2)", 2),
        ("cbrt(-4 * x)", -2),
        ("square(x)", 4),
        ("cube(x)", 8),
        ("exp(x - 2)", 1),
        ("log(x / 2)", 0),
        ("x ^ 3", 8),
        ("min(x, 1)", 1),
        ("max(x, 1)", 2),
        ("sin(x - 2)", 0),
        ("cos(x - 2)", 1),
        ("tanh(x - 2)", 0),
        ("step(x)", 1),
        ("step(-x)", 0),
        ("step(x - 2)", 0.5),
        ("(-x) ^ 3", -8),
        ("0 ^ 0", 1),
    ],
)
def test_values(text, value):
    assert evaluate(parse_text(text), {"x": np.array([2.0])})[0] == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "1 / x",
        "inv(x)",
        "log(x)",
        "log(x - 1)",
        "sqrt(x - 1)",
        "(x - 1) ^ 0.5",
        "x ^ -1",
        "exp(x + 1000)",
        "1 / exp(x + 1000)",
        "max(1 / x, 2)",
        "min(log(x), 2)",
        "tanh(1 / x)",
        "step(1 / x)",
        "(1 / x) ^ 0",
        "1e308 * 10 + x",
        "exp(log(x))",
    ],
)
def test_invalid_where_any_node_is_not_finite(text):
    assert not evaluate(parse_text(text), {"x": np.array([0.0])})[1]


def test_invalid_input_is_invalid():
    values, valid = evaluate(parse_text("max(x, 1)"), {"x": np.array([np.nan, np.inf, -np.inf, 3.0])})
    assert valid.tolist() == [False, False, False, True] and values[3] == 3


def test_constants_take_the_shape_of_the_columns():
    assert evaluate(parse_text("2 + 3"), {"x": np.zeros(4)})[0].tolist() == [5] * 4
    assert evaluate(parse_text("2 + 3"), {})[0].tolist() == [5]
    assert evaluate(parse_text("x"), {"x": np.zeros(0)})[0].shape == (0,)


def test_result_is_a_copy():
    column = np.ones(2)
    evaluate(parse_text("x"), {"x": column})[0][0] = 5
    assert column[0] == 1
