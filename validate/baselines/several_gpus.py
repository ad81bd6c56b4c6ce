"""Baselines of data-parallel training on several GPUs."""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas.errors import InputError
from trainlaw.validate.baselines.closed_forms import cf21_tensor
from trainlaw.validate.baselines.inputs import columns, group_weights
from trainlaw.validate.least_squares import Prior, robust_least_squares, with_numeric_slopes


class PerfectScaling:
    """`time = single-GPU time`: n GPUs take as long for n batches as one GPU for one; nothing is fitted."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Return self; `y`, shape (n_runs,), and `groups` are not used."""
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return columns(X, [SINGLE_GPU_TIME], "perfect scaling")[:, 0]


# Scale of the latency of a ring step, so that its constant is of order one.
_LATENCY_S = 1e-4


class RingScaling:
    """`time = t1 (1 + c0 log2 n) + c1 ring transfer + c2 steps x 0.1 ms`, with constants >= 0.

    t1 is the single-GPU time; c0 is how much the slowest of n GPUs delays the others; ring and its steps as
    in Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2),
    2009.

    Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU group)^-0.35.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, shape (3,), to seconds `y`, shape (n_runs,); `groups` give the weights."""
        single, terms = self._tables(X)
        log_seconds, weights = np.log(y), group_weights(groups)

        def residuals(constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            total = single + terms @ constants
            return weights * (np.log(total) - log_seconds), weights[:, None] * terms / total[:, None]

        bounds = (np.zeros(3), np.full(3, np.inf))
        fitted = robust_least_squares(
            residuals, np.array([0.01, 1.0, 0.1]), soft_l1_scale=0.25, bounds=bounds
        )
        self.constants_ = fitted.parameters
        return self

    @staticmethod
    def _tables(X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return single-GPU seconds, (n_runs,), and the terms of the constants, seconds, (n_runs, 3)."""
        names = (SINGLE_GPU_TIME, "n_gpus", "ring_transfer_s", "ring_steps")
        single, n_gpus, transfer, steps = columns(X, names, "ring scaling").T
        return single, np.column_stack([single * np.log2(n_gpus), transfer, steps * _LATENCY_S])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        single, terms = self._tables(X)
        return np.asarray(single + terms @ self.constants_)


_FEATURES = (
    SINGLE_GPU_TIME, "gpus_per_node", "n_nodes", "node_ring_s", "network_ring_s", "gradient_bytes",
    "link_byte_per_s", "peer_access", "gradient_tensors", "n_layers",
)  # fmt: skip

# Faster links than any PCIe slot or two-GPU bridge connect all GPUs of a node directly.
_FULL_LINK_BYTE_PER_S = 6e10
# Share of the single-GPU time over which "hidden behind the backward pass" becomes "not hidden": smooth, so
# that the least squares has derivatives.
_SMOOTHING = 0.05
# Share of the cost of a relay that remains with peer access.
_PEER_ACCESS_RELAY = 0.3
_MICROSECONDS = 1e-6

# ln of: straggling per doubling of GPUs, of nodes; fixed cost [ms]; hidden share of an iteration; ring in the
# node, its excess without peer access, relays; fabric; parameter server relative to ring; latency per tensor
# and doubling of GPUs, of nodes [us]; DataParallel transfers, and its cost per layer and GPU [us].
# Round figures, because constants that were fitted to a whole table would leak into the folds.
_START = np.log([0.01, 0.01, 1.0, 0.1, 1.0, 1.0, 0.3, 1.0, 1.0, 30.0, 30.0, 1.0, 30.0])
_PRIOR_DEVIATION = 2.0


class MG13:
    """Thirteen positive constants on top of the single-GPU time.

    They stand for stragglers, rings within a node and across nodes, relays without peer access, parameter
    server, DataParallel, latency per gradient tensor, and communication hidden behind the backward pass.

    Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU group)^-0.35, weak log-normal prior.

    Needs the label column `algorithm` (`ring`, `mpi`, `parameter_server`, `data_parallel`).
    """

    label_columns = ("algorithm",)

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, labels: pd.DataFrame | None = None
    ) -> Self:
        """Fit `constants_`, shape (13,), to seconds `y`, shape (n_runs,); `groups` give the weights."""
        table, algorithms = columns(X, _FEATURES, "MG13"), _algorithms(labels)
        log_seconds, weights = np.log(y), group_weights(groups)

        def values(parameters: np.ndarray) -> np.ndarray:
            return np.asarray(
                weights * (np.log(_seconds(np.exp(parameters), table, algorithms)) - log_seconds)
            )

        prior = Prior(_START, np.full(len(_START), _PRIOR_DEVIATION))
        fitted = robust_least_squares(with_numeric_slopes(values), _START, soft_l1_scale=0.25, prior=prior)
        self.constants_ = np.exp(fitted.parameters)
        return self

    def predict(self, X: pd.DataFrame, labels: pd.DataFrame | None = None) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return _seconds(self.constants_, columns(X, _FEATURES, "MG13"), _algorithms(labels))


def _algorithms(labels: pd.DataFrame | None) -> np.ndarray:
    if labels is None:
        raise InputError("MG13 needs the label column 'algorithm'")
    return labels["algorithm"].to_numpy(dtype=str)


def _seconds(constants: np.ndarray, table: np.ndarray, algorithms: np.ndarray) -> np.ndarray:
    """Return the time of one iteration, seconds, shape (n_runs,)."""
    single, in_node, nodes, ring, fabric, gradient, link, peer, tensors, layers = table.T
    straggle, straggle_nodes, fixed, hidden, ring_factor, no_peer, relay, fabric_factor = constants[:8]
    server, latency, latency_nodes, data_parallel, per_layer = constants[8:]
    transfer = gradient / link
    # The slowest of n GPUs: its expected delay grows with the logarithm of n.
    compute = single * (1.0 + straggle * np.log2(in_node) + straggle_nodes * np.log2(nodes))
    relayed = np.where(peer < 1, 1.0, _PEER_ACCESS_RELAY) * np.maximum(in_node - 2.0, 0.0) * transfer
    relayed = np.where(link < _FULL_LINK_BYTE_PER_S, relayed, 0.0)
    across = fabric_factor * fabric * np.where(algorithms == "parameter_server", server, 1.0)
    calls = tensors * _MICROSECONDS * (latency * np.log2(in_node * nodes) + latency_nodes * np.log2(nodes))
    communication = (ring_factor + no_peer * (1.0 - peer)) * ring + relay * relayed + across + calls
    copies = data_parallel * (in_node - 1.0) * transfer + per_layer * _MICROSECONDS * layers * in_node
    # DataParallel copies model and gradients outside the backward pass, so nothing is hidden.
    shown = np.where(
        algorithms == "data_parallel",
        communication + copies,
        _positive_part(communication - hidden * compute, _SMOOTHING * compute),
    )
    return np.asarray(compute + fixed * 1e-3 + shown)


def _positive_part(value: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return max(value, 0), smoothed over `width`; all in seconds."""
    return np.asarray(0.5 * (value + np.sqrt(value**2 + width**2)))


class ComposedScaling:
    """CF21 with a tensor exponent for one GPU, fitted to the runs on one GPU, and `RingScaling` on top.

    The ring is fitted to runs on several GPUs whose single-GPU time was measured; it predicts from the time
    of CF21. Computation first, then communication on top of it: Pei et al., "Iteration Time Prediction for
    CNN in Multi-GPU Platform", IEEE Access 7, 2019.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `single_` and `ring_` to seconds `y`, shape (n_runs,); `groups` give the weights."""
        alone = X["n_gpus"].to_numpy() == 1
        known = ~alone & np.isfinite(X[SINGLE_GPU_TIME].to_numpy())
        self.single_ = cf21_tensor().fit(X[alone], y[alone], groups[alone])
        self.ring_ = RingScaling().fit(X[known], y[known], groups[known])
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); the measured single-GPU time among the features is ignored."""
        return self.ring_.predict(X.assign(**{SINGLE_GPU_TIME: self.single_.predict(X)}))
