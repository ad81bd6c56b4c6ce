"""Small perceptron: two hidden layers on standardised logarithms of every feature."""

import warnings
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import optional_package


class Perceptron:
    """scikit-learn's perceptron with 48 and 24 hidden units, trained by L-BFGS on ln(seconds).

    random_seed : of the starting weights.
    """

    def __init__(self, random_seed: int = 0) -> None:
        """Keep the settings; MissingDependencyError without scikit-learn."""
        self.random_seed = random_seed
        self._networks = optional_package("sklearn.neural_network", "sklearn")
        self._threads = optional_package("threadpoolctl", "sklearn")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,), scaled by the training rows; `groups` are not used."""
        table = _logarithms(X)
        self.centre_, self.width_ = table.mean(axis=0), table.std(axis=0)
        # A feature without variation is dropped by an infinite width.
        self.width_[self.width_ < 1e-9] = np.inf
        target = np.log(y)
        self.target_centre_, self.target_width_ = float(target.mean()), float(target.std()) or 1.0
        network = self._networks.MLPRegressor(
            hidden_layer_sizes=(48, 24),
            solver="lbfgs",
            alpha=0.1,
            max_iter=200,
            random_state=self.random_seed,
        )
        # One thread: many times faster on matrices of this size.
        with warnings.catch_warnings(), self._threads.threadpool_limits(1):
            # The limit of steps is the regularisation of a small network; reaching it is no fault.
            warnings.simplefilter("ignore")
            scaled = (target - self.target_centre_) / self.target_width_
            self.network_ = network.fit((table - self.centre_) / self.width_, scaled)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        with self._threads.threadpool_limits(1):
            scaled = self.network_.predict((_logarithms(X) - self.centre_) / self.width_)
        return np.exp(scaled * self.target_width_ + self.target_centre_)


def _logarithms(X: pd.DataFrame) -> np.ndarray:
    """Return ln of each feature; zeros become the logarithm of a picosecond, well below any time."""
    return np.log(np.maximum(X.to_numpy(dtype=float), 1e-12))
