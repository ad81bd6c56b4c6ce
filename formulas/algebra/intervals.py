"""Interval arithmetic over many boxes at once, rounded outwards: the rules of the operator table."""

from collections.abc import Callable
from functools import reduce
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# numpy's vector loops err by at most 4 units in the last place (numpy's NEP 38 bound for float64).
MARGIN = 2.0**-49
# The smallest positive float64 stands for a positive value that underflows.
SMALLEST = 5e-324


class Interval(NamedTuple):
    """One interval per box: every defined value lies in [low, high]; nan where there is none.

    low, high : float64, shape (n_boxes,). total : bool, shape (n_boxes,), true where the value is proved to
    be defined and finite at every point of the box.
    """

    low: Array
    high: Array
    total: NDArray[np.bool_]


def outward(low: Array, high: Array, total: NDArray[np.bool_]) -> Interval:
    """Return the interval widened by the error of one floating-point operation; an exact zero stays zero."""
    low = np.where(low == 0, low, np.nextafter(low - np.abs(low) * MARGIN, -np.inf))
    high = np.where(high == 0, high, np.nextafter(high + np.abs(high) * MARGIN, np.inf))
    empty = np.isnan(low) | np.isnan(high)
    low, high = np.where(empty, np.nan, low), np.where(empty, np.nan, high)
    return Interval(low, high, total & np.isfinite(low) & np.isfinite(high))


def hull(candidates: list[Array], total: NDArray[np.bool_]) -> Interval:
    """Return the interval from the smallest to the largest candidate; nan in any makes it empty."""
    return outward(reduce(np.minimum, candidates), reduce(np.maximum, candidates), total)


def corners(function: Callable[..., Array], signs: tuple[int, ...]) -> Callable[..., Interval]:
    """Return the rule of a function defined everywhere that rises (+1) or falls (-1) in each argument."""

    def rule(*arguments: Interval) -> Interval:
        pairs = list(zip(arguments, signs, strict=True))
        low = function(*(item.low if sign > 0 else item.high for item, sign in pairs))
        high = function(*(item.high if sign > 0 else item.low for item, sign in pairs))
        return outward(low, high, reduce(np.logical_and, (item.total for item in arguments)))

    return rule


def rising_from_zero(function: Callable[[Array], Array]) -> Callable[[Interval], Interval]:
    """Return the rule of a function that rises and is defined from zero upwards only."""

    def rule(a: Interval) -> Interval:
        low = np.where(a.high < 0, np.nan, np.maximum(a.low, 0.0))
        return outward(function(low), function(np.where(a.high < 0, np.nan, a.high)), a.total & (a.low >= 0))

    return rule


def exponential(a: Interval) -> Interval:
    """Return e**a; an underflow to zero still leaves room for the true, positive value."""
    return outward(np.exp(a.low), np.maximum(np.exp(a.high), SMALLEST), a.total)


def add(a: Interval, b: Interval) -> Interval:
    """Return a+b, rounded outwards only where the floating-point sum is not exact."""
    low, high = a.low + b.low, a.high + b.high
    low = np.where(_rounding_error(a.low, b.low, low) < 0, np.nextafter(low, -np.inf), low)
    high = np.where(_rounding_error(a.high, b.high, high) > 0, np.nextafter(high, np.inf), high)
    return Interval(low, high, a.total & b.total & np.isfinite(low) & np.isfinite(high))


def _rounding_error(a: Array, b: Array, total: Array) -> Array:
    """Return the rounding error of the floating-point sum `total` of a and b, exactly (Knuth's two-sum)."""
    back = total - a
    return (a - (total - back)) + (b - back)


def subtract(a: Interval, b: Interval) -> Interval:
    """Return a-b."""
    return add(a, negate(b))


def negate(a: Interval) -> Interval:
    """Return -a."""
    return Interval(-a.high, -a.low, a.total)


def _times(a: Array, b: Array) -> Array:
    """Return a*b as an end of an interval: 0 times infinity is 0, and an underflow keeps its sign."""
    zero = ((a == 0) & ~np.isnan(b)) | ((b == 0) & ~np.isnan(a))
    value = np.where(zero, 0.0, a * b)
    return np.where((value == 0) & ~zero, np.sign(a) * np.sign(b) * SMALLEST, value)


def multiply(a: Interval, b: Interval) -> Interval:
    """Return a*b, rounded outwards but where all ends have so few digits that their products are exact."""
    products = [_times(x, y) for x, y in product((a.low, a.high), (b.low, b.high))]
    wide = hull(products, a.total & b.total)
    exact = reduce(np.logical_and, (end.astype(np.float32) == end for end in (a.low, a.high, b.low, b.high)))
    low = np.where(exact, reduce(np.minimum, products), wide.low)
    return Interval(low, np.where(exact, reduce(np.maximum, products), wide.high), wide.total)


def inverse(a: Interval) -> Interval:
    """Return 1/a; unbounded, and not total, where a touches zero."""
    nowhere = (a.low == 0) & (a.high == 0)
    low = np.where((a.low < 0) & (a.high >= 0), -np.inf, 1.0 / a.high)
    high = np.where((a.low <= 0) & (a.high > 0), np.inf, 1.0 / a.low)
    total = a.total & ~((a.low <= 0) & (a.high >= 0))
    return outward(np.where(nowhere, np.nan, low), np.where(nowhere, np.nan, high), total)


def divide(a: Interval, b: Interval) -> Interval:
    """Return a/b."""
    return multiply(a, inverse(b))


def absolute(a: Interval) -> Interval:
    """Return |a|."""
    across = (a.low < 0) & (a.high > 0)
    low = np.where(across, 0.0, np.minimum(np.abs(a.low), np.abs(a.high)))
    return Interval(low, np.maximum(np.abs(a.low), np.abs(a.high)), a.total)


def squared(a: Interval) -> Interval:
    """Return a**2; an underflow to zero still leaves room for the true, positive value."""
    size = absolute(a)
    return outward(
        size.low**2, np.where(size.high > 0, np.maximum(size.high**2, SMALLEST), size.high), a.total
    )


def wave(function: Callable[[Array], Array], crest: float) -> Callable[[Interval], Interval]:
    """Return the rule of a sine-like `function` between -1 and 1 whose maxima lie at `crest` + 2 pi k."""

    def reaches(a: Interval, point: float) -> NDArray[np.bool_]:
        # Widened, so that a maximum lost to rounding is counted rather than missed.
        slack = 1e-9 * (1.0 + np.maximum(np.abs(a.low), np.abs(a.high)))
        return np.ceil((a.low - slack - point) / (2 * np.pi)) <= np.floor(
            (a.high + slack - point) / (2 * np.pi)
        )

    def rule(a: Interval) -> Interval:
        unbounded = np.isinf(a.low) | np.isinf(a.high)
        ends = function(a.low), function(a.high)
        low = np.where(unbounded | reaches(a, crest + np.pi), -1.0, np.minimum(*ends))
        high = np.where(unbounded | reaches(a, crest), 1.0, np.maximum(*ends))
        widened = outward(low, high, a.total & ~unbounded)
        return Interval(np.maximum(widened.low, -1.0), np.minimum(widened.high, 1.0), widened.total)

    return rule


def _power_range(low: Array, high: Array, b: Interval) -> tuple[Array, Array]:
    """Return the ends of base**b for a base in [low, high], low >= 0: monotone in each, so corners do."""
    values = [np.power(x, y) for x, y in product((low, high), (b.low, b.high))]
    largest = reduce(np.maximum, values)
    return reduce(np.minimum, values), np.where(high > 0, np.maximum(largest, SMALLEST), largest)


def power(a: Interval, b: Interval) -> Interval:
    """Return a**b; a negative base is total only where the exponent is one whole number."""
    fixed = b.low == b.high
    whole = fixed & (b.low == np.round(b.low))
    odd = np.mod(b.low, 2) == 1
    below, above = a.high < 0, a.low >= 0
    # Below zero a fixed exponent that is no whole number gives nothing at all.
    undefined = above | (fixed & ~whole)
    low, high = _power_range(
        np.where(below, np.nan, np.maximum(a.low, 0)), np.where(below, np.nan, a.high), b
    )
    least, most = _power_range(
        np.where(undefined, np.nan, np.maximum(-a.high, 0)), np.where(undefined, np.nan, -a.low), b
    )
    low = np.fmin(low, np.where(whole & ~odd, least, -most))
    high = np.fmax(high, np.where(whole & odd, -least, most))
    return outward(low, high, a.total & b.total & (above | whole))
