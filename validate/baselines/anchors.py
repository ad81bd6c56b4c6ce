"""Baselines of a target GPU from measurements on an anchor GPU.

Line, operation groups and ensemble follow PROFET (Lee et al., "PROFET: profiling-based CNN training
latency prophet for GPU cloud instances", IEEE BigData 2022) and, unless stated otherwise, its public code.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.pair_features import ANCHOR_TIME
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.inputs import columns
from trainlaw.validate.baselines.learned import ScaledPerceptron
from trainlaw.validate.least_squares import nonnegative_least_squares


class AnchorRates:
    """`time = k x anchor time x anchor's rate / target's rate`, with k the median over pairs of two GPUs.

    rate : feature of the target; the anchor's has the prefix `anchor_`.
    """

    def __init__(self, rate: str) -> None:
        """Store the name of the rate."""
        self.rate = rate

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `ratio_` to seconds `y`, shape (n_rows,); `groups` are not used."""
        scaled = self._scaled(X)
        # A run that is its own anchor carries no information about two GPUs.
        pairs = X[f"anchor_{self.rate}"].to_numpy() != X[self.rate].to_numpy()
        self.ratio_ = float(np.median((np.asarray(y) / scaled)[pairs])) if pairs.any() else 1.0
        return self

    def _scaled(self, X: pd.DataFrame) -> np.ndarray:
        names = [ANCHOR_TIME, f"anchor_{self.rate}", self.rate]
        time, anchor, target = columns(X, names, "ratio of rates").T
        return np.asarray(time * anchor / target)

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_rows,)."""
        return self.ratio_ * self._scaled(X)


# The null model of a new GPU, from nominal rates alone.
anchor_peak_ratio = partial(AnchorRates, "peak_flop_per_s")


class AnchorLine:
    """PROFET's linear leg: `time = a + b x anchor time`, ordinary least squares of seconds per GPU pair."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, (a, b), to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.constants_ = np.linalg.lstsq(self._table(X), np.asarray(y, dtype=float), rcond=None)[0]
        return self

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        return np.column_stack([np.ones(len(X)), columns(X, [ANCHOR_TIME], "anchor line")])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.asarray(self._table(X) @ self.constants_)


# PROFET joins device operations whose names have a Levenshtein distance (1966) of at most 6, average linkage
# (Sokal, Michener, 1958): few columns then carry the time of many kernels.
_CUT = 6.0
# Zeros become the logarithm of 0.1 microseconds, below any operation.
_LEAST_OPERATION_S = 1e-7


def edit_distance(first: str, second: str) -> int:
    """Return the least number of letters to insert, delete or replace to turn one text into the other.

    >>> edit_distance("MaxPool", "AvgPool")
    3
    """
    row = list(range(len(second) + 1))
    for position, letter in enumerate(first, start=1):
        above, row = row, [position]
        for index, other in enumerate(second, start=1):
            row.append(min(above[index] + 1, row[-1] + 1, above[index - 1] + (letter != other)))
    return row[-1]


@cache
def group_names(names: tuple[str, ...], cut: float = _CUT) -> tuple[tuple[str, ...], ...]:
    """Return the names in groups whose mean distance from each other is above `cut`.

    >>> group_names(("Relu", "Relu6", "Conv2DBackpropFilter"))
    (('Relu', 'Relu6'), ('Conv2DBackpropFilter',))
    """
    groups: list[tuple[str, ...]] = [(name,) for name in names]
    distances = np.array([[edit_distance(one, other) for other in names] for one in names], dtype=float)
    np.fill_diagonal(distances, np.inf)
    while len(groups) > 1:
        first, second = sorted(divmod(int(np.argmin(distances)), len(groups)))
        if distances[first, second] > cut:
            break
        sizes = len(groups[first]), len(groups[second])
        merged = (distances[first] * sizes[0] + distances[second] * sizes[1]) / sum(sizes)
        distances[first], distances[:, first], distances[first, first] = merged, merged, np.inf
        distances = np.delete(np.delete(distances, second, 0), second, 1)
        groups[first] += groups.pop(second)
    return tuple(groups)


def grouped_profile(X: pd.DataFrame, names: Sequence[str] | None = None) -> np.ndarray:
    """Return the seconds of each group of device operations and of each host operation, (n_runs, n_groups).

    X : columns `device_<operation>_s` and `host_<operation>_s`, seconds of one iteration.
    """
    given = list(X.columns) if names is None else list(names)
    device = [name for name in given if name.startswith("device_")]
    host = [name for name in given if name.startswith("host_")]
    groups = group_names(tuple(name[len("device_") : -len("_s")] for name in device))
    sums = [X[[f"device_{name}_s" for name in group]].sum(axis=1) for group in groups]
    return np.column_stack([*sums, *(X[name] for name in host)]).astype(float)


class OperationsNonnegative:
    """`time = sum of constants x grouped times + constant`, all >= 0: least squares of the relative error."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, shape (n_groups + 2,), to seconds `y`, (n_runs,); `groups` are not used."""
        # Rows divided by their time, so that relative errors are squared.
        relative = self._table(X) / np.asarray(y)[:, None]
        self.constants_ = nonnegative_least_squares(relative, np.ones(len(relative)))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.asarray(self._table(X) @ self.constants_)

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        # The idle times of a profile come from the profiler, not from the iteration.
        names = [name for name in X.columns if "IDLE" not in name and name.startswith(("device_", "host_"))]
        anchor = columns(X, [ANCHOR_TIME], "model of operations")
        return np.column_stack([grouped_profile(X, names), anchor, np.full(len(X), 1e-3)])


class ProfetEnsemble:
    """Median of three legs: `AnchorLine`; a forest of 100 trees; a perceptron of 128, 64, 32 and 16 units.

    The perceptron is scikit-learn's instead of Keras', on standardised columns, with the squared error of the
    relative time instead of the sum of relative and squared error.
    random_seed : of trees and starting weights.
    """

    def __init__(self, random_seed: int = 0) -> None:
        """Store the settings; MissingDependencyError without scikit-learn."""
        self.random_seed = random_seed
        self._trees = optional_package("sklearn.ensemble", "sklearn")
        # At most 200 epochs, converged or not, as in the source.
        self._scaled = ScaledPerceptron(
            hidden_layer_sizes=(128, 64, 32, 16),
            batch_size=16,
            max_iter=200,
            n_iter_no_change=5,
            random_state=random_seed,
        )

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit the legs to seconds `y`, shape (n_runs,); `groups` are not used."""
        y, profile = np.asarray(y, dtype=float), grouped_profile(X)
        self.line_ = AnchorLine().fit(X, y, groups)
        self.forest_ = self._trees.RandomForestRegressor(random_state=self.random_seed).fit(profile, y)
        ratio = np.log(y / columns(X, [ANCHOR_TIME], "PROFET's ensemble")[:, 0])
        self._scaled.fit(np.log(np.maximum(profile, _LEAST_OPERATION_S)), ratio)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        profile = grouped_profile(X)
        ratio = self._scaled.predict(np.log(np.maximum(profile, _LEAST_OPERATION_S)))
        perceptron = np.exp(ratio) * columns(X, [ANCHOR_TIME], "PROFET's ensemble")[:, 0]
        legs = [self.line_.predict(X), self.forest_.predict(profile), perceptron]
        return np.asarray(np.median(legs, axis=0))
