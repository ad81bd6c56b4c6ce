"""The losses of a search, in the form that the machine computes."""

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import HUBER, SOFT_L1, SQUARES, Rows, make_rows
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import FeatureSpec, InputError

# Relative error below which the absolute percentage loss is quadratic: a fit needs a smooth minimum.
PERCENTAGE_WIDTH = 0.02
# Per loss: whether of logarithms, and the robust form of the machine.
LOSS_FORMS = {
    "log_ratio": (True, SQUARES),
    "soft_l1_log": (True, SOFT_L1),
    "huber_log": (True, HUBER),
    "relative_squares": (False, SQUARES),
    "absolute_percentage": (False, SOFT_L1),
    "squares": (False, SQUARES),
}


def loss_name(settings: SearchSettings, target: FeatureSpec, y: NDArray[np.float64]) -> str:
    """Return the loss, with "automatic" resolved.

    Raises InputError where a relative loss meets a target that is not positive.
    """
    positive = bool(np.all(y > 0.0))
    if settings.loss == "automatic":
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
) -> Rows:
    """Return the rows, or those `drawn`, with the loss in the form that the machine computes."""
    logarithmic, robust = LOSS_FORMS[loss]
    scale = np.full_like(y, 1.0 / (float(np.std(y)) or 1.0)) if loss == "squares" else 1.0 / y
    width = PERCENTAGE_WIDTH if loss == "absolute_percentage" else settings.loss_width
    if drawn is not None:
        columns, y, scale = columns[:, drawn], y[drawn], scale[drawn]
        weight, case = weight[drawn], case[drawn]
    return make_rows(columns, y, scale, weight, case, logarithmic=logarithmic, robust=robust, width=width)
