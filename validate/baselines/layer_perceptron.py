"""Perceptron of one layer's time, in the manner of MLPredict.

Justus, Brennan, Bonner, McGough, "Predicting the computational cost of deep learning models", IEEE Big Data
2018: a network of 32, 64, 128 and 256 units on batch, sizes, channels, kernel, stride and facts of the GPU.
"""

import warnings
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.inputs import columns

_FEATURES = (
    "batch",
    "kernel_px",
    "stride_px",
    "in_channels",
    "out_channels",
    "rows",
    "reduction",
    "macs",
    "bytes_per_element",
    "n_passes",
    "peak_flop_per_s",
    "bandwidth_byte_per_s",
    "core_count",
    "sm_count",
    "boost_clock_hz",
)


class LayerPerceptron:
    """scikit-learn's perceptron of 32, 64, 128 and 256 units on standardised logarithms, target ln(seconds).

    random_seed : of starting weights and batches.
    """

    def __init__(self, random_seed: int = 0) -> None:
        """Keep the settings; MissingDependencyError without scikit-learn."""
        self.random_seed = random_seed
        self._networks = optional_package("sklearn.neural_network", "sklearn")
        self._threads = optional_package("threadpoolctl", "sklearn")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_layers,), scaled by the training rows; `groups` are not used."""
        table, target = _table(X), np.log(y)
        self.centre_, self.width_ = table.mean(axis=0), table.std(axis=0)
        self.width_[self.width_ < 1e-9] = np.inf
        self.target_centre_ = float(target.mean())
        network = self._networks.MLPRegressor(
            hidden_layer_sizes=(32, 64, 128, 256), max_iter=30, random_state=self.random_seed
        )
        with warnings.catch_warnings(), self._threads.threadpool_limits(1):
            warnings.simplefilter("ignore")  # the number of epochs is the regularisation
            self.network_ = network.fit((table - self.centre_) / self.width_, target - self.target_centre_)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_layers,)."""
        with self._threads.threadpool_limits(1):
            logs = self.network_.predict((_table(X) - self.centre_) / self.width_)
        return np.exp(logs + self.target_centre_)


def _table(X: pd.DataFrame) -> np.ndarray:
    return np.log(np.maximum(columns(X, _FEATURES, "perceptron of layers"), 1e-12))
