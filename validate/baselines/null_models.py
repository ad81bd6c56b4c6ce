"""Null models: one column of ideal seconds times one constant, the least that any method must beat."""

from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.pair_features import ANCHOR_TIME
from trainlaw.validate.baselines.inputs import columns


class ScaledColumn:
    """`time = k x column`, with k the median ratio over the training rows.

    feature : name of a column of seconds.
    """

    def __init__(self, feature: str) -> None:
        """Store the settings."""
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
# k x batch x activation bytes / bandwidth.
null_memory = partial(ScaledColumn, "activation_memory_s")
# k x 2 passes MACs / peak, of one layer.
layer_null = partial(ScaledColumn, "compute_s")
# k x the time on the anchor, per GPU pair.
anchor_ratio = partial(ScaledColumn, ANCHOR_TIME)
