"""Simple numbers in place of fitted ones, where the rows do not speak against them."""

import math
from collections.abc import Callable, Iterable, Iterator

from trainlaw.formulas import Expression, constants
from trainlaw.formulas.algebra.expression import with_constants
from trainlaw.formulas.algebra.tidying import rounded

# Numbers that occur in laws, with either sign; 0 drops a term.
_QUOTIENTS = {n / d for n in range(1, 13) for d in (1, 2, 3, 4)}
SIMPLE = sorted(
    _QUOTIENTS | {math.pi * q for q in (0.25, 0.5, 1.0, 2.0, 4.0)} | {math.sqrt(2.0), math.sqrt(0.5)}
)
# A number is only replaced by one this near, as a share of it: the rows may say little about it.
NEAR = 0.05


# Constants of an exact formula are rounded to these numbers of significant digits, fewest first.
ROUND_DIGITS = (1, 2, 3)
Loss = Callable[[Expression], float]


def snapped(
    expression: Expression,
    loss_of: Loss,
    choices: Callable[[float], Iterable[float]],
    tolerance: float,
    *,
    is_each: bool = False,
    is_late: Callable[[], bool] = lambda: False,
) -> tuple[Expression, float]:
    """Return the expression with each constant replaced by the first choice that is allowed, and its loss.

    choices : `simple_numbers` or `round_numbers`. tolerance : share by which the loss may rise, in all or,
    with `is_each`, by each replacement; below 1e-20, the square of the rounding error of float64, it always
    may. is_late : whether no further constant is to be tried.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> off = lambda trial: 1.0 + sum(abs(value - 2.0) for value in constants(trial))
    >>> to_text(snapped(parse_text("2.001 * x"), off, simple_numbers, 0.01)[0])
    '2 * x'
    """
    loss = loss_of(expression)
    allowed = max(loss * (1.0 + tolerance), 1e-20)
    values = list(constants(expression))
    for position, value in enumerate(values):
        if is_late():
            break
        for choice in choices(value):
            if choice == value:
                continue
            trial = with_constants(expression, [*values[:position], choice, *values[position + 1 :]])
            now = loss_of(trial)
            if now <= allowed:
                values[position] = choice
                expression, loss = trial, now
                allowed *= 1.0 + tolerance if is_each else 1.0
                break
    return expression, loss


def round_numbers(value: float) -> Iterator[float]:
    """Yield 0, then the number to few digits."""
    yield 0.0
    yield from (rounded(value, digits) for digits in ROUND_DIGITS)


def simple_numbers(value: float) -> Iterator[float]:
    """Yield 0, then the simple number nearest to `value` where one is near."""
    yield 0.0
    found = min(SIMPLE, key=lambda simple: abs(simple - abs(value)))
    if abs(found - abs(value)) <= NEAR * found:
        yield math.copysign(found, value)
