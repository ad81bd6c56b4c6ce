"""Ratio of an anchor: the target takes k times as long as the anchor. The null model of a measured anchor."""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns

#: The measured time of the same work on the anchor GPU, seconds.
ANCHOR_TIME = "anchor_time_s"


class AnchorRatio:
    """`time = k x anchor time`, with k the median ratio over the training rows of one pair of GPUs."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `ratio_` to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.ratio_ = float(np.median(np.asarray(y) / columns(X, [ANCHOR_TIME], "anchor ratio")[:, 0]))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self.ratio_ * columns(X, [ANCHOR_TIME], "anchor ratio")[:, 0]
