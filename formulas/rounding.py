"""Constants with the fewest digits that cost no more than a given share of the error."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.formulas.evaluation import evaluate
from trainlaw.formulas.expression import Expression, constants, with_constants
from trainlaw.formulas.row_sums import RowSums

MAX_DIGITS = 17


class RoundedExpression(NamedTuple):
    """An expression with readable constants, and its mean absolute percentage error before and after."""

    expression: Expression
    exact_error_percent: float
    rounded_error_percent: float


def round_constants(
    expression: Expression,
    columns: Mapping[str, NDArray[np.float64]],
    target: ArrayLike,
    limit_points: float = 0.1,
    sums: RowSums | None = None,
) -> RoundedExpression:
    """Return the expression with constants of the fewest significant digits.

    columns : float64, shape (n_rows,), per variable. target : the measured values, shape (n_runs,), above
    zero. limit_points : by how many percentage points the mean absolute percentage error may rise in all.
    sums : which rows, such as layers, make up each run; None where each row is a run.
    First one number of digits for all, the smallest that keeps the limit; then fewer for each in turn.

    >>> from trainlaw.formulas.text import parse_text, to_text
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> rounded = round_constants(parse_text("2.000012345 * x"), {"x": x}, 2 * x)
    >>> to_text(rounded.expression)
    '2 * x'
    """
    measured = np.asarray(target, dtype=np.float64)
    exact, length = constants(expression), max((len(column) for column in columns.values()), default=1)

    def error(values: tuple[float, ...]) -> float:
        found, valid = evaluate(with_constants(expression, values), columns)
        predicted = np.where(valid, found, np.inf)
        if sums is not None:
            predicted = sums.apply(np.broadcast_to(predicted, length))
        return float(np.mean(np.abs(predicted / measured - 1.0)) * 100.0)

    def fits(values: tuple[float, ...]) -> bool:
        return error(values) <= limit

    limit = error(exact) + limit_points
    common = next(
        (digits for digits in range(1, MAX_DIGITS) if fits(tuple(rounded(value, digits) for value in exact))),
        MAX_DIGITS,
    )
    values = tuple(rounded(value, common) for value in exact)
    for index, value in enumerate(exact):
        for digits in range(1, common):
            trial = (*values[:index], rounded(value, digits), *values[index + 1 :])
            if fits(trial):
                values = trial
                break
    return RoundedExpression(with_constants(expression, values), error(exact), error(values))


def rounded(value: float, digits: int) -> float:
    """Return `value` rounded to `digits` significant decimal digits.

    >>> rounded(123456.0, 2)
    120000.0
    """
    return float(f"{value:.{digits - 1}e}")
