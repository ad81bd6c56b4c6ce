"""Non-negative linear model of grouped operation times: each group of kernels has its factor."""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.anchor_ratio import ANCHOR_TIME
from trainlaw.validate.baselines.inputs import columns
from trainlaw.validate.baselines.operation_groups import grouped_profile
from trainlaw.validate.least_squares import nonnegative_least_squares


class OperationsNonnegative:
    """`time = sum of constants x grouped times + constant`, all >= 0, least squares of relative error."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_` to seconds `y`, shape (n_runs,); `groups` are not used."""
        relative = self._table(X) / np.asarray(y, dtype=float)[:, None]
        self.constants_ = nonnegative_least_squares(relative, np.ones(len(relative)))
        return self

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        # The idle times of a profile are the profiler's, not the step's.
        names = [name for name in X.columns if "IDLE" not in name and name.startswith(("device_", "host_"))]
        anchor = columns(X, [ANCHOR_TIME], "model of operations")
        return np.column_stack([grouped_profile(X, names), anchor, np.full(len(X), 1e-3)])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self._table(X) @ self.constants_
