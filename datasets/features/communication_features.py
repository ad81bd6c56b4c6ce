"""Features of several GPUs: the time of each collective algorithm on the interconnects of the run.

The textbook alpha-beta model: G bytes of gradients, n participants, y seconds per byte and direction, a
seconds of latency. One participant communicates nothing: 0 s. Forms as in Thakur, Rabenseifner and Gropp,
"Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005, and Patarasuk and Yuan,
"Bandwidth optimal all-reduce algorithms", JPDC 69(2), 2009. torch's DataParallel has the form of a parameter
server: its first GPU serves the others of its node.
"""

from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.datasets.features.feature import Feature, column_feature, derived_feature
from trainlaw.datasets.hardware.collectives import FEATURE_OF_ALGORITHM, algorithm_indicator


def _indicator(feature: str) -> Feature:
    names = [name for name, own in FEATURE_OF_ALGORITHM.items() if own == feature]
    said = " or ".join(name.replace("_", " ") for name in names)
    symbol, meaning = f"z_{_SUBSCRIPTS[feature]}", f"1 where the algorithm is {said}"
    return column_feature(algorithm_indicator(feature), symbol, "1", meaning, high=1)


_SUBSCRIPTS: Mapping[str, str] = MappingProxyType(
    {
        "ring_s": "r",
        "tree_s": "t",
        "butterfly_s": "b",
        "parameter_server_s": "ps",
        "hierarchical_ring_s": "h",
        "data_parallel_s": "dp",
        "model_parallel_s": "mp",
    }
)
_TIMES = tuple(dict.fromkeys(FEATURE_OF_ALGORITHM.values()))

COMMUNICATION_FEATURES: tuple[Feature, ...] = (
    *map(_indicator, _TIMES),
    column_feature(
        "exchange_rounds",
        "r_n",
        "1",
        "ceil(log2 n): rounds of recursive doubling until one GPU has reached all",
    ),
    derived_feature(
        "slowest_s_per_byte",
        "y",
        "s/B",
        "time per byte of the slowest interconnect of the run",
        "max(link_s_per_byte, network_s_per_byte)",
    ),
    derived_feature(
        "slowest_latency_s",
        "a",
        "s",
        "latency of the slowest interconnect of the run",
        "max(link_latency_s, network_latency_s)",
    ),
    derived_feature(
        "ring_transfer_s",
        "x_r",
        "s",
        "ring all-reduce over the slowest interconnect, without latency",
        "2 * (n_gpus - 1) / n_gpus * gradient_bytes * slowest_s_per_byte",
    ),
    derived_feature("ring_steps", "k_r", "1", "steps of a ring all-reduce", "2 * (n_gpus - 1)"),
    derived_feature(
        "ring_s", "t_r", "s", "ring all-reduce", "ring_transfer_s + ring_steps * slowest_latency_s"
    ),
    derived_feature("tree_s", "t_t", "s", "reduce and broadcast over a binary tree", "2 * butterfly_s"),
    derived_feature(
        "butterfly_s",
        "t_b",
        "s",
        "recursive doubling",
        "exchange_rounds * (gradient_bytes * slowest_s_per_byte + slowest_latency_s)",
    ),
    derived_feature(
        "parameter_server_s",
        "t_ps",
        "s",
        "one parameter server that serves all others",
        "2 * (n_gpus - 1) * (gradient_bytes * slowest_s_per_byte + slowest_latency_s)",
    ),
    derived_feature(
        "data_parallel_s",
        "t_dp",
        "s",
        "DataParallel: one GPU serves the others of its node",
        "2 * (gpus_per_node - 1) * (gradient_bytes * link_s_per_byte + link_latency_s)",
    ),
    derived_feature(
        "node_ring_s",
        "x_g",
        "s",
        "ring all-reduce inside one node, without latency",
        "2 * (gpus_per_node - 1) / gpus_per_node * gradient_bytes * link_s_per_byte",
    ),
    derived_feature(
        "network_ring_s",
        "x_N",
        "s",
        "ring all-reduce across nodes, without latency",
        "2 * (n_nodes - 1) / n_nodes * gradient_bytes * network_s_per_byte",
    ),
    derived_feature(
        "hierarchical_ring_s",
        "t_h",
        "s",
        "a ring inside each node, then a ring across the nodes",
        "(node_ring_s + 2 * (gpus_per_node - 1) * link_latency_s)"
        " + (network_ring_s + 2 * (n_nodes - 1) * network_latency_s)",
    ),
    derived_feature(
        "cut_bytes",
        "G_mp",
        "B",
        "mean convolution output of a batch: what crosses a cut of the model",
        "batch_per_gpu * bytes_per_element * (conv_output_elements / max(n_conv, 1))",
    ),
    derived_feature(
        "model_parallel_s",
        "t_mp",
        "s",
        "n - 1 cuts, crossed forward and backward by the mean convolution output",
        "2 * (n_gpus - 1) * (cut_bytes * slowest_s_per_byte + slowest_latency_s)",
    ),
    derived_feature(
        "communication_s",
        "t_x",
        "s",
        "time of the algorithm of the run",
        " + ".join(f"{algorithm_indicator(feature)} * {feature}" for feature in _TIMES),
    ),
)
