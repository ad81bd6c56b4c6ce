"""Conformal prediction intervals that are valid for a new GPU, with whole groups as the exchangeable unit.

The errors of one GPU's rows are correlated, so row-wise conformal intervals are too narrow for the next GPU.
Here each group of calibration rows has equal weight, and the new group counts as one more (hierarchical
conformal prediction: Lee, Barber, Willett, "Distribution-free inference with hierarchical data", 2023;
pooling of distributions: Dunn, Wasserman, Ramdas, JASA 118, 2023, section 3.1).

Nothing is known about the errors of the new group. To assume that all of them are infinite covers too much,
95 to 98 % with 11 to 15 groups. Therefore half of them are assumed to lie within the interval, as in smoothed
conformal prediction, which draws the rank at random; here it is at its mean (Vovk, Gammerman, Shafer,
"Algorithmic learning in a random world", 2005, section 2.2). The coverage proved for any distribution of
errors is then level - 1 / (2 (groups + 1)).

The error of a row is |ln(predicted / measured)|, so an interval is a factor in both directions: the natural
scale for times over five decades.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.formulas.errors import InputError

#: Share of the runs on a new GPU that an interval is to contain.
LEVEL = 0.9
#: Groups without which there is no interval at a level of 0.9.
LEAST_UNITS = 9
#: Share of the new group's errors that are assumed to lie within: between none and all.
SHARE_WITHIN = 0.5


@dataclass(frozen=True)
class ConformalInterval:
    """Interval from `predicted / factor` to `predicted x factor` for a run on a new GPU.

    factor : at least 1; infinite if there are too few groups for the level (nine are needed for 90 %). level
    : intended share of covered rows, as a mean over new groups. n_groups : of calibration.
    """

    factor: float
    level: float
    n_groups: int

    @classmethod
    def fit(
        cls,
        measured_s: npt.ArrayLike,
        predicted_s: npt.ArrayLike,
        groups: npt.ArrayLike,
        level: float = LEVEL,
        share_within: float = SHARE_WITHIN,
    ) -> "ConformalInterval":
        """Return the interval calibrated on held-out predictions, such as those of a study by GPU group.

        measured_s, predicted_s : seconds, (n_runs,); a row without a finite, positive prediction counts
        as an infinite error. groups : held-out group of each row. level : intended coverage, between 0
        and 1; else InputError. share_within : of the new group's errors, assumed to lie within.

        >>> groups = list("abcdefghi")
        >>> round(ConformalInterval.fit([1.0] * 9, [1.25] * 9, groups).factor, 9)
        1.25
        """
        if not 0 < level < 1:
            raise InputError(f"expected a level between 0 and 1, got {level}")
        scores, labels = log_errors(measured_s, predicted_s), np.asarray(groups, dtype=str)
        _, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        order = np.argsort(scores, kind="stable")
        n_groups = len(sizes)
        covered = np.cumsum(1.0 / sizes[inverse[order]])
        # The slack keeps a rounding error in the sum of many small weights from costing a group.
        position = int(np.searchsorted(covered, level * (n_groups + 1) - share_within - 1e-12))
        # The new group could rank above all others; with too few groups no finite factor covers it.
        enough = level * (n_groups + 1) <= n_groups + 1e-12
        factor = math.exp(scores[order][position]) if enough and position < len(scores) else math.inf
        return cls(factor, level, n_groups)

    def to_json(self) -> dict[str, object]:
        """Return the interval as plain JSON values; an infinite factor is None."""
        factor = self.factor if math.isfinite(self.factor) else None
        return {"factor": factor, "level": self.level, "n_groups": self.n_groups}


def log_errors(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> np.ndarray:
    """Return |ln(predicted / measured)|, (n_runs,), from seconds; infinite without a valid prediction."""
    measured, predicted = np.asarray(measured_s, dtype=float), np.asarray(predicted_s, dtype=float)
    valid = np.isfinite(predicted) & (predicted > 0)
    ratios = np.divide(predicted, measured, out=np.full(len(measured), np.inf), where=valid)
    scores: np.ndarray = np.abs(np.log(ratios))
    return scores


def group_quantile(scores: np.ndarray, groups: np.ndarray, level: float) -> float:
    """Return the quantile of scores at `level`, each group with the same weight; both arrays (n_runs,)."""
    _, owner, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(scores, kind="stable")
    covered = np.cumsum(1.0 / sizes[owner[order]]) / len(sizes)
    # The slack keeps a rounding error of the sum from moving it by a row.
    return float(scores[order][min(int(np.searchsorted(covered, level - 1e-12)), len(scores) - 1)])


def conformal_coverage(
    measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike, groups: npt.ArrayLike, level: float = LEVEL
) -> pd.DataFrame:
    """Return the coverage of each group by the interval calibrated on all other groups.

    Columns `group`, `n_rows`, `factor` and `covered_percent`, whose mean over groups should be near the
    level. Arguments as for `ConformalInterval.fit`.
    """
    measured, predicted = np.asarray(measured_s, dtype=float), np.asarray(predicted_s, dtype=float)
    labels, scores = np.asarray(groups, dtype=str), log_errors(measured_s, predicted_s)
    rows = []
    for name in np.unique(labels):
        inside = labels == name
        # As for a new GPU: the group itself is not among the calibration rows.
        interval = ConformalInterval.fit(measured[~inside], predicted[~inside], labels[~inside], level)
        covered = 100.0 * float((scores[inside] <= math.log(interval.factor)).mean())
        rows.append((str(name), int(inside.sum()), interval.factor, covered))
    return pd.DataFrame(rows, columns=["group", "n_rows", "factor", "covered_percent"])
