"""MG13: several GPUs in thirteen constants: stragglers, ring inside a node and across nodes, relays without
peer access, parameter server, DataParallel, latency per gradient tensor, and what the backward pass hides.

All constants are fitted anew in every fold, from round starting values.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.validate.baselines.inputs import columns, group_weights
from trainlaw.validate.baselines.perfect_scaling import SINGLE_GPU_TIME
from trainlaw.validate.least_squares import Prior, robust_least_squares, with_numeric_slopes

_FEATURES = (
    SINGLE_GPU_TIME,
    "gpus_per_node",
    "n_nodes",
    "node_ring_s",
    "network_ring_s",
    "gradient_bytes",
    "link_byte_per_s",
    "peer_access",
    "gradient_tensors",
    "n_layers",
)

# Links faster than any PCIe slot or pair of cards on a bridge join all GPUs of a node directly.
_FULL_LINK_BYTE_PER_S = 6e10
# Share of the single-GPU time over which "hidden behind the backward pass" turns into "not hidden".
_SMOOTHING = 0.05
_PEER_ACCESS_RELAY = 0.3
_MICROSECONDS = 1e-6

# ln of: straggling per doubling of GPUs, of nodes; fixed cost [ms]; hidden share of the step; ring in the
# node, its excess without peer access, relays; network; parameter server against ring; latency per tensor and
# doubling of GPUs, of nodes [us]; DataParallel transfers, and its cost per layer and GPU [us].
_START = np.log([0.01, 0.01, 1.0, 0.1, 1.0, 1.0, 0.3, 1.0, 1.0, 30.0, 30.0, 1.0, 30.0])
_PRIOR_DEVIATION = 2.0


class MG13:
    """Thirteen positive constants on top of the single-GPU time.

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
            return weights * (np.log(_seconds(np.exp(parameters), table, algorithms)) - log_seconds)

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
    single, in_node, nodes, ring, network, gradient, link, peer, tensors, layers = table.T
    straggle, straggle_nodes, fixed, hidden, ring_factor, no_peer, relay, network_factor = constants[:8]
    server, latency, latency_nodes, data_parallel, per_layer = constants[8:]
    transfer = gradient / link
    compute = single * (1.0 + straggle * np.log2(in_node) + straggle_nodes * np.log2(nodes))
    relayed = np.where(peer < 1, 1.0, _PEER_ACCESS_RELAY) * np.maximum(in_node - 2.0, 0.0) * transfer
    relayed = np.where(link < _FULL_LINK_BYTE_PER_S, relayed, 0.0)
    across = network_factor * network * np.where(algorithms == "parameter_server", server, 1.0)
    calls = tensors * _MICROSECONDS * (latency * np.log2(in_node * nodes) + latency_nodes * np.log2(nodes))
    communication = (ring_factor + no_peer * (1.0 - peer)) * ring + relay * relayed + across + calls
    copies = data_parallel * (in_node - 1.0) * transfer + per_layer * _MICROSECONDS * layers * in_node
    shown = np.where(
        algorithms == "data_parallel",
        communication + copies,
        _positive_part(communication - hidden * compute, _SMOOTHING * compute),
    )
    return compute + fixed * 1e-3 + shown


def _positive_part(value: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return max(value, 0), rounded off over `width`; all in seconds."""
    return 0.5 * (value + np.sqrt(value**2 + width**2))
