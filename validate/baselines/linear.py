"""Linear baselines: null models, non-negative least squares in 19 time terms, and a power law."""

from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.pair_features import ANCHOR_TIME
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.validate.baselines.inputs import columns
from trainlaw.validate.least_squares import nonnegative_least_squares

# The usual time terms, without the products of the closed forms.
_TIMES = (
    "conv_compute_s conv1x1_compute_s conv3x3_compute_s grouped_conv_compute_s depthwise_compute_s "
    "dense_compute_s conv_output_memory_s batchnorm_memory_s elementwise_memory_s depthwise_output_memory_s "
    "concat_memory_s pool_memory_s parameter_memory_s optimizer_memory_s layer_launch_s kernel_launch_s "
    "input_copy_s iteration_overhead_s"
).split()
_LAYER_INPUTS = ("batch_per_gpu", "bytes_per_element", "layer_input_elements", "bandwidth_byte_per_s")


class NonnegativeLinear:
    """`time = sum of constants x times`, constants >= 0, least squares of the relative error."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, shape (19,), to seconds `y`, shape (n_runs,); `groups` are not used."""
        # Rows divided by their time, so that relative errors are squared.
        relative = self._table(X) / np.asarray(y)[:, None]
        self.constants_ = nonnegative_least_squares(relative, np.ones(len(relative)))
        return self

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        batch, size, elements, bandwidth = columns(X, _LAYER_INPUTS, "non-negative linear model").T
        times = columns(X, _TIMES, "non-negative linear model")
        return np.column_stack([times, batch * size * elements / bandwidth])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.asarray(self._table(X) @ self.constants_)


_FACTORS = (
    "batch_per_gpu",
    "macs",
    "activation_elements",
    "params",
    "n_layers",
    "peak_flop_per_s",
    "bandwidth_byte_per_s",
)


class PowerLaw:
    """`time = c0 x product of feature^power`, times c1 if the optimizer is timed; nine constants.

    Ordinary least squares on logarithms.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `coefficients_`, shape (9,), to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.coefficients_ = np.linalg.lstsq(self._table(X), np.log(y), rcond=None)[0]
        return self

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        logs = np.log(columns(X, _FACTORS, "power law"))
        return np.column_stack([logs, columns(X, ["has_optimizer"], "power law"), np.ones(len(X))])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.asarray(np.exp(self._table(X) @ self.coefficients_))


class MedianTime:
    """`time = constant`, the median of the training rows: what is known without any feature."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `time_s_` to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.time_s_ = float(np.median(np.asarray(y)))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.full(len(X), self.time_s_)


class ScaledColumn:
    """`time = k x column`, with k the median ratio over the training rows.

    feature : name of a column of seconds.
    """

    def __init__(self, feature: str) -> None:
        """Store the settings."""
        self.feature = feature

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `scale_` to seconds `y`, shape (n_runs,); `groups` are not used."""
        self.scale_ = float(np.median(np.asarray(y) / columns(X, [self.feature], "null model")[:, 0]))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self.scale_ * columns(X, [self.feature], "null model")[:, 0]


# k x 6 batch MACs / peak: two operations in forward, gradient of the input, gradient of the weights.
null_compute = partial(ScaledColumn, "total_compute_s")
# k x batch x activation bytes / bandwidth.
null_memory = partial(ScaledColumn, "activation_memory_s")
# k x 2 passes MACs / peak, of one layer.
layer_null = partial(ScaledColumn, "compute_s")
# k x the time on one GPU.
null_scaling = partial(ScaledColumn, SINGLE_GPU_TIME)
# k x the time on the anchor, per GPU pair.
anchor_ratio = partial(ScaledColumn, ANCHOR_TIME)
