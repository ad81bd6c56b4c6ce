"""Learned baselines on scikit-learn: random forest, gradient boosting, perceptron."""

import warnings
from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.closed_forms import cf21
from trainlaw.validate.baselines.roofline import Roofline
from trainlaw.validate.baselines.several_gpus import PerfectScaling
from trainlaw.validate.estimators import Estimator, EstimatorFactory

# Zeros become the logarithm of a picosecond, well below any time.
_LEAST_VALUE = 1e-12


class RandomForest:
    """scikit-learn's forest at its default settings (100 trees) on all features, target ln(seconds).

    Breiman, "Random forests", Machine Learning 45, 2001.
    random_seed : of the trees.
    """

    def __init__(self, random_seed: int = 0) -> None:
        """Store the settings; MissingDependencyError without scikit-learn."""
        self.random_seed = random_seed
        self._ensemble = optional_package("sklearn.ensemble", "sklearn")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,); `groups` are not used."""
        forest = self._ensemble.RandomForestRegressor(random_state=self.random_seed)
        self.forest_ = forest.fit(X.to_numpy(dtype=float), np.log(y))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.asarray(np.exp(self.forest_.predict(X.to_numpy(dtype=float))))


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


boosting_on_roofline = partial(GradientBoosting, Roofline)
# Accurate between known GPUs, no better than CF21 alone beyond them.
boosting_on_cf21 = partial(GradientBoosting, cf21)
# Of the slowdown on several GPUs; needs the measured time on one.
boosting_on_perfect_scaling = partial(GradientBoosting, PerfectScaling)


class ScaledPerceptron:
    """scikit-learn's perceptron on standardised columns, which several baselines wrap.

    settings : of `sklearn.neural_network.MLPRegressor`.
    """

    def __init__(self, **settings: object) -> None:
        """Store the settings; MissingDependencyError without scikit-learn."""
        self.settings = settings
        self._perceptrons = optional_package("sklearn.neural_network", "sklearn")

    def fit(self, table: np.ndarray, target: np.ndarray) -> Self:
        """Fit to `table`, shape (n_rows, n_columns), and `target`, shape (n_rows,)."""
        self.centre_, self.width_ = table.mean(axis=0), table.std(axis=0)
        # A column without variation is dropped by an infinite width.
        self.width_[self.width_ < 1e-9] = np.inf
        perceptron = self._perceptrons.MLPRegressor(**self.settings)
        # One thread: many times faster on matrices of this size.
        with warnings.catch_warnings(), threadpool_limits(1):
            # The limit on iterations regularises a small perceptron; to reach it is no fault.
            warnings.simplefilter("ignore")
            self.perceptron_ = perceptron.fit((table - self.centre_) / self.width_, target)
        return self

    def predict(self, table: np.ndarray) -> np.ndarray:
        """Return the predicted target, shape (n_rows,)."""
        with threadpool_limits(1):
            return np.asarray(self.perceptron_.predict((table - self.centre_) / self.width_))


class Perceptron:
    """Two hidden layers of 48 and 24 units on logarithms of all features, trained by L-BFGS on ln(seconds).

    random_seed : of the starting weights.
    """

    def __init__(self, random_seed: int = 0) -> None:
        """Store the settings; MissingDependencyError without scikit-learn."""
        self.random_seed = random_seed
        self._scaled = ScaledPerceptron(
            hidden_layer_sizes=(48, 24), solver="lbfgs", alpha=0.1, max_iter=200, random_state=random_seed
        )

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,), scaled by the training rows; `groups` are not used."""
        target = np.log(y)
        self.centre_, self.width_ = float(target.mean()), float(target.std()) or 1.0
        self._scaled.fit(safe_logarithms(X.to_numpy(dtype=float)), (target - self.centre_) / self.width_)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        scaled = self._scaled.predict(safe_logarithms(X.to_numpy(dtype=float)))
        return np.exp(scaled * self.width_ + self.centre_)


def safe_logarithms(table: np.ndarray, least: float = _LEAST_VALUE) -> np.ndarray:
    """Return ln(max(value, least)) of each value, with the shape of `table`."""
    return np.asarray(np.log(np.maximum(table, least)))
