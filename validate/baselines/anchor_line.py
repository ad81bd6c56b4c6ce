"""Straight line through the anchor's times: the linear leg of PROFET's ensemble.

Lee et al., "PROFET: profiling-based CNN training latency prophet for GPU cloud instances", IEEE BigData 2022;
form as in the authors' public code: ordinary least squares of seconds, one model per pair of GPUs.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.anchor_ratio import ANCHOR_TIME
from trainlaw.validate.baselines.inputs import columns


class AnchorLine:
    """`time = a + b x anchor time`, ordinary least squares; two constants per pair of GPUs."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, (a, b), to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.constants_ = np.linalg.lstsq(self._table(X), np.asarray(y, dtype=float), rcond=None)[0]
        return self

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        return np.column_stack([np.ones(len(X)), columns(X, [ANCHOR_TIME], "anchor line")])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self._table(X) @ self.constants_
