"""Null models: one constant, alone or times a column."""

from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.pair_features import ANCHOR_TIME
from trainlaw.validate.baselines.inputs import columns


class AnchorRates:
    """`time = k x anchor time x anchor's rate / target's rate`, with k the median over pairs of two GPUs.

    rate : feature of the target; the anchor's has the prefix `anchor_`.
    """

    def __init__(self, rate: str) -> None:
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
