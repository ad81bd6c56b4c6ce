"""Prediction intervals that hold for a new GPU: conformal, with whole groups as the unit of exchange.

The rows of one GPU err together, so that row-wise conformal intervals are too narrow for the next GPU. Here
each group of calibration rows weighs the same, and the new group counts as one more (hierarchical conformal
prediction: Lee, Barber, Willett, "Distribution-free inference with hierarchical data", 2023; pooling of
distributions: Dunn, Wasserman, Ramdas, JASA 118, 2023, section 3.1). Where nothing is known of the new
group's errors, all of them may be without limit; that covers too much, 95 to 98 % with 11 to 15 groups. So
half of them are taken to lie within the interval, as smoothed conformal prediction does with a rank that is
drawn at random, here at its mean (Vovk, Gammerman, Shafer, "Algorithmic learning in a random world", 2005,
section 2.2). What is proved for any distribution of errors is then level - 1 / (2 (groups + 1)). The error of
a row is |ln(predicted / measured)|, so an interval is a factor up and down, as the errors of a law over five
decades of time are.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError

# Share of the new group's errors that are taken to lie within: between none and all.
_OF_NEW_GROUP = 0.5


@dataclass(frozen=True)
class ConformalInterval:
    """Interval from `predicted / factor` to `predicted x factor`, for a run on a GPU that no fit has seen.

    level : aimed-at share of covered rows, a mean over new groups. n_groups : groups that it was calibrated
    on; `proved_level` is the share that holds whatever the errors are.
    factor : at least 1; infinite where there are too few groups for the level (nine for 90 %).
    """

    factor: float
    level: float
    n_groups: int

    @classmethod
    def fit(
        cls,
        measured_s: Sequence[float],
        predicted_s: Sequence[float],
        groups: Sequence[object],
        level: float = 0.9,
    ) -> "ConformalInterval":
        """Calibrate on held-out predictions, such as those of a study that left whole GPUs out.

        measured_s, predicted_s : seconds, shape (n_runs,). groups : the label held out with each row,
        (n_runs,). A row without a valid prediction counts as an error without limit. InputError for a level
        outside (0, 1).

        >>> groups = list("abcdefghi")
        >>> ConformalInterval.fit([1.0] * 9, [1.25] * 9, groups).around([2.0])[1].round(9).tolist()
        [2.5]
        """
        if not 0 < level < 1:
            raise InputError(f"expected a level between 0 and 1, got {level}")
        scores, labels = _scores(measured_s, predicted_s), np.asarray(groups, dtype=str)
        _, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        order = np.argsort(scores, kind="stable")
        n_groups = len(sizes)
        covered = np.cumsum(1.0 / sizes[inverse[order]])
        # The sum of many small weights: a rounding error must not cost a group.
        position = int(np.searchsorted(covered, level * (n_groups + 1) - _OF_NEW_GROUP - 1e-12))
        enough = level * (n_groups + 1) <= n_groups + 1e-12
        factor = math.exp(scores[order][position]) if enough and position < len(scores) else math.inf
        return cls(factor, level, n_groups)

    @property
    def proved_level(self) -> float:
        """Share of a new group's rows that is covered at least, on average, if groups are exchangeable.

        >>> ConformalInterval(1.5, 0.9, 9).proved_level
        0.85
        """
        return self.level - _OF_NEW_GROUP / (self.n_groups + 1)

    def around(self, predicted_s: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, seconds, shape (n_runs,), around predictions in seconds."""
        predicted = np.asarray(predicted_s, dtype=float)
        return predicted / self.factor, predicted * self.factor

    def to_json(self) -> dict[str, object]:
        """Return the interval as plain JSON values; an infinite factor is None."""
        factor = self.factor if math.isfinite(self.factor) else None
        return {"factor": factor, "level": self.level, "n_groups": self.n_groups}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> "ConformalInterval":
        """Return the interval that `to_json` gave; InputError where a part is missing or out of range."""
        try:
            factor = math.inf if value["factor"] is None else float(value["factor"])
            level, n_groups = float(value["level"]), int(value["n_groups"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no prediction interval: {type(error).__name__} {error}") from None
        if not (factor >= 1 and 0 < level < 1 and n_groups >= 1):
            raise InputError(
                f"expected factor >= 1, level in (0, 1), groups, got {factor}, {level}, {n_groups}"
            )
        return cls(factor, level, n_groups)


def _scores(measured_s: Sequence[float], predicted_s: Sequence[float]) -> np.ndarray:
    measured, predicted = np.asarray(measured_s, dtype=float), np.asarray(predicted_s, dtype=float)
    valid = np.isfinite(predicted) & (predicted > 0)
    ratios = np.divide(predicted, measured, out=np.full(len(measured), np.inf), where=valid)
    return np.abs(np.log(ratios))


def conformal_coverage(
    measured_s: Sequence[float], predicted_s: Sequence[float], groups: Sequence[object], level: float = 0.9
) -> pd.DataFrame:
    """Return how an interval that was calibrated on the other groups covers each group.

    Columns `group`, `n_rows`, `factor`, `covered_percent`, whose mean over groups should be near the level.
    Arguments as for `ConformalInterval.fit`.
    """
    measured, predicted = np.asarray(measured_s, dtype=float), np.asarray(predicted_s, dtype=float)
    labels, scores = np.asarray(groups, dtype=str), _scores(measured_s, predicted_s)
    rows = []
    for name in np.unique(labels):
        inside = labels == name
        interval = ConformalInterval.fit(measured[~inside], predicted[~inside], labels[~inside], level)
        covered = 100.0 * float((scores[inside] <= math.log(interval.factor)).mean())
        rows.append((str(name), int(inside.sum()), interval.factor, covered))
    return pd.DataFrame(rows, columns=["group", "n_rows", "factor", "covered_percent"])
