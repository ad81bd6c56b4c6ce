"""Features of several GPUs: seconds that each way of exchanging the gradients takes on the run's links."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from trainlaw.datasets.algorithms import ALGORITHMS, FEATURE_OF_ALGORITHM
from trainlaw.datasets.communication import (
    butterfly_s,
    data_parallel_s,
    parameter_server_s,
    ring_s,
    ring_transfer_s,
    transfer_s,
    tree_s,
)
from trainlaw.datasets.feature_rows import Columns, Feature, derived_feature


def _slowest_rate(columns: Columns) -> np.ndarray:
    link, network = columns["link_byte_per_s"], columns["network_byte_per_s"]
    crossing = columns["n_nodes"] > 1
    return np.where(crossing, np.where(link > 0, np.minimum(link, network), network), link)


def _latency(columns: Columns) -> np.ndarray:
    return np.where(columns["n_nodes"] > 1, columns["network_latency_s"], columns["link_latency_s"])


def _flat(
    form: Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike], np.ndarray],
) -> Callable[[Columns], np.ndarray]:
    """Return the feature function of a form over all GPUs, at the rate of the slowest link on the way."""
    return lambda c: form(c["gradient_bytes"], c["n_gpus"], _slowest_rate(c), _latency(c))


def _hierarchical_ring(columns: Columns) -> np.ndarray:
    inside = ring_s(
        columns["gradient_bytes"],
        columns["gpus_per_node"],
        columns["link_byte_per_s"],
        columns["link_latency_s"],
    )
    across = ring_s(
        columns["gradient_bytes"],
        columns["n_nodes"],
        columns["network_byte_per_s"],
        columns["network_latency_s"],
    )
    return inside + across


def _model_parallel(columns: Columns) -> np.ndarray:
    mean_output = columns["conv_output_elements"] / np.maximum(columns["n_conv"], 1.0)
    cut_bytes = columns["batch_per_gpu"] * columns["bytes_per_element"] * mean_output
    cuts = columns["n_gpus"] - 1
    return (
        2
        * cuts
        * (transfer_s(np.where(cuts > 0, cut_bytes, 0.0), _slowest_rate(columns)) + _latency(columns))
    )


def _of_algorithm(columns: Columns) -> np.ndarray:
    code = columns["algorithm_code"]
    choices = [np.zeros_like(code), *(columns[FEATURE_OF_ALGORITHM[name]] for name in ALGORITHMS[1:])]
    return np.choose(code.astype(np.intp), choices)


COMMUNICATION_FEATURES: tuple[Feature, ...] = (
    derived_feature(
        "ring_transfer_s",
        "x_r",
        "s",
        "2 (n-1)/n G / rate of the slowest link: ring all-reduce without latency",
        lambda c: ring_transfer_s(c["gradient_bytes"], c["n_gpus"], _slowest_rate(c)),
    ),
    derived_feature(
        "ring_steps", "k_r", "1", "2 (n-1): steps of a ring all-reduce", lambda c: 2 * (c["n_gpus"] - 1)
    ),
    derived_feature("ring_s", "t_r", "s", "ring all-reduce: 2 (n-1)/n G/B + 2 (n-1) a", _flat(ring_s)),
    derived_feature("tree_s", "t_t", "s", "tree: 2 ceil(log2 n) (G/B + a)", _flat(tree_s)),
    derived_feature("butterfly_s", "t_b", "s", "butterfly: ceil(log2 n) (G/B + a)", _flat(butterfly_s)),
    derived_feature(
        "parameter_server_s",
        "t_ps",
        "s",
        "one parameter server: 2 (n-1) G/B + 2 a",
        _flat(parameter_server_s),
    ),
    derived_feature(
        "data_parallel_s", "t_dp", "s", "one GPU serves the others: 2 (n-1) (G/B + a)", _flat(data_parallel_s)
    ),
    derived_feature(
        "hierarchical_ring_s",
        "t_h",
        "s",
        "a ring inside each node, then a ring across the nodes",
        _hierarchical_ring,
    ),
    derived_feature(
        "model_parallel_s",
        "t_mp",
        "s",
        "n-1 cuts, crossed forward and back by the mean convolution output: 2 (n-1) (b e A_c/n_c / B + a)",
        _model_parallel,
    ),
    derived_feature(
        "communication_s", "t_x", "s", "the time of the run's own algorithm, of the rows above", _of_algorithm
    ),
    derived_feature(
        "node_ring_s",
        "x_g",
        "s",
        "2 (g-1)/g G/B inside one node",
        lambda c: ring_transfer_s(c["gradient_bytes"], c["gpus_per_node"], c["link_byte_per_s"]),
    ),
    derived_feature(
        "network_ring_s",
        "x_N",
        "s",
        "2 (N-1)/N G/B across nodes",
        lambda c: ring_transfer_s(c["gradient_bytes"], c["n_nodes"], c["network_byte_per_s"]),
    ),
)
