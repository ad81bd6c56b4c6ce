"""Interval arithmetic, rounded outwards: the rules of the operator table."""

import math
from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

import numpy as np

# numpy's functions err by at most 4 units in the last place (numpy's NEP 38 bound for float64).
MARGIN = 2.0**-49
# The smallest positive float64 stands for a positive value that underflows.
SMALLEST = 5e-324


class Interval(NamedTuple):
    """Every defined value lies in [low, high]; both are nan where there is none.

    total : whether the value is proved to be defined and finite everywhere.
    """

    low: float
    high: float
    total: bool = True


EMPTY = Interval(math.nan, math.nan, False)


def _interval(low: float, high: float, total: bool) -> Interval:
    """Return an interval, the empty one where an end is nan."""
    if math.isnan(low) or math.isnan(high):
        return EMPTY
    return Interval(low, high, total and math.isfinite(low) and math.isfinite(high))


def outward(low: float, high: float, total: bool, margin: float = MARGIN) -> Interval:
    """Return the interval widened by the error of one operation; an exact zero stays zero.

    margin : relative error of the operation beyond that of rounding.
    """
    return _interval(_moved(float(low), -margin, -math.inf), _moved(float(high), margin, math.inf), total)


def _moved(end: float, margin: float, towards: float) -> float:
    is_exact = end == 0 or math.isinf(end)
    return end if is_exact else math.nextafter(end + abs(end) * margin, towards)


def hull(candidates: Iterable[float]) -> tuple[float, float]:
    """Return the smallest and the largest candidate; nan where any is."""
    values = list(candidates)
    return (math.nan, math.nan) if any(map(math.isnan, values)) else (min(values), max(values))


def corners(function: Callable[..., float], signs: tuple[int, ...]) -> Callable[..., Interval]:
    """Return the rule of a function defined everywhere that rises (+1) or falls (-1) in each argument."""

    def rule(*arguments: Interval) -> Interval:
        pairs = list(zip(arguments, signs, strict=True))
        low = function(*(item.low if sign > 0 else item.high for item, sign in pairs))
        high = function(*(item.high if sign > 0 else item.low for item, sign in pairs))
        return outward(low, high, all(item.total for item in arguments))

    return rule


def rising_from_zero(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    """Return the rule of a function that rises and is defined from zero upwards only."""

    def rule(a: Interval) -> Interval:
        if a.high < 0:
            return EMPTY
        return outward(function(max(0.0, a.low)), function(a.high), a.total and a.low >= 0)

    return rule


def exponential(a: Interval) -> Interval:
    """Return e**a; an underflow to zero still leaves room for the true, positive value."""
    return outward(np.exp(a.low), max(np.exp(a.high), SMALLEST), a.total)


def add(a: Interval, b: Interval) -> Interval:
    """Return a+b, rounded outwards only where the floating-point sum is not exact."""
    low, high = a.low + b.low, a.high + b.high
    if _rounding_error(a.low, b.low, low) < 0:
        low = math.nextafter(low, -math.inf)
    if _rounding_error(a.high, b.high, high) > 0:
        high = math.nextafter(high, math.inf)
    return _interval(low, high, a.total and b.total)


def _rounding_error(a: float, b: float, total: float) -> float:
    """Return the rounding error of the sum `total` of a and b, exactly (Knuth's two-sum)."""
    back = total - a
    return (a - (total - back)) + (b - back)


def subtract(a: Interval, b: Interval) -> Interval:
    """Return a-b."""
    return add(a, negate(b))


def negate(a: Interval) -> Interval:
    """Return -a."""
    return Interval(-a.high, -a.low, a.total)


def multiply(a: Interval, b: Interval) -> Interval:
    """Return a*b, rounded outwards but where the products of the ends are exact."""
    ends = [_product(x, y) for x in a[:2] for y in b[:2]]
    low, high = hull(low for low, _ in ends)[0], hull(high for _, high in ends)[1]
    return _interval(low, high, a.total and b.total)


def _product(x: float, y: float) -> tuple[float, float]:
    """Return bounds of x*y: 0 times infinity is 0, and an underflow keeps its sign."""
    if math.isnan(x) or math.isnan(y):
        return math.nan, math.nan
    if x == 0 or y == 0:
        return 0.0, 0.0
    value = x * y or math.copysign(SMALLEST, x) * math.copysign(1.0, y)
    if 1.0 in (abs(x), abs(y)) or math.isinf(value) or (_is_short(x) and _is_short(y)):
        return value, value
    return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)


def _is_short(number: float) -> bool:
    """Return whether a number has so few digits that its product with another such is exact."""
    return (math.frexp(number)[0] * 2.0**24).is_integer()


def inverse(a: Interval) -> Interval:
    """Return 1/a; unbounded, and not total, where a touches zero."""
    if a.low == 0 == a.high:
        return EMPTY
    low = -math.inf if a.low < 0 <= a.high else 1.0 / a.high
    high = math.inf if a.low <= 0 < a.high else 1.0 / a.low
    return outward(low, high, a.total and not a.low <= 0 <= a.high, margin=0.0)


def divide(a: Interval, b: Interval) -> Interval:
    """Return a/b."""
    return multiply(a, inverse(b))


def absolute(a: Interval) -> Interval:
    """Return |a|."""
    low, high = hull((abs(a.low), abs(a.high)))
    return Interval(0.0 if a.low < 0 < a.high else low, high, a.total)


def squared(a: Interval) -> Interval:
    """Return a**2; an underflow to zero still leaves room for the true, positive value."""
    low, high, total = absolute(a)
    return outward(low * low, max(high * high, SMALLEST) if high > 0 else high, total)


def wave(function: Callable[[float], float], crest: float) -> Callable[[Interval], Interval]:
    """Return the rule of a sine-like `function` between -1 and 1 whose maxima lie at `crest` + 2 pi k."""

    def reaches(a: Interval, point: float) -> bool:
        # Widened, so that a maximum lost to rounding is counted rather than missed.
        slack = 1e-9 * (1.0 + max(abs(a.low), abs(a.high)))
        first, last = a.low - slack - point, a.high + slack - point
        return math.ceil(first / math.tau) <= math.floor(last / math.tau)

    def rule(a: Interval) -> Interval:
        if math.isnan(a.low):
            return EMPTY
        if math.isinf(a.low) or math.isinf(a.high):
            return Interval(-1.0, 1.0, False)
        low, high, total = outward(*hull((function(a.low), function(a.high))), a.total)
        low = -1.0 if reaches(a, crest + math.pi) else max(low, -1.0)
        return Interval(low, 1.0 if reaches(a, crest) else min(high, 1.0), total)

    return rule


def _power_range(low: float, high: float, b: Interval) -> tuple[float, float]:
    """Return the ends of base**b for a base in [low, high], low >= 0: monotone in each, so corners do."""
    least, most = hull(float(np.power(x, y)) for x, y in product((low, high), b[:2]))
    return least, max(most, SMALLEST) if high > 0 else most


def power(a: Interval, b: Interval) -> Interval:
    """Return a**b; a negative base is total only where the exponent is one whole number."""
    is_fixed = b.low == b.high
    is_whole = is_fixed and float(b.low).is_integer()
    parts = [_power_range(max(0.0, a.low), a.high, b)] if a.high >= 0 else []
    # Below zero a fixed exponent that is no whole number gives nothing at all.
    if a.low < 0 and (is_whole or not is_fixed):
        least, most = _power_range(max(0.0, -a.high), -a.low, b)
        is_odd = is_whole and b.low % 2 == 1
        parts.append((-most if is_odd or not is_whole else least, -least if is_odd else most))
    known = [part for part in parts if not math.isnan(part[0])]
    if not known:
        return EMPTY
    total = a.total and b.total and (a.low >= 0 or is_whole)
    return outward(min(low for low, _ in known), max(high for _, high in known), total)
