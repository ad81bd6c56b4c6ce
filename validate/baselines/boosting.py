"""Gradient boosting on every feature: alone, or on what another baseline leaves over.

Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.closed_form_21 import cf21
from trainlaw.validate.baselines.perfect_scaling import PerfectScaling
from trainlaw.validate.baselines.roofline import Roofline
from trainlaw.validate.estimators import Estimator, EstimatorFactory


class GradientBoosting:
    """scikit-learn's histogram boosting at its default settings, on ln(seconds) or on ln(seconds / base).

    base : factory of a baseline without labels that is fitted first, on the same rows; None for none.
    random_seed : of the boosting.
    """

    def __init__(self, base: EstimatorFactory | None = None, random_seed: int = 0) -> None:
        """Keep the settings; MissingDependencyError without scikit-learn."""
        self.base = base
        self.random_seed = random_seed
        self._ensemble = optional_package("sklearn.ensemble", "sklearn")
        self._threads = optional_package("threadpoolctl", "sklearn")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,); `groups`, (n_runs,), are for the base only."""
        self.base_: Estimator | None = None if self.base is None else self.base().fit(X, y, groups)
        boosting = self._ensemble.HistGradientBoostingRegressor(random_state=self.random_seed)
        # One thread: as fast on tables of this size, and the same sums in the same order everywhere.
        with self._threads.threadpool_limits(1):
            self.boosting_ = boosting.fit(X.to_numpy(dtype=float), np.log(y) - self._log_base(X))
        return self

    def _log_base(self, X: pd.DataFrame) -> np.ndarray:
        return np.zeros(len(X)) if self.base_ is None else np.log(self.base_.predict(X))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        with self._threads.threadpool_limits(1):
            return np.exp(self.boosting_.predict(X.to_numpy(dtype=float)) + self._log_base(X))


def gradient_boosting() -> GradientBoosting:
    """Return boosting alone."""
    return GradientBoosting()


def gradient_boosting_on_roofline() -> GradientBoosting:
    """Return boosting of what the roofline leaves over."""
    return GradientBoosting(Roofline)


def gradient_boosting_on_cf21() -> GradientBoosting:
    """Return boosting of what CF21 leaves over: strong between known GPUs, no better beyond them."""
    return GradientBoosting(cf21)


def gradient_boosting_on_perfect_scaling() -> GradientBoosting:
    """Return boosting of how much longer several GPUs take than one; needs the measured time on one."""
    return GradientBoosting(PerfectScaling)
