"""Simple numbers in place of fitted ones, where the rows do not speak against them."""

import math
from collections.abc import Callable

from trainlaw.formulas import Expression, constants
from trainlaw.formulas.algebra.expression import with_constants

# Numbers that occur in laws, with either sign; 0 drops a term.
_QUOTIENTS = {n / d for n in range(1, 13) for d in (1, 2, 3, 4)}
SIMPLE = sorted(
    _QUOTIENTS | {math.pi * q for q in (0.25, 0.5, 1.0, 2.0, 4.0)} | {math.sqrt(2.0), math.sqrt(0.5)}
)
# A number is only replaced by one this near, as a share of it: the rows may say little about it.
NEAR = 0.05


def snapped(
    expression: Expression,
    loss_of: Callable[[Expression], float],
    row_count: int,
    is_late: Callable[[], bool] = lambda: False,
) -> tuple[Expression, float]:
    """Return the expression with constants replaced by 0 or by simple numbers, and its loss.

    is_late : whether no further constant is to be tried.

    A replacement may raise the logarithm of the loss by log n / n: what a constant costs in a description of
    n rows (Rissanen, 1978). Other constants stay as they are.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> off = lambda trial: 1.0 + sum(abs(value - 2.0) for value in constants(trial))
    >>> to_text(snapped(parse_text("2.001 * x"), off, 1000)[0])
    '2 * x'
    """
    values = list(constants(expression))
    loss = loss_of(expression)
    factor = 1.0 + math.log(row_count) / row_count
    allowed = loss * factor
    for position, value in enumerate(values):
        if is_late():
            break
        for simple in (0.0, _nearest(value)):
            if simple is None or simple == value:
                continue
            trial = with_constants(expression, [*values[:position], simple, *values[position + 1 :]])
            now = loss_of(trial)
            if now <= allowed:
                values[position] = simple
                expression, loss, allowed = trial, now, allowed * factor
                break
    return expression, loss


def _nearest(value: float) -> float | None:
    """Return the simple number nearest to `value`, or None where none is near."""
    found = min(SIMPLE, key=lambda simple: abs(simple - abs(value)))
    near = abs(found - abs(value)) <= NEAR * found
    return math.copysign(found, value) if near else None
