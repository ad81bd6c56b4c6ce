"""PROFET's scaler: the time between two end points, a parabola of batch or side, the same for all nets.

Lee et al., "PROFET: profiling-based CNN training latency prophet for GPU cloud instances", IEEE BigData 2022:
times are brought to 0 at the smaller and 1 at the larger end, and a polynomial of order 2 is fitted.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns

_NAMES = ("low_time_s", "high_time_s", "position")


class PolynomialScaler:
    """`time = low + (high - low) (x + k x (1 - x))`, x where the run lies between its ends; one constant."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `bend_` to seconds `y`, shape (n_rows,), by least squares; `groups` are not used."""
        low, high, place = columns(X, _NAMES, "polynomial scaler").T
        # A series whose time does not grow has no place between 0 and 1.
        grows = high > 1.01 * low
        bow = (place * (1.0 - place))[grows]
        above = ((np.asarray(y) - low) / np.where(grows, high - low, 1.0) - place)[grows]
        self.bend_ = float(bow @ above / max(bow @ bow, 1e-12))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_rows,)."""
        low, high, place = columns(X, _NAMES, "polynomial scaler").T
        return low + (high - low) * (place + self.bend_ * place * (1.0 - place))
