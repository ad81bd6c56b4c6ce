"""Power law: a product of powers of batch, CNN sums and GPU rates; ordinary least squares on logarithms."""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns

_POWERS_OF = (
    "batch_per_gpu",
    "macs",
    "activation_elements",
    "params",
    "n_layers",
    "peak_flop_per_s",
    "bandwidth_byte_per_s",
)


class PowerLaw:
    """`time = c0 x product of feature^power`, times c1 where the optimizer is timed; nine constants."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `coefficients_`, shape (9,), to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.coefficients_ = np.linalg.lstsq(self._table(X), np.log(y), rcond=None)[0]
        return self

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        logs = np.log(columns(X, _POWERS_OF, "power law"))
        return np.column_stack([logs, columns(X, ["has_optimizer"], "power law"), np.ones(len(X))])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.exp(self._table(X) @ self.coefficients_)
