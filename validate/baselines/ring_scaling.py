"""Ring all-reduce: single-GPU time, slowed by the slowest of n GPUs, plus the textbook ring; three constants.

Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns, group_weights
from trainlaw.validate.baselines.perfect_scaling import SINGLE_GPU_TIME
from trainlaw.validate.least_squares import robust_least_squares

_LATENCY_S = 1e-4


class RingScaling:
    """`time = t1 (1 + c0 log2 n) + c1 ring transfer + c2 steps x 0.1 ms`, with constants >= 0.

    Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU group)^-0.35.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, shape (3,), to seconds `y`, shape (n_runs,); `groups` give the weights."""
        single, terms = self._tables(X)
        log_seconds, weights = np.log(y), group_weights(groups)

        def residuals(constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            total = single + terms @ constants
            return weights * (np.log(total) - log_seconds), weights[:, None] * terms / total[:, None]

        bounds = (np.zeros(3), np.full(3, np.inf))
        fitted = robust_least_squares(
            residuals, np.array([0.01, 1.0, 0.1]), soft_l1_scale=0.25, bounds=bounds
        )
        self.constants_ = fitted.parameters
        return self

    @staticmethod
    def _tables(X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return single-GPU seconds, (n_runs,), and the terms of the constants, seconds, (n_runs, 3)."""
        names = (SINGLE_GPU_TIME, "n_gpus", "ring_transfer_s", "ring_steps")
        single, n_gpus, transfer, steps = columns(X, names, "ring scaling").T
        return single, np.column_stack([single * np.log2(n_gpus), transfer, steps * _LATENCY_S])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        single, terms = self._tables(X)
        return single + terms @ self.constants_
