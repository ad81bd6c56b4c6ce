import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import Apply, evaluate, parse_text
from trainlaw.formulas.proofs.enclosure import check_box, enclose

ends = st.sampled_from([-1e6, -7.5, -2.0, -1.0, -0.25, 0.0, 0.25, 1.0, 2.0, 7.5, 1e6])
ranges = st.tuples(ends, ends).map(sorted)


def bounds(expression, box):
    return enclose(expression, check_box(expression, box))[:2]


@given(st.from_type(Apply), ranges, ranges, ranges, st.integers(0, 1000))
def test_no_value_leaves_the_bounds(expression, x, y, z, seed):
    generator = np.random.default_rng(seed)
    box = {"x": x, "y": y, "z": z}
    shares = {name: np.concatenate([[0, 1], generator.uniform(size=200)]) for name in box}
    points = {
        name: box[name][0] + generator.permutation(shares[name]) * (box[name][1] - box[name][0])
        for name in box
    }
    low, high = bounds(expression, box)
    values, valid = evaluate(expression, points)
    assert np.all(values[valid] >= low) and np.all(values[valid] <= high)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("x + y", -1, 5),
        ("x * y", -4, 6),
        ("x - y", -2, 4),
        ("square(y)", 0, 9),
        ("abs(y)", 0, 3),
        ("sqrt(y)", 0, 3**0.5),
        ("1 / x", 0.5, 1),
        ("x ^ y", 0.25, 8),
        ("min(x, y)", -2, 2),
        ("sin(10 * y)", -1, 1),
        ("cos(x)", np.cos(2), np.cos(1)),
        ("y ^ 2", 0, 9),
        ("y ^ 3", -8, 27),
        ("exp(y)", np.exp(-2), np.exp(3)),
        ("step(x)", 1, 1),
        ("tanh(0 * x)", 0, 0),
    ],
)
def test_tight_where_each_variable_occurs_once(text, low, high):
    assert bounds(parse_text(text), {"x": (1, 2), "y": (-2, 3)}) == pytest.approx(
        (low, high), rel=1e-12, abs=1e-300
    )


def test_unbounded_and_empty():
    assert bounds(parse_text("1 / y"), {"y": (-1, 1)}) == (-np.inf, np.inf)
    assert bounds(parse_text("1 / y"), {"y": (0, 1)}) == (pytest.approx(1), np.inf)
    assert np.isnan(bounds(parse_text("log(y)"), {"y": (-3, -2)})).all()
    assert np.isnan(bounds(parse_text("1 / y"), {"y": (0, 0)})).all()
    assert bounds(parse_text("y ^ 0.5"), {"y": (-4, 4)}) == (0, pytest.approx(2))
