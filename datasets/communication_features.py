"""Features of several GPUs: seconds that each way of exchanging the gradients takes on the run's links."""

from collections.abc import Callable

import numpy as np
from trainlaw.datasets.algorithms import ALGORITHMS, FEATURE_OF_ALGORITHM
from trainlaw.datasets.communication import (
    Numbers,
    butterfly_s,
    parameter_server_s,
    ring_s,
    ring_transfer_s,
    tree_s,
)
from trainlaw.datasets.feature_rows import Columns, Feature, derived_feature


def _s_per_byte(columns: Columns) -> np.ndarray:
    """Seconds per byte of the slowest link on the way; a link that is not there takes none."""
    return np.maximum(columns["link_s_per_byte"], columns["network_s_per_byte"])


def _latency(columns: Columns) -> np.ndarray:
    return np.maximum(columns["link_latency_s"], columns["network_latency_s"])


def _over_all(
    form: Callable[[Numbers, Numbers, Numbers, Numbers], Numbers],
) -> Callable[[Columns], np.ndarray]:
    """Return the feature function of a form in which all GPUs take part and the slowest link rules."""
    return lambda c: form(c["gradient_bytes"], c["n_gpus"], _s_per_byte(c), _latency(c))


def _hierarchical_ring(columns: Columns) -> np.ndarray:
    gradient = columns["gradient_bytes"]
    inside = ring_s(gradient, columns["gpus_per_node"], columns["link_s_per_byte"], columns["link_latency_s"])
    across = ring_s(gradient, columns["n_nodes"], columns["network_s_per_byte"], columns["network_latency_s"])
    return inside + across


def _model_parallel(columns: Columns) -> np.ndarray:
    mean_output = columns["conv_output_elements"] / np.maximum(columns["n_conv"], 1.0)
    cut_bytes = columns["batch_per_gpu"] * columns["bytes_per_element"] * mean_output
    return 2 * (columns["n_gpus"] - 1) * (cut_bytes * _s_per_byte(columns) + _latency(columns))


def _of_own_algorithm(columns: Columns) -> np.ndarray:
    code = columns["algorithm_code"]
    seconds = (columns[FEATURE_OF_ALGORITHM[name]] for name in ALGORITHMS[1:])
    return np.choose(code.astype(np.intp), [np.zeros_like(code), *seconds])


def _ring_in_node(columns: Columns) -> np.ndarray:
    return ring_transfer_s(columns["gradient_bytes"], columns["gpus_per_node"], columns["link_s_per_byte"])


def _ring_across_nodes(columns: Columns) -> np.ndarray:
    return ring_transfer_s(columns["gradient_bytes"], columns["n_nodes"], columns["network_s_per_byte"])


COMMUNICATION_FEATURES: tuple[Feature, ...] = (
    derived_feature(
        "ring_transfer_s",
        "x_r",
        "s",
        "2 (n-1)/n G/B at the slowest link: ring all-reduce without latency",
        lambda c: ring_transfer_s(c["gradient_bytes"], c["n_gpus"], _s_per_byte(c)),
    ),
    derived_feature(
        "ring_steps", "k_r", "1", "2 (n-1): steps of a ring all-reduce", lambda c: 2 * (c["n_gpus"] - 1)
    ),
    derived_feature("ring_s", "t_r", "s", "ring all-reduce: 2 (n-1)/n G/B + 2 (n-1) a", _over_all(ring_s)),
    derived_feature("tree_s", "t_t", "s", "tree: 2 ceil(log2 n) (G/B + a)", _over_all(tree_s)),
    derived_feature("butterfly_s", "t_b", "s", "butterfly: ceil(log2 n) (G/B + a)", _over_all(butterfly_s)),
    derived_feature(
        "parameter_server_s",
        "t_ps",
        "s",
        "one parameter server: 2 (n-1) (G/B + a)",
        _over_all(parameter_server_s),
    ),
    derived_feature(
        "data_parallel_s",
        "t_dp",
        "s",
        "DataParallel, one GPU serves the others of its node: 2 (g-1) (G/B + a)",
        lambda c: parameter_server_s(
            c["gradient_bytes"], c["gpus_per_node"], c["link_s_per_byte"], c["link_latency_s"]
        ),
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
        "communication_s",
        "t_x",
        "s",
        "the time of the run's own algorithm, of the rows above",
        _of_own_algorithm,
    ),
    derived_feature("node_ring_s", "x_g", "s", "2 (g-1)/g G/B inside one node", _ring_in_node),
    derived_feature("network_ring_s", "x_N", "s", "2 (N-1)/N G/B across nodes", _ring_across_nodes),
)
