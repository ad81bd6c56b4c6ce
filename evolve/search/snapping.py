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
    expression: Expression, loss_of: Loss, row_count: int, is_late: Callable[[], bool] = lambda: False
) -> tuple[Expression, float]:
    """Return the expression with constants replaced by 0 or by simple numbers, and its loss.

    is_late : whether no further constant is to be tried. A replacement may raise the logarithm of the loss by
    log n / n, the cost of a constant in a description of n rows (Rissanen, 1978). Other constants stay as
    they are.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> off = lambda trial: 1.0 + sum(abs(value - 2.0) for value in constants(trial))
    >>> to_text(snapped(parse_text("2.001 * x"), off, 1000)[0])
    '2 * x'
    """
    loss, factor = loss_of(expression), 1.0 + math.log(row_count) / row_count
    return _replaced(
        expression, loss, loss_of, _simple, allowed=loss * factor, factor=factor, is_late=is_late
    )


def round_exact(expression: Expression, loss_of: Loss, tolerance: float) -> tuple[Expression, float]:
    """Return the expression with as many constants rounded as the loss allows, and its loss.

    A rounding is kept if the loss exceeds the first one by at most the share `tolerance`, or is below 1e-20:
    the square of the rounding error of float64.
    """
    loss = loss_of(expression)
    return _replaced(expression, loss, loss_of, _rounded, allowed=max(loss * (1.0 + tolerance), 1e-20))


def _replaced(
    expression: Expression,
    loss: float,
    loss_of: Loss,
    choices: Callable[[float], Iterable[float]],
    *,
    allowed: float,
    factor: float = 1.0,
    is_late: Callable[[], bool] = lambda: False,
) -> tuple[Expression, float]:
    """Return the expression with each constant replaced by the first choice that is allowed, and its loss.

    allowed : the largest loss, multiplied by `factor` after each replacement.
    """
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
                expression, loss, allowed = trial, now, allowed * factor
                break
    return expression, loss


def _rounded(value: float) -> Iterator[float]:
    """Yield 0, then the number to few digits."""
    yield 0.0
    yield from (rounded(value, digits) for digits in ROUND_DIGITS)


def _simple(value: float) -> Iterator[float]:
    """Yield 0, then the simple number nearest to `value` where one is near."""
    yield 0.0
    found = min(SIMPLE, key=lambda simple: abs(simple - abs(value)))
    if abs(found - abs(value)) <= NEAR * found:
        yield math.copysign(found, value)
