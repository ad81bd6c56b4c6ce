"""Learned baselines on scikit-learn: gradient boosting."""

from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.forms import perfect_scaling
from trainlaw.validate.estimators import Estimator, EstimatorFactory


class GradientBoosting:
    """scikit-learn's histogram boosting at its default settings, on ln(seconds) or on ln(seconds / base).

    Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001.
    base : factory of a baseline without labels that is fitted first, on the same rows; None for none.
    random_seed : of the boosting.
    """

    def __init__(self, base: EstimatorFactory | None = None, random_seed: int = 0) -> None:
        """Store the settings; MissingDependencyError without scikit-learn."""
        self.base = base
        self.random_seed = random_seed
        self._ensemble = optional_package("sklearn.ensemble", "sklearn")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,); `groups`, (n_runs,), are for the base only."""
        self.base_: Estimator | None = None if self.base is None else self.base().fit(X, y, groups)
        boosting = self._ensemble.HistGradientBoostingRegressor(random_state=self.random_seed)
        # One thread: as fast on tables of this size, and the same sums in the same order everywhere.
        with threadpool_limits(1):
            self.boosting_ = boosting.fit(X.to_numpy(dtype=float), np.log(y) - self._log_base(X))
        return self

    def _log_base(self, X: pd.DataFrame) -> np.ndarray:
        return np.zeros(len(X)) if self.base_ is None else np.log(self.base_.predict(X))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        with threadpool_limits(1):
            return np.asarray(np.exp(self.boosting_.predict(X.to_numpy(dtype=float)) + self._log_base(X)))


# Of the slowdown on several GPUs; needs the measured time on one.
boosting_on_perfect_scaling = partial(GradientBoosting, perfect_scaling)
