"""Models of one pair of GPUs with which the formula of that pair is compared.

Line and operation groups follow PROFET (Lee et al., "PROFET: profiling-based CNN training latency prophet for
GPU cloud instances", IEEE BigData 2022) and, unless stated otherwise, its public code.
"""

from collections.abc import Sequence
from functools import cache
from typing import Self

import numpy as np
import pandas as pd
from scipy.optimize import nnls
from trainlaw.datasets.features.pair_features import ANCHOR_TIME
from trainlaw.validate.baselines.inputs import columns

# PROFET joins device operations whose names have a Levenshtein distance (1966) of at most 6, average linkage
# (Sokal, Michener, 1958): few columns then carry the time of many kernels.
_CUT = 6.0


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


def nonnegative_least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the x >= 0, shape (k,), that minimises |A x - b|; A has shape (n, k), b shape (n,).

    Columns are scaled to unit length first: seconds of operations and of a whole iteration differ by far.
    ValueError for unequal shapes or values that are not finite.

    >>> nonnegative_least_squares(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])).tolist()
    [2.0, 0.0]
    """
    lengths = np.linalg.norm(A, axis=0)
    lengths[lengths == 0] = 1.0  # a column of zeros stays as it is
    return np.asarray(nnls(A / lengths, b)[0] / lengths)


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


@cache
def group_names(names: tuple[str, ...], cut: float = _CUT) -> tuple[tuple[str, ...], ...]:
    """Return the names in groups whose mean distance from each other is above `cut`.

    >>> group_names(("Relu", "Relu6", "Conv2DBackpropFilter"))
    (('Relu', 'Relu6'), ('Conv2DBackpropFilter',))
    """
    groups: list[tuple[str, ...]] = [(name,) for name in names]
    distances = np.array([[edit_distance(first, second) for second in names] for first in names], dtype=float)
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
