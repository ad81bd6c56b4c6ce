"""Round constants to the fewest digits within a limit on the error."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.formulas.evaluation import evaluate
from trainlaw.formulas.expression import Expression, constants, with_constants
from trainlaw.formulas.row_sums import RowSums

# 17 significant digits identify every float64.
MAX_DIGITS = 17


class RoundedExpression(NamedTuple):
    """An expression with readable constants, and what the rounding costs.

    Parameters
    ----------
    expression : Expression
        The expression with rounded constants.
    exact_error_percent, rounded_error_percent : float
        Mean absolute percentage error before and after.
    """

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

    First one number of digits for all constants, the smallest that keeps the limit; then fewer for each in
    turn.

    Parameters
    ----------
    expression : Expression
        Any expression.
    columns : mapping of str to ndarray, shape (n_rows,)
        Values per variable.
    target : array_like, shape (n_runs,)
        Measured values, above zero.
    limit_points : float
        By how many percentage points the mean absolute percentage error may rise in all.
    sums : RowSums, optional
        Which rows, such as layers, add up to each run; by default each row is a run.

    Returns
    -------
    RoundedExpression
        The expression with its errors.

    Examples
    --------
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
