"""Roofline baselines: of a whole iteration, and layer by layer.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import cnn_table
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.zoo import build, timm_table
from trainlaw.formulas.errors import InputError, TrainlawError
from trainlaw.validate.baselines.inputs import columns, group_weights
from trainlaw.validate.least_squares import Prior, robust_least_squares

_FEATURES = ("total_compute_s", "activation_memory_s", "layer_launch_s", "iteration_overhead_s")

# The maximum has local minima, so the search starts balanced, memory-bound and scaled; ln of the constants.
_STARTS = ((0.0, 0.0, 0.0, 0.0), (1.0, 3.0, 1.0, 1.0), (1.0, 2.0, 2.0, 0.0))


class Roofline:
    """`time = max(c0 compute, c1 memory) + c2 layers + c3`: positive constants, log residuals, soft L1."""

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
        """Return the four times of each run, seconds, (n_runs, 4); the shorter of the first two is zero."""
        times = table * constants
        # Zeroing the hidden time makes its derivative zero, too.
        compute_bound = times[:, 0] >= times[:, 1]
        times[compute_bound, 1] = 0.0
        times[~compute_bound, 0] = 0.0
        return np.asarray(times)

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.asarray(self._terms(columns(X, _FEATURES, "roofline"), self.constants_).sum(axis=1))


# An estimator sees numbers and no CNN name. Built-in CNNs are therefore looked up by what identifies their
# arithmetic, per image: MACs, parameters and activations.
CNN_SUMS = ("macs", "params", "activation_elements")
# In ln, added up over the three sums: CNNs that differ by more are different CNNs.
_TOLERANCE = 0.25


@dataclass(frozen=True, eq=False)
class LayerSizes:
    """Distinct layers of a CNN for one image; each array has shape (n_layers,).

    count : number of equal layers. rows, reduction, columns : sizes of the matrix product of one group.
    macs : of all groups. moved : elements read and written, weights included. weights : elements.
    kind : 0 stride-1 3x3, 1 1x1, 2 other ungrouped convolution, 3 grouped or depthwise convolution, 4 dense,
    5 anything without MACs.
    """

    count: np.ndarray
    kind: np.ndarray
    macs: np.ndarray
    rows: np.ndarray
    reduction: np.ndarray
    columns: np.ndarray
    moved: np.ndarray
    weights: np.ndarray


N_KINDS = 5


@cache
def _built_in_cnns() -> tuple[np.ndarray, tuple[tuple[str, int, int], ...]]:
    """Return ln of the sums of the built-in CNNs, (n_cnns, 3), and name, pixels and classes of each."""
    # The zoo first: where timm's layers have the same sums, the first of equals is taken.
    table = pd.concat([cnn_table(), timm_table()], ignore_index=True)
    keys = zip(table["cnn"], table["input_size_px"], table["n_classes"], strict=True)
    return np.log(table[list(CNN_SUMS)].to_numpy(dtype=float)), tuple(
        (str(cnn), int(pixels), int(classes)) for cnn, pixels, classes in keys
    )


def find_layers(sums: tuple[float, float, float]) -> LayerSizes | None:
    """Return the layers of the built-in CNN with these `CNN_SUMS`, or None if none is near enough."""
    logs, keys = _built_in_cnns()
    distances = np.abs(logs - np.log(sums)).sum(axis=1)
    nearest = int(np.argmin(distances))
    return _built(keys[nearest]) if distances[nearest] < _TOLERANCE else None


@lru_cache(maxsize=512)
def _built(key: tuple[str, int, int]) -> LayerSizes | None:
    try:
        columns = LayerColumns.of(build(*key))
    except TrainlawError:
        return None  # a CNN of which only the sums are known
    return _layer_sizes(columns)


def _layer_sizes(columns: LayerColumns) -> LayerSizes:
    kind = np.select(
        [
            columns.group["dense"],
            columns.depthwise | (columns.conv & columns.grouped),
            columns.kernel(3) & (columns.stride == 1),
            columns.kernel(1),
            columns.single_conv,
        ],
        [4, 3, 0, 1, 2],
        default=5,
    )
    moved = columns.read + columns.output_elements + columns.parameters
    table = np.column_stack(
        [kind, columns.macs, columns.rows, columns.reduction, columns.columns, moved, columns.parameters]
    )[columns.layers]
    distinct, count = np.unique(table, axis=0, return_counts=True)
    kinds, macs, rows, reduction, width, moved, weights = distinct.T
    return LayerSizes(count.astype(float), kinds.astype(int), macs, rows, reduction, width, moved, weights)


_RUN_FEATURES = (
    "batch_per_gpu",
    "bytes_per_element",
    "peak_flop_per_s",
    "bandwidth_byte_per_s",
    "clock_ratio",
    "wide_sm",
)
_FLOP_PER_MAC = 6.0  # 2 operations x forward, gradient of the input, gradient of the weights
# Scales, so that the constants of launches and overhead are of order one.
_LAUNCH_S, _OVERHEAD_S = 1e-5, 1e-3
# ln of: compute factor per kind of layer; half-performance lengths K0, N0, M0; memory factor; launch;
# overhead. Then exponents of the clock ratio and of wide multiprocessors on compute and on memory.
_START = np.array([0.0] * N_KINDS + [3.0, 3.0, 5.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
_PRIOR_DEVIATION = 3.0
_TIMES = [*range(N_KINDS), N_KINDS + 3, N_KINDS + 4, N_KINDS + 5]
_K0, _MEMORY, _LAUNCH, _OVERHEAD = N_KINDS, N_KINDS + 3, N_KINDS + 4, N_KINDS + 5


class LayerwiseRoofline:
    """Each layer takes the longer of its compute time, which saturates, and its memory time.

    Eleven positive constants and three exponents. The efficiency of a matrix product falls where its sides
    are short, as (1 + M0/M)(1 + N0/N)(1 + K0/K): Hockney's half-performance length (Parallel Computers 2,
    1988), once per side. A CNN that is not built in has no prediction (nan).

    Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU group)^-0.35, weak log-normal prior.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `parameters_`, shape (14,), to seconds `y`, shape (n_runs,); `groups` give the weights."""
        table = _Layers(X)
        if not table.known.any():
            raise InputError("layer-wise roofline: no run is of a CNN whose layers are known")
        log_seconds, weights = np.log(y)[table.known], group_weights(groups)[table.known]

        # Start where the median time is right, so that the fit does not depend on the unit of time.
        start = _START.copy()
        start[_TIMES] += np.median(log_seconds - np.log(table.seconds(_START)[0]))

        def residuals(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            total, slopes = table.seconds(parameters)
            return weights * (np.log(total) - log_seconds), weights[:, None] * slopes / total[:, None]

        prior = Prior(start, np.full(len(start), _PRIOR_DEVIATION))
        fitted = robust_least_squares(
            residuals, start, soft_l1_scale=0.25, prior=prior, max_steps=60, tolerance=1e-5
        )
        self.parameters_ = fitted.parameters
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); nan for a CNN whose layers are not known."""
        table = _Layers(X)
        predicted = np.full(len(X), np.nan)
        if table.known.any():
            predicted[table.known] = table.seconds(self.parameters_)[0]
        return predicted


class _Layers:
    """The distinct layers of all runs whose CNN is known, flat: one entry per run and layer."""

    def __init__(self, X: pd.DataFrame) -> None:
        runs = columns(X, _RUN_FEATURES, "layer-wise roofline")
        sums = [(row[0], row[1], row[2]) for row in columns(X, CNN_SUMS, "layer-wise roofline").tolist()]
        found = {key: find_layers(key) for key in set(sums)}
        self.known = np.array([found[key] is not None for key in sums])
        layers = [sizes for key in sums if (sizes := found[key]) is not None]
        counts = [len(sizes.count) for sizes in layers]
        self.run = np.repeat(np.arange(len(layers)), counts)
        self.n_runs = len(layers)
        batch, size, peak, bandwidth, self.rho, self.kappa = runs[self.known].T
        self.rho = np.log(self.rho)
        count, macs = _flat(layers, "count"), _flat(layers, "macs")
        self.kind = _flat(layers, "kind").astype(int)
        on = self.run
        self.compute = count * _FLOP_PER_MAC * batch[on] * macs / peak[on]
        activations = _flat(layers, "moved") - _flat(layers, "weights")
        # Weights are read and written in fp32 also where activations have two bytes.
        moved = batch[on] * size[on] * activations + 4.0 * _flat(layers, "weights")
        self.memory = count * 3.0 * moved / bandwidth[on]
        lengths = (_flat(layers, "reduction"), _flat(layers, "columns"), batch[on] * _flat(layers, "rows"))
        self.inverse_lengths = [1.0 / np.maximum(length, 1.0) for length in lengths]
        self.launch = _LAUNCH_S * self._sum(count)

    def _sum(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.run, values, minlength=self.n_runs)

    def seconds(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return seconds, (n_runs,), and their derivatives with respect to the parameters, (n_runs, 14)."""
        constants, (clock, wide, wide_memory) = np.exp(parameters[:-3]), parameters[-3:]
        short = [constants[_K0 + i] * inverse for i, inverse in enumerate(self.inverse_lengths)]
        slow = np.exp(-clock * self.rho + wide * self.kappa)[self.run]
        factor = np.append(constants[:N_KINDS], 0.0)[self.kind]
        compute = self.compute * factor * slow
        for part in short:
            compute = compute * (1.0 + part)
        memory = self.memory * constants[_MEMORY] * np.exp(wide_memory * self.kappa)[self.run]
        # The hidden time has no influence, so its derivative is zero, too.
        compute, memory = np.where(compute >= memory, (compute, 0.0 * memory), (0.0 * compute, memory))
        computing, moving = self._sum(compute), self._sum(memory)
        launch = self.launch * constants[_LAUNCH]
        overhead = np.full(self.n_runs, _OVERHEAD_S * constants[_OVERHEAD])
        kinds = [self._sum(np.where(self.kind == kind, compute, 0.0)) for kind in range(N_KINDS)]
        saturation = [self._sum(compute * part / (1.0 + part)) for part in short]
        slopes = [*kinds, *saturation, moving, launch, overhead]
        slopes += [-self.rho * computing, self.kappa * computing, self.kappa * moving]
        return computing + moving + launch + overhead, np.column_stack(slopes)


def _flat(layers: list[LayerSizes], name: str) -> np.ndarray:
    return np.concatenate([np.empty(0), *(getattr(sizes, name) for sizes in layers)])
