"""Bounds of an expression over boxes of its variables, by interval arithmetic rounded outwards."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.algebra.expression import Constant, Expression, fold, variables
from trainlaw.formulas.algebra.intervals import Interval
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.errors import InputError, check_name, shown

Box = Mapping[str, tuple[float, float]]
Ranges = Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]


def bounds(expression: Expression, box: Box) -> tuple[float, float]:
    """Return bounds between which every valid value of the expression over a box lies.

    The bounds are sound, not tight: an expression in which a variable occurs twice may get wider ones than
    necessary.

    Parameters
    ----------
    expression : Expression
        Any expression.
    box : mapping of str to (float, float)
        Lowest and highest value per variable, in its unit.

    Returns
    -------
    tuple of float
        (low, high), both nan where the expression is valid nowhere in the box.

    Raises
    ------
    UnknownNameError
        If a variable has no range.
    InputError
        If a range is empty.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> low, high = bounds(parse_text("x * y"), {"x": (1, 2), "y": (-1, 3)})
    >>> low <= -2 < -1.99, high >= 6
    (True, True)
    """
    interval = enclose(expression, one_box(check_box(expression, box)))
    return float(interval.low[0]), float(interval.high[0])


def check_box(expression: Expression, box: Box) -> dict[str, tuple[float, float]]:
    """Return the range of each variable of the expression, sorted by name; raises as `bounds`."""
    found = {}
    for name in variables(expression):
        check_name("variable with a range", name, box)
        low, high = (float(end) for end in box[name])
        if not low <= high:
            raise InputError(f"expected low <= high as range of {shown(name)}, got {low} and {high}")
        found[name] = low, high
    return found


def one_box(box: Box) -> Ranges:
    """Return a box as the ranges of one box for `enclose`, each end of shape (1,)."""
    return {name: (np.array([low]), np.array([high])) for name, (low, high) in box.items()}


def enclose(expression: Expression, ranges: Ranges) -> Interval:
    """Return bounds over many boxes at once.

    ranges : per variable its lower and upper ends, each float64 of shape (n_boxes,); shape (1,) without
    variables.
    """
    shape = next((low.shape for low, _ in ranges.values()), (1,))
    everywhere = np.ones(shape, dtype=bool)

    def point(node: Constant) -> Interval:
        value = np.full(shape, node.value)
        return Interval(value, value, everywhere & np.isfinite(value))

    # Empty and unbounded intervals give nan and inf on purpose.
    with np.errstate(all="ignore"):
        return fold(
            expression,
            point,
            lambda node: Interval(*ranges[node.name], everywhere),
            lambda node, arguments: OPERATORS[node.operator].enclose(*arguments),
        )
