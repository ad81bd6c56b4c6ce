"""Studies of one model per pair of GPUs, and the models of PROFET, with which formulas of pairs are compared.

Line, operation groups and ensemble follow PROFET (Lee et al., "PROFET: profiling-based CNN training
latency prophet for GPU cloud instances", IEEE BigData 2022) and, unless stated otherwise, its public code.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Self

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits
from trainlaw.datasets.features.pair_features import ANCHOR_TIME
from trainlaw.datasets.measurements.pairs import PAIR, PairTable
from trainlaw.validate import EstimatorFactory, StudyResult, leave_one_group_out, run_study
from trainlaw.validate.baselines.inputs import columns

from tools.nonnegative import nonnegative_least_squares


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
        """Store the settings."""
        self.random_seed = random_seed
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
        self.forest_ = RandomForestRegressor(random_state=self.random_seed).fit(profile, y)
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


class ScaledPerceptron:
    """scikit-learn's perceptron on standardised columns.

    settings : of `sklearn.neural_network.MLPRegressor`.
    """

    def __init__(self, **settings: object) -> None:
        """Store the settings."""
        self.settings = settings

    def fit(self, table: np.ndarray, target: np.ndarray) -> Self:
        """Fit to `table`, shape (n_rows, n_columns), and `target`, shape (n_rows,)."""
        self.centre_, self.width_ = table.mean(axis=0), table.std(axis=0)
        # A column without variation is dropped by an infinite width.
        self.width_[self.width_ < 1e-9] = np.inf
        perceptron = MLPRegressor(**self.settings)
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


#: Models that use a profile, by name.
PROFET: Mapping[str, EstimatorFactory] = {
    "operations_nonnegative": OperationsNonnegative,
    "profet_ensemble": ProfetEnsemble,
}


def run_pair_study(
    table: PairTable,
    estimators: Mapping[str, EstimatorFactory] | None = None,
    *,
    held_out: str = "cnn_base",
    features: Sequence[str] = (),
) -> StudyResult:
    """Fit every estimator to each pair of GPUs and each split, and return the held-out predictions.

    Parameters
    ----------
    table : PairTable
        Profiles on anchor GPUs and times on target GPUs, with labels.
    estimators : mapping of str to EstimatorFactory, or None
        Factories by name; None for `PROFET`.
    held_out : str
        Label column whose groups are held out one by one, with all their repeats and batches.
    features : sequence of str
        Features of pairs for the estimators, in addition to the seconds of each operation and
        `anchor_time_s`.

    Returns
    -------
    StudyResult
        Predictions of the held-out rows of all pairs.
    """
    estimators = PROFET if estimators is None else estimators
    frame = table.frame
    X = table.profile().assign(**{ANCHOR_TIME: frame["anchor_time_s"].to_numpy(dtype=float)})
    X = pd.concat([X, table.features([name for name in features if name not in X])], axis=1)
    labels = table.labels()
    pairs = labels[PAIR].to_numpy(dtype=str)
    parts = []
    for pair in np.unique(pairs):
        rows = np.flatnonzero(pairs == pair)
        own = labels.iloc[rows].reset_index(drop=True)
        splits = leave_one_group_out(own[held_out])
        result = run_study(
            X.iloc[rows].reset_index(drop=True),
            table.seconds[rows],
            own,
            splits,
            estimators,
            group_column=held_out,
        )
        part = result.predictions.copy()
        # Positions in the part become positions in the whole table.
        part["row"] = rows[part["row"].to_numpy(dtype=np.int64)]
        part["split"] = [f"{pair}, {name}" for name in part["split"]]
        parts.append(part)
    return StudyResult(pd.concat(parts, ignore_index=True), tuple(estimators))
