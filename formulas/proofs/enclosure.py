"""Bounds of an expression over boxes of its variables, by interval arithmetic rounded outwards."""

import math
from collections.abc import Mapping

import numpy as np
from trainlaw.formulas.algebra.expression import Expression, fold, variables
from trainlaw.formulas.algebra.intervals import Interval
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.errors import InputError, check_name, shown

Box = Mapping[str, tuple[float, float]]


def check_box(expression: Expression, box: Box) -> dict[str, tuple[float, float]]:
    """Return the range of each variable of the expression, sorted by name.

    UnknownNameError for a variable without a range, InputError for an empty range.
    """
    found = {}
    for name in variables(expression):
        check_name("variable with a range", name, box)
        low, high = (float(end) for end in box[name])
        if not low <= high:
            raise InputError(f"expected low <= high as range of {shown(name)}, got {low} and {high}")
        found[name] = low, high
    return found


def enclose(expression: Expression, box: Box) -> Interval:
    """Return bounds over a box with the range of each variable, and whether all values are defined.

    Every valid value lies between the bounds, which are nan where none is valid. An expression in which a
    variable occurs twice may get wider ones than necessary.

    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> low, high, _ = enclose(parse_text("x * y"), {"x": (1, 2), "y": (-1, 3)})
    >>> low <= -2 < -1.99, high >= 6
    (True, True)
    """
    # Empty and unbounded intervals give nan and inf on purpose.
    with np.errstate(all="ignore"):
        return fold(
            expression,
            lambda node: Interval(node.value, node.value, math.isfinite(node.value)),
            lambda node: Interval(*box[node.name]),
            lambda node, arguments: OPERATORS[node.operator].enclose(*arguments),
        )
