"""Where an expression never falls in a variable, read from its structure: functions of trends.

Unlike the sign of the derivative this copes with jumps and with slopes that are infinite at an end of a
range.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.derivatives import partials
from trainlaw.formulas.enclosure import Ranges, enclose
from trainlaw.formulas.expression import Apply, Constant, Expression, Variable, fold
from trainlaw.formulas.intervals import Interval
from trainlaw.formulas.operators import OPERATORS

Flags = NDArray[np.bool_]


class _Trend(NamedTuple):
    """Per box: bounds, and whether the value never falls and never rises; both where it does not change."""

    interval: Interval
    rising: Flags
    falling: Flags


def never_falls(expression: Expression, name: str, boxes: Ranges) -> tuple[Flags, Flags]:
    """Return whether the expression is valid all over each box, and proved never to fall in `name`.

    boxes : per variable its lower and upper ends, each float64 of shape (n_boxes,). Both results: shape
    (n_boxes,).
    """
    always = np.ones_like(boxes[name][0], dtype=bool)

    def leaf(node: Constant | Variable) -> _Trend:
        moves = isinstance(node, Variable) and node.name == name
        return _Trend(enclose(node, boxes), always, ~always if moves else always)

    with np.errstate(all="ignore"):
        trend = fold(expression, leaf, leaf, _combined)
    return trend.interval.total, trend.rising & trend.interval.total


def _combined(node: Apply, trends: tuple[_Trend, ...]) -> _Trend:
    """Return the trend of an operator over arguments with known trends."""
    row = OPERATORS[node.operator]
    interval = row.enclose(*(trend.interval for trend in trends))
    rising = falling = interval.total
    for index, trend in enumerate(trends):
        still = trend.rising & trend.falling
        if not np.all(still):
            up, down = _slope_signs(node.operator, index, [item.interval for item in trends])
            rising = rising & (still | (trend.rising & up) | (trend.falling & down))
            falling = falling & (still | (trend.falling & up) | (trend.rising & down))
    return _Trend(interval, rising, falling)


def _slope_signs(operator: str, index: int, intervals: list[Interval]) -> tuple[Flags, Flags]:
    """Return where an operator never falls, and never rises, in one of arguments within `intervals`.

    Where the operator is valid all over a box it is continuous there, steps apart, which have a monotonicity
    of their own in the table: the sign of the partial derivative decides, also if that is undefined at an
    end.
    """
    monotone = OPERATORS[operator].monotonicity[index]
    if monotone:
        shape = intervals[0].low.shape
        return np.full(shape, monotone > 0), np.full(shape, monotone < 0)
    ranges = {name: (item.low, item.high) for name, item in zip("ab", intervals, strict=False)}
    slope = enclose(partials(operator)[index], ranges)
    return slope.low >= 0, slope.high <= 0
