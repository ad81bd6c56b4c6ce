"""Several GPUs without a measured time on one: a closed form of one GPU under a ring, each fitted on its own.

The decomposition of Pei et al., "Iteration Time Prediction for CNN in Multi-GPU Platform", IEEE Access 7,
2019: computing first, then communication on top of it.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.closed_form_21 import cf21_tensor
from trainlaw.validate.baselines.perfect_scaling import SINGLE_GPU_TIME
from trainlaw.validate.baselines.ring_scaling import RingScaling


class ComposedScaling:
    """CF21 with a tensor exponent for one GPU, fitted on the runs on one; `RingScaling` on top of it.

    The ring is fitted on runs on several GPUs whose time on one was measured, and predicts from the time that
    CF21 says.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `single_` and `ring_` to seconds `y`, shape (n_runs,); `groups` give the weights."""
        alone = X["n_gpus"].to_numpy() == 1
        known = ~alone & np.isfinite(X[SINGLE_GPU_TIME].to_numpy())
        self.single_ = cf21_tensor().fit(X[alone], y[alone], groups[alone])
        self.ring_ = RingScaling().fit(X[known], y[known], groups[known])
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); the measured time on one GPU among the features is not read."""
        return self.ring_.predict(X.assign(**{SINGLE_GPU_TIME: self.single_.predict(X)}))
