"""The rules one by one, at the places where they change."""

import numpy as np
import pytest
from trainlaw.formulas.algebra.intervals import (
    MARGIN,
    SMALLEST,
    Interval,
    absolute,
    add,
    divide,
    exponential,
    inverse,
    multiply,
    outward,
    power,
    rising_from_zero,
    squared,
    subtract,
    wave,
)

INF = np.inf


def box(low, high, total=True):
    return Interval(float(low), float(high), total)


def ends(interval):
    return interval[:2]


def test_results_are_widened_by_no_more_than_the_error_of_an_operation():
    low, high = ends(outward(*box(1.0, 2.0)))
    assert 1.0 - 1.2 * MARGIN < low <= 1.0 - MARGIN and 2.0 + 2 * MARGIN <= high < 2.0 + 2.4 * MARGIN
    assert MARGIN == 8 * np.finfo(float).eps
    assert ends(outward(*box(0.0, 0.0))) == (0.0, 0.0)


def test_what_is_not_finite_is_not_total():
    assert [outward(*box(low, high)).total for low, high in ((-INF, 0), (0, INF), (0, 1))] == [
        False,
        False,
        True,
    ]
    assert np.isnan(ends(outward(*box(np.nan, 1.0)))).all()


def test_exact_sums_are_not_widened_and_others_by_one_float():
    assert ends(add(box(1, 2), box(0.5, 4))) == (1.5, 6.0)
    assert ends(subtract(box(1, 2), box(0.5, 4))) == (-3.0, 1.5)
    low, high = ends(add(box(0.1, 0.1), box(0.2, 0.2)))
    # 0.1 + 0.2 is rounded up, so the true sum lies below.
    assert (low, high) == (np.nextafter(0.1 + 0.2, 0.0), 0.1 + 0.2)
    low, high = ends(add(box(1.0, 1.0), box(1e-30, 1e-30)))
    assert (low, high) == (1.0, np.nextafter(1.0, 2.0))


@pytest.mark.parametrize(
    ("low", "high", "expected", "total"),
    [
        (1, 2, (0.5, 1.0), True),
        (-2, -1, (-1.0, -0.5), True),
        (0, 2, (0.5, INF), False),
        (-2, 0, (-INF, -0.5), False),
        (-1, 2, (-INF, INF), False),
    ],
)
def test_an_inverse_is_unbounded_at_zero(low, high, expected, total):
    found = inverse(box(low, high))
    assert ends(found) == pytest.approx(expected, rel=1e-14)
    assert found.total == total
    assert ends(divide(box(3, 3), box(low, high))) == pytest.approx(tuple(3 * x for x in expected), rel=1e-14)


def test_nothing_is_the_inverse_of_zero():
    assert np.isnan(ends(inverse(box(0, 0)))).all()


def test_products_take_their_extremes_at_corners_and_zero_absorbs_infinity():
    assert ends(multiply(box(-2, 3), box(-5, 4))) == pytest.approx((-15.0, 12.0), rel=1e-14)
    assert ends(multiply(box(0, 0), box(-INF, INF))) == (0.0, 0.0)
    # An underflow is no zero.
    for one, other in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
        low, high = ends(multiply(box(one * 1e-200, one * 1e-200), box(other * 1e-200, other * 1e-200)))
        assert high >= SMALLEST > 0.0 <= low if one == other else low <= -SMALLEST < 0.0 >= high


def test_products_are_rounded_outwards_but_where_they_are_exact():
    for exact in ((1.0, 0.3), (-1.0, 0.3), (0.3, 1.0), (2.0, 3.5)):
        one, other = (box(value, value) for value in exact)
        assert ends(multiply(one, other)) == (exact[0] * exact[1],) * 2
    low, high = ends(multiply(box(0.1, 0.1), box(0.3, 0.3)))
    assert low < 0.1 * 0.3 < high and high - low < 1e-17


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1, 2, (1, 2)), (-2, -1, (1, 2)), (-3, 2, (0, 3)), (0, 2, (0, 2)), (-2, 0, (0, 2))],
)
def test_sizes_and_squares(low, high, expected):
    assert ends(absolute(box(low, high))) == expected
    assert ends(squared(box(low, high))) == pytest.approx(tuple(x * x for x in expected), rel=1e-14)


def test_a_tiny_square_and_a_tiny_exponential_are_positive():
    assert squared(box(1e-200, 1e-200)).high >= SMALLEST
    assert exponential(box(-1e4, -1e4)).high >= SMALLEST
    assert squared(box(0, 0)).high == 0.0


def test_a_root_is_defined_from_zero_on():
    root = rising_from_zero(np.sqrt)
    assert ends(root(box(-4, 9))) == pytest.approx((0.0, 3.0), rel=1e-14)
    assert [root(box(low, 9)).total for low in (-1, 0, 1)] == [False, True, True]
    assert np.isnan(ends(root(box(-4, -1)))).all()
    assert ends(root(box(-4, 0))) == (0.0, 0.0)


def test_a_wave_reaches_its_crests_and_stays_between_them():
    sine, pi = wave(np.sin, np.pi / 2), np.pi
    assert ends(sine(box(0.1, 0.2))) == pytest.approx((np.sin(0.1), np.sin(0.2)), rel=1e-12)
    assert ends(sine(box(1, 2))) == (pytest.approx(np.sin(1.0)), 1.0)
    assert ends(sine(box(4, 5))) == (-1.0, pytest.approx(np.sin(4.0)))
    assert ends(sine(box(0, 2 * pi))) == (-1.0, 1.0)
    unbounded = sine(box(0, INF))
    assert ends(unbounded) == (-1.0, 1.0) and not unbounded.total


@pytest.mark.parametrize(
    ("base", "exponent", "expected", "total"),
    [
        ((2, 3), (2, 2), (4, 9), True),
        ((-3, -2), (2, 2), (4, 9), True),
        ((-3, -2), (3, 3), (-27, -8), True),
        ((-3, 2), (2, 2), (0, 9), True),
        ((-2, 3), (3, 3), (-8, 27), True),
        ((0.5, 2), (-1, 3), (0.125, 8), True),
        ((4, 9), (0.5, 0.5), (2, 3), True),
        ((-4, 9), (0.5, 0.5), (0, 3), False),
        # A negative base to exponents between 1 and 2 has values at whole exponents only, of both signs.
        ((-2, -1), (1, 2), (-4, 4), False),
    ],
)
def test_powers_of_bases_of_any_sign(base, exponent, expected, total):
    found = power(box(*base), box(*exponent))
    assert ends(found) == pytest.approx(expected, rel=1e-13)
    assert found.total == total


def test_a_negative_base_has_no_power_of_a_broken_exponent():
    assert np.isnan(ends(power(box(-2, -1), box(0.5, 0.5)))).all()
