"""Baselines of the time of one layer."""

from collections.abc import Sequence
from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.inputs import columns, group_weights
from trainlaw.validate.baselines.learned import GradientBoosting, ScaledPerceptron, safe_logarithms
from trainlaw.validate.least_squares import Prior, robust_least_squares

_MEMORY = ("input_memory_s", "output_memory_s", "weight_memory_s")
# A matrix product that saturates in its three sides, 2MNK/P (1 + K0/K)(1 + N0/N)(1 + M0/M), written out.
_PRODUCT = ("compute_s", "output_compute_s", "im2col_compute_s", "weight_compute_s")
# Of ln(constant): weak, but enough for a block of kind and pass without rows.
_PRIOR_DEVIATION = 4.0


class LayerFormula:
    """`time = slowdown x (sum of constants x times)`, with separate constants by layer kind and for training.

    times : columns of seconds. hidden : the shorter of the compute and memory times is hidden (a roofline).
    The compute times are multiplied by clock_ratio^-a exp(b wide_sm), the memory times by exp(c wide_sm).

    Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU group)^-0.35, weak log-normal prior.
    """

    def __init__(self, times: Sequence[str], hidden: bool = False) -> None:
        """Store the settings."""
        self.times = tuple(times)
        self.hidden = hidden

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `parameters_` to seconds `y`, shape (n_layers,); `groups` give the weights."""
        times, rates = self._tables(X)
        log_seconds, weights = np.log(y), group_weights(groups)
        start = np.zeros(times.shape[1] + rates.shape[1])
        present = times > 0
        for index in range(times.shape[1]):
            rows = present[:, index]
            if rows.any():
                ratio = np.median(log_seconds[rows] - np.log(times[rows, index]))
                start[index] = ratio - np.log(len(self.times))

        def residuals(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            parts = self._parts(parameters, times, rates)
            total = parts.sum(axis=1)
            shares = parts / total[:, None]
            compute = shares @ self._is_compute
            memory = shares @ self._is_memory
            slopes = [shares, -rates[:, 0] * compute, rates[:, 1] * compute, rates[:, 1] * memory]
            return weights * (np.log(total) - log_seconds), weights[:, None] * np.column_stack(slopes)

        start = np.append(start[: times.shape[1]], np.zeros(3))
        prior = Prior(start, np.full(len(start), _PRIOR_DEVIATION))
        fitted = robust_least_squares(
            residuals, start, soft_l1_scale=0.25, prior=prior, max_steps=60, tolerance=1e-6
        )
        self.parameters_ = fitted.parameters
        return self

    @property
    def _is_compute(self) -> np.ndarray:
        return np.tile([float(name.endswith("compute_s")) for name in self.times], 4)

    @property
    def _is_memory(self) -> np.ndarray:
        return np.tile([float(name.endswith("memory_s")) for name in self.times], 4)

    def _tables(self, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return the times, (n_layers, 4 x n_times), zero outside the layer's block; ln(clock), wide."""
        times = columns(X, self.times, "layer formula")
        kinds = columns(X, ("is_conv", "n_passes"), "layer formula")
        block = 2 * (kinds[:, 0] > 0.5) + (kinds[:, 1] > 1)
        table = np.concatenate(
            [np.where((block == index)[:, None], times, 0.0) for index in range(4)], axis=1
        )
        rates = columns(X, ("clock_ratio", "wide_sm"), "layer formula")
        rates[:, 0] = np.log(rates[:, 0])
        return table, rates

    def _parts(self, parameters: np.ndarray, times: np.ndarray, rates: np.ndarray) -> np.ndarray:
        clock, wide, wide_memory = parameters[-3:]
        compute = np.exp(-clock * rates[:, 0] + wide * rates[:, 1])[:, None]
        memory = np.exp(wide_memory * rates[:, 1])[:, None]
        factors = np.where(self._is_compute > 0, compute, np.where(self._is_memory > 0, memory, 1.0))
        parts = times * factors * np.exp(parameters[:-3])
        if self.hidden:
            computing, moving = parts * self._is_compute, parts * self._is_memory
            slower = computing.sum(axis=1) >= moving.sum(axis=1)
            parts = np.where(slower[:, None], parts - moving, parts - computing)
        return np.asarray(parts)

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_layers,)."""
        return np.asarray(self._parts(self.parameters_, *self._tables(X)).sum(axis=1))


# The longer of the time of the MACs and of the bytes, plus a launch.
layer_roofline = partial(LayerFormula, ("compute_s", *_MEMORY, "launch_s"), hidden=True)
# A saturating matrix product, its bytes and a launch.
layer_matrix_product = partial(LayerFormula, (*_PRODUCT, *_MEMORY, "launch_s"))
layer_boosting_on_product = partial(GradientBoosting, layer_matrix_product)

_FEATURES = (
    "batch kernel_px stride_px in_channels out_channels rows reduction macs bytes_per_element n_passes "
    "peak_flop_per_s bandwidth_byte_per_s core_count sm_count boost_clock_hz"
).split()


class LayerPerceptron:
    """Perceptron of 32, 64, 128 and 256 units on standardised logarithms, target ln(seconds).

    As MLPredict, on batch, sizes, channels, kernel, stride and GPU specifications: Justus, Brennan, Bonner,
    McGough, "Predicting the computational cost of deep learning models", IEEE Big Data 2018.
    random_seed : of starting weights and batches.
    """

    def __init__(self, random_seed: int = 0) -> None:
        """Store the settings; MissingDependencyError without scikit-learn."""
        self.random_seed = random_seed
        self._scaled = ScaledPerceptron(
            hidden_layer_sizes=(32, 64, 128, 256), max_iter=30, random_state=random_seed
        )

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_layers,), scaled by the training rows; `groups` are not used."""
        target = np.log(y)
        self.centre_ = float(target.mean())
        self._scaled.fit(self._table(X), target - self.centre_)
        return self

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        return safe_logarithms(columns(X, _FEATURES, "perceptron of layers"))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_layers,)."""
        return np.exp(self._scaled.predict(self._table(X)) + self.centre_)
