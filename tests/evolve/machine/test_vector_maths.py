import math

import numpy as np
import pytest
from trainlaw.evolve.machine import vector_maths

GENERATOR = np.random.default_rng(0)
WIDE = 10.0 ** GENERATOR.uniform(-300, 300, 4000)
TINY = 10.0 ** GENERATOR.uniform(-323, -280, 1000)
SPECIAL = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-310, 1e308, -1.0, 1.0])
CASES = [
    ("exponential", np.exp, np.concatenate([GENERATOR.uniform(-700, 709, 4000), SPECIAL]), 2),
    ("logarithm", np.log, np.concatenate([WIDE, GENERATOR.uniform(0.5, 2, 4000), SPECIAL]), 2),
    ("sine", np.sin, GENERATOR.uniform(-1000, 1000, 4000), 3),
    ("cosine", np.cos, GENERATOR.uniform(-9e5, 9e5, 4000), 3),
    ("hyperbolic_tangent", np.tanh, np.concatenate([GENERATOR.normal(size=4000), SPECIAL]), 3),
    ("hyperbolic_tangent", np.tanh, 10.0 ** GENERATOR.uniform(-300, 2, 4000), 3),
    # numpy's own is off by up to one unit more on some processors.
    ("cube_root", np.cbrt, np.concatenate([GENERATOR.normal(size=4000), WIDE, SPECIAL]), 3),
]


@pytest.mark.parametrize(("name", "reference", "x", "most_ulp"), CASES)
def test_functions_agree_with_numpy_to_a_few_units_in_the_last_place(name, reference, x, most_ulp):
    function = getattr(vector_maths, name)
    with np.errstate(all="ignore"):
        expected = reference(x)
    found = np.array([function(value) for value in x])
    finite = np.isfinite(expected)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True)
    assert np.max(np.abs(found - expected)[finite] / np.spacing(np.abs(expected[finite]))) <= most_ulp


@pytest.mark.parametrize("exponent", [2.0, 3.0, -1.0, 0.5, 0.0, -2.5, 1.0])
def test_power_agrees_with_numpy_for_any_base(exponent):
    base = np.concatenate([GENERATOR.normal(size=500) * 10, [0.0, 1.0, -1.0, math.nan]])
    with np.errstate(all="ignore"):
        expected = np.power(base, exponent)
    if exponent == 0.0:
        expected[np.isnan(base)] = math.nan
    found = np.array([vector_maths.power(value, exponent) for value in base])
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_extrema_keep_what_is_not_a_number():
    for function in (vector_maths.larger, vector_maths.smaller):
        assert math.isnan(function(math.nan, 1.0))
        assert math.isnan(function(1.0, math.nan))
    assert vector_maths.larger(1.0, 2.0) == 2.0
    assert vector_maths.smaller(1.0, 2.0) == 1.0


def test_angles_beyond_the_reduction_are_invalid():
    assert math.isnan(vector_maths.sine(2e6))


def test_the_cosine_of_nothing_is_exactly_one():
    assert vector_maths.cosine(0.0) == 1.0
    assert vector_maths.sine(0.0) == 0.0


@pytest.mark.parametrize(("x", "expected"), [(709.7, True), (709.79, False), (-707.0, True), (-709.0, False)])
def test_the_exponential_keeps_its_range(x, expected):
    found = vector_maths.exponential(x)
    assert (0.0 < found < math.inf) == expected
    assert found == pytest.approx(math.exp(x) if x < 709.78 else math.inf, rel=1e-15, abs=1e-307)
