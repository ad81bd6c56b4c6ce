"""Layer-wise roofline: each layer takes the slower of its compute, which saturates, and its memory traffic.

Roofline as Williams, Waterman, Patterson, CACM 52(4), 2009, applied to each layer; the efficiency of a matrix
product falls where its sides are short, as (1 + M0/M)(1 + N0/N)(1 + K0/K) (Hockney's half-performance length,
Parallel Computers 2, 1988, once per side).
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.validate.baselines.inputs import columns, group_weights
from trainlaw.validate.baselines.layer_facts import N_KINDS, SUMS, LayerFacts, layers_of_sums
from trainlaw.validate.least_squares import Prior, robust_least_squares

_RUN_FEATURES = (
    "batch_per_gpu",
    "bytes_per_element",
    "peak_flop_per_s",
    "bandwidth_byte_per_s",
    "clock_ratio",
    "wide_sm",
)
_FLOP_PER_MAC = 6.0  # 2 operations x forward, gradient of the input, gradient of the weights
_LAUNCH_S, _OVERHEAD_S = 1e-5, 1e-3
# ln of: compute factor per kind of layer; half-performance lengths K0, N0, M0; memory factor; launch;
# overhead. Then exponents of the clock ratio and of wide multiprocessors on compute and on memory.
_START = np.array([0.0] * N_KINDS + [3.0, 3.0, 5.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
_PRIOR_DEVIATION = 3.0
_TIMES = [*range(N_KINDS), N_KINDS + 3, N_KINDS + 4, N_KINDS + 5]
_K0, _MEMORY, _LAUNCH, _OVERHEAD = N_KINDS, N_KINDS + 3, N_KINDS + 4, N_KINDS + 5


class LayerwiseRoofline:
    """Eleven positive constants and three exponents; the layers are those of the shipped networks.

    A network that is not shipped has no prediction (nan). Fit: log residuals, soft L1 (scale 0.25), weight
    (rows of the GPU group)^-0.35, weak log-normal prior.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `parameters_`, shape (14,), to seconds `y`, shape (n_runs,); `groups` give the weights."""
        table = _Layers(X)
        if not table.known.any():
            raise InputError("layer-wise roofline: no run is of a network whose layers are known")
        log_seconds, weights = np.log(y)[table.known], group_weights(groups)[table.known]

        # From where the median time is right: so the fit does not depend on the unit of time.
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
        """Return seconds, shape (n_runs,); nan for a network whose layers are not known."""
        table = _Layers(X)
        predicted = np.full(len(X), np.nan)
        if table.known.any():
            predicted[table.known] = table.seconds(self.parameters_)[0]
        return predicted


class _Layers:
    """The distinct layers of all runs whose network is known, flat: one entry per run and layer."""

    def __init__(self, X: pd.DataFrame) -> None:
        runs = columns(X, _RUN_FEATURES, "layer-wise roofline")
        sums = [tuple(row) for row in columns(X, SUMS, "layer-wise roofline").tolist()]
        found = {key: layers_of_sums(key) for key in set(sums)}
        self.known = np.array([found[key] is not None for key in sums])
        layers = [facts for key in sums if (facts := found[key]) is not None]
        sizes = [len(facts.count) for facts in layers]
        self.run = np.repeat(np.arange(len(layers)), sizes)
        self.n_runs = len(layers)
        batch, size, peak, bandwidth, self.rho, self.kappa = runs[self.known].T
        self.rho = np.log(self.rho)
        count, macs = _flat(layers, "count"), _flat(layers, "macs")
        self.kind = _flat(layers, "kind").astype(int)
        on = self.run
        self.compute = count * _FLOP_PER_MAC * batch[on] * macs / peak[on]
        activations = _flat(layers, "moved") - _flat(layers, "weights")
        moved = batch[on] * size[on] * activations + 4.0 * _flat(layers, "weights")
        self.memory = count * 3.0 * moved / bandwidth[on]
        lengths = (_flat(layers, "reduction"), _flat(layers, "columns"), batch[on] * _flat(layers, "rows"))
        self.inverse_lengths = [1.0 / np.maximum(length, 1.0) for length in lengths]
        self.launch = _LAUNCH_S * self._sum(count)

    def _sum(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.run, values, minlength=self.n_runs)

    def seconds(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return seconds, (n_runs,), and their derivatives by the parameters, (n_runs, 14)."""
        constants, (clock, wide, wide_memory) = np.exp(parameters[:-3]), parameters[-3:]
        short = [constants[_K0 + i] * inverse for i, inverse in enumerate(self.inverse_lengths)]
        slow = np.exp(-clock * self.rho + wide * self.kappa)[self.run]
        factor = np.append(constants[:N_KINDS], 0.0)[self.kind]
        compute = self.compute * factor * slow
        for part in short:
            compute = compute * (1.0 + part)
        memory = self.memory * constants[_MEMORY] * np.exp(wide_memory * self.kappa)[self.run]
        # The hidden one of the two has no influence, so its derivative is zero, too.
        compute, memory = np.where(compute >= memory, (compute, 0.0 * memory), (0.0 * compute, memory))
        computing, moving = self._sum(compute), self._sum(memory)
        launch = self.launch * constants[_LAUNCH]
        overhead = np.full(self.n_runs, _OVERHEAD_S * constants[_OVERHEAD])
        kinds = [self._sum(np.where(self.kind == kind, compute, 0.0)) for kind in range(N_KINDS)]
        saturation = [self._sum(compute * part / (1.0 + part)) for part in short]
        slopes = [*kinds, *saturation, moving, launch, overhead]
        slopes += [-self.rho * computing, self.kappa * computing, self.kappa * moving]
        return computing + moving + launch + overhead, np.column_stack(slopes)


def _flat(layers: list[LayerFacts], name: str) -> np.ndarray:
    return np.concatenate([np.empty(0), *(getattr(facts, name) for facts in layers)])
