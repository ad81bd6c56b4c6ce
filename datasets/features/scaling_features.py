"""Features of laws that are evolved on runs of several GPUs: time on one GPU, exchange in the run's own way.

Unlike the textbook forms of `communication_features`, one feature serves all ways of exchanging, so that what
rings taught is known of others, too; and gradients are exchanged at the run's precision: on the same GPUs the
exchange of half-precision runs takes half as long. On one GPU nothing is exchanged: 0 s.
"""

from trainlaw.datasets.features.feature import Feature, column_feature, derived_feature

#: The measured time of the same configuration on one GPU, seconds; nan where it was not measured.
SINGLE_GPU_TIME = "single_gpu_time_s"

SCALING_FEATURES: tuple[Feature, ...] = (
    derived_feature(
        "exchange_bytes",
        "G_e",
        "B",
        "bytes of all gradients at the run's precision",
        "bytes_per_element * params",
    ),
    derived_feature(
        "exchange_transfer_s",
        "x_e",
        "s",
        "gradients within a node: a ring; with DataParallel one GPU gathers them one after another",
        "(gpus_per_node - 1) * (2 * (1 - is_data_parallel) / gpus_per_node + is_data_parallel)"
        " * exchange_bytes * link_s_per_byte",
    ),
    derived_feature(
        "network_transfer_s",
        "x_w",
        "s",
        "gradients across the nodes: a ring; 0 where parameter servers have them",
        "(1 - is_parameter_server) * (2 * (n_nodes - 1) / n_nodes * exchange_bytes * network_s_per_byte)",
    ),
    derived_feature(
        "server_transfer_s",
        "x_s",
        "s",
        "gradients across the nodes to parameter servers that share them, and back",
        "is_parameter_server * (2 * (n_nodes - 1) / n_nodes * exchange_bytes * network_s_per_byte)",
    ),
    derived_feature(
        "exchange_launch_s",
        "k_e",
        "s",
        "calls of the exchange x 10 us: one per gradient tensor and doubling of a node's GPUs; with "
        "DataParallel, which copies the network to each GPU, one per layer and GPU",
        "((1 - is_data_parallel) * (gradient_tensors * log2_gpus)"
        " + is_data_parallel * (n_layers * gpus_per_node)) * 1e-5",
    ),
    column_feature(
        SINGLE_GPU_TIME, "t_1", "s", "measured time of the same configuration on one GPU, as given"
    ),
)
