"""Null models: one constant, alone or times a column."""

from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns


class MedianTime:
    """`time = constant`, the median of the training rows: what is known without any feature."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `time_s_` to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.time_s_ = float(np.median(np.asarray(y)))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.full(len(X), self.time_s_)


class ScaledColumn:
    """`time = k x column`, with k the median ratio over the training rows.

    feature : name of a column of seconds.
    """

    def __init__(self, feature: str) -> None:
        self.feature = feature

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `scale_` to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.scale_ = float(np.median(np.asarray(y) / columns(X, [self.feature], "null model")[:, 0]))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self.scale_ * columns(X, [self.feature], "null model")[:, 0]


# k x 6 batch MACs / peak: two operations in forward, gradient of the input, gradient of the weights.
null_compute = partial(ScaledColumn, "total_compute_s")
