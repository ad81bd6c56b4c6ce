"""Null models: one column of ideal seconds, times one constant. What any method must beat."""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns


class ScaledColumn:
    """`time = k x column`, with k the median ratio over the training rows.

    feature : name of a column of seconds.
    """

    def __init__(self, feature: str) -> None:
        """Keep the settings."""
        self.feature = feature

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `scale_` to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.scale_ = float(np.median(np.asarray(y) / columns(X, [self.feature], "null model")[:, 0]))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self.scale_ * columns(X, [self.feature], "null model")[:, 0]
