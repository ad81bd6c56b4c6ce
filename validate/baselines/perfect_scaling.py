"""Perfect scaling: n GPUs take as long for n batches as one GPU for one. The null model of several GPUs."""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns

#: The measured time of the same configuration on one GPU, seconds; the caller adds it to the features.
SINGLE_GPU_TIME = "single_gpu_time_s"


class PerfectScaling:
    """`time = single-GPU time`; nothing is fitted."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Return self; nothing is learned from `y`, shape (n_runs,)."""
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return columns(X, [SINGLE_GPU_TIME], "perfect scaling")[:, 0]
