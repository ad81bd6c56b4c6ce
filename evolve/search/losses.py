"""The losses of a search, in the form that the machine computes.

A loss that is an expression becomes the top of every program: the machine then makes the square root of the
loss small, in least squares, for a target of zero. The target is a column, as are the numbers of the loss.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.definitions import PREDICTION, TARGET, pattern, put_in
from trainlaw.evolve.grammar import number_columns, tokens_of
from trainlaw.evolve.machine.arrays import HUBER, SOFT_L1, SQUARES, VARIABLE, Rows, make_rows
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import Apply, Expression, FeatureSpec, InputError, RowSums, Variable, evaluate

# Relative error below which the absolute percentage loss is quadratic: a fit needs a smooth minimum.
PERCENTAGE_WIDTH = 0.02
# Added to a loss that is an expression, as a share of that of the mean: at last, and for a first fit.
LEAST_LOSS, ROUGH_LOSS = 1e-24, 1e-2
# What stands for it among variables, and for a program among tokens.
LEAST, HERE = "least", 255
# Per loss: whether of logarithms, and the robust form of the machine.
LOSS_FORMS = {
    "log_ratio": (True, SQUARES),
    "soft_l1_log": (True, SOFT_L1),
    "huber_log": (True, HUBER),
    "relative_squares": (False, SQUARES),
    "absolute_percentage": (False, SOFT_L1),
    "squares": (False, SQUARES),
}


@dataclass(frozen=True)
class LossProgram:
    """A loss as tokens before and after a program.

    rows : the observations with a loss by name, for the start of a fit. column : of the target. rough : front
    and behind of the same loss without a kink at zero, where a fit would stay.
    """

    expression: Expression
    front: tuple[int, ...]
    behind: tuple[int, ...]
    rows: Rows
    column: int
    rough: tuple[tuple[int, ...], tuple[int, ...]]

    def of(self, values: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of each value (n,), infinite where it is not valid."""
        found, valid = evaluate(self.expression, {PREDICTION: values, TARGET: target})
        return np.where(valid & (found >= 0.0), found, np.inf)


def loss_rows(rows: Rows) -> Rows:
    """Return rows for programs whose value is the square root of the loss."""
    plain = np.ones_like(rows.scale)
    return rows._replace(target=0.0 * plain, scale=plain, logarithmic=False, robust=SQUARES)


def with_definition_columns(
    columns: NDArray[np.float64], y: NDArray[np.float64], settings: SearchSettings
) -> tuple[NDArray[np.float64], int]:
    """Return the columns with those that definitions and the loss need, and the one of the target.

    columns : (n_columns, n_rows). y : (n_rows,). Numbers come first, then the target, then what is added to
    the loss, so that its root has a slope where it is zero.
    """
    numbers = number_columns(settings, columns.shape[0])
    added = [np.full(columns.shape[1], number) for number in numbers]
    place, loss = columns.shape[0] + len(added), settings.loss_expression
    if loss is not None and columns.shape[1] == y.size:
        at_mean, valid = evaluate(loss, {PREDICTION: np.full_like(y, y.mean()), TARGET: y})
        if not np.all(valid) or at_mean.min() < 0.0 or not at_mean.max() > 0.0:
            raise InputError(f"expected a loss that is at least 0 and varies, got {settings.loss!r}")
        added += [y, *(np.full_like(y, least * float(at_mean.mean())) for least in (LEAST_LOSS, ROUGH_LOSS))]
    return (np.vstack([columns, *added]) if added else columns), place


def loss_program(settings: SearchSettings, rows: Rows, place: int) -> LossProgram | None:
    """Return the loss of the settings, where it is an expression.

    rows : with a loss by name. place : column of the target, behind the numbers. Raises InputError for sums.
    """
    loss = settings.loss_expression
    if loss is None:
        return None
    if rows.summed:
        raise InputError("expected a loss by name where rows are summed, got an expression")
    numbers = number_columns(settings, place - len(number_columns(settings, 0)))
    tokens = tokens_of({**numbers, TARGET: place, LEAST: place + 1})
    whole = Apply("sqrt", (Apply("add", (loss, Variable(LEAST))),))
    found = put_in(pattern(whole, tokens, (PREDICTION,)), [[HERE]], VARIABLE)
    at = found.index(HERE)
    front, behind = tuple(found[:at]), tuple(found[at + 1 :])
    other = {tokens[LEAST]: tokens[LEAST] + 256}
    rough = (
        tuple(other.get(token, token) for token in front),
        tuple(other.get(token, token) for token in behind),
    )
    return LossProgram(loss, front, behind, rows, place, rough)


def loss_name(settings: SearchSettings, target: FeatureSpec, y: NDArray[np.float64]) -> str:
    """Return the loss, with "automatic" resolved, as it also is for the start of fits with an expression.

    Raises InputError where a relative loss meets a target that is not positive.
    """
    positive = bool(np.all(y > 0.0))
    if settings.loss == "automatic" or settings.loss_expression is not None:
        measured = settings.typed and not target.unit.is_dimensionless
        return "soft_l1_log" if measured and positive else "squares"
    if settings.loss != "squares" and not positive:
        raise InputError(
            f"expected a positive target for the loss {settings.loss!r}, got {y.min():g}: use loss='squares'"
        )
    return settings.loss


def weighted_rows(
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    case: NDArray[np.int64],
    drawn: NDArray[np.int64] | None = None,
    *,
    loss: str,
    settings: SearchSettings,
    sums: RowSums | None,
    levels: NDArray[np.int64],
) -> Rows:
    """Return the rows, or those `drawn`, with the loss in the form that the machine computes."""
    logarithmic, robust = LOSS_FORMS[loss]
    scale = np.full_like(y, 1.0 / (float(np.std(y)) or 1.0)) if loss == "squares" else 1.0 / y
    width = PERCENTAGE_WIDTH if loss == "absolute_percentage" else settings.loss_width
    if drawn is not None:
        columns, y, scale = columns[:, drawn], y[drawn], scale[drawn]
        weight, case = weight[drawn], case[drawn]
    return make_rows(
        columns, y, scale, weight, case, logarithmic=logarithmic, robust=robust, width=width, sums=sums,
        levels=levels,
    )  # fmt: skip
