"""Roofline: the slower of compute and memory traffic, plus launches and an overhead; four constants.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns
from trainlaw.validate.least_squares import robust_least_squares

_FEATURES = ("total_compute_s", "activation_memory_s", "layer_launch_s", "iteration_overhead_s")

# Where the minimum is looked for: balanced, memory-bound, and both scaled, in ln of the four constants.
_STARTS = ((0.0, 0.0, 0.0, 0.0), (1.0, 3.0, 1.0, 1.0), (1.0, 2.0, 2.0, 0.0))


class Roofline:
    """`time = max(c0 compute, c1 memory) + c2 layers + c3`, positive constants, log residuals, soft L1."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, shape (4,), to seconds `y`, shape (n_runs,); `groups` are not used."""
        table, log_seconds = columns(X, _FEATURES, "roofline"), np.log(y)

        def residuals(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            times = self._terms(table, np.exp(parameters))
            total = times.sum(axis=1)
            return np.log(total) - log_seconds, times / total[:, None]

        fits = [robust_least_squares(residuals, np.array(start), soft_l1_scale=0.25) for start in _STARTS]
        self.constants_ = np.exp(min(fits, key=lambda fit: fit.cost).parameters)
        return self

    @staticmethod
    def _terms(table: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """Return the four times of each run, seconds, (n_runs, 4); of the first two the shorter is zero."""
        times = table * constants
        # Zeroing the hidden one makes its derivative zero, too.
        compute_bound = times[:, 0] >= times[:, 1]
        times[compute_bound, 1] = 0.0
        times[~compute_bound, 0] = 0.0
        return times

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self._terms(columns(X, _FEATURES, "roofline"), self.constants_).sum(axis=1)
