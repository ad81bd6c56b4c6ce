"""Features of formulas evolved on runs of several GPUs: the time on one GPU, and the all-reduce of the run.

Unlike the textbook forms of `communication_features`, one feature covers all algorithms, so that constants
fitted to rings also apply to others; and gradients are reduced at the precision of the run: on the same GPUs
the all-reduce of half-precision runs takes half as long. One GPU communicates nothing: 0 s.
"""

from trainlaw.datasets.features.feature import Feature, column_feature, derived_feature

#: The measured time of the same configuration on one GPU, seconds; nan where it was not measured.
SINGLE_GPU_TIME = "single_gpu_time_s"

SCALING_FEATURES: tuple[Feature, ...] = (
    derived_feature(
        "exchange_bytes",
        "G_e",
        "B",
        "size of all gradients at the precision of the run",
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
        "gradients across nodes: a ring; 0 where parameter servers hold them",
        "(1 - is_parameter_server) * (2 * (n_nodes - 1) / n_nodes * exchange_bytes * network_s_per_byte)",
    ),
    derived_feature(
        "server_transfer_s",
        "x_s",
        "s",
        "gradients across nodes to sharded parameter servers, and back",
        "is_parameter_server * (2 * (n_nodes - 1) / n_nodes * exchange_bytes * network_s_per_byte)",
    ),
    derived_feature(
        "exchange_launch_s",
        "k_e",
        "s",
        "all-reduce calls x 10 us: one per gradient tensor and doubling of the GPUs of a node; with "
        "DataParallel, which copies the CNN to each GPU, one per layer and GPU",
        "((1 - is_data_parallel) * (gradient_tensors * log2_gpus)"
        " + is_data_parallel * (n_layers * gpus_per_node)) * 1e-5",
    ),
    column_feature(
        SINGLE_GPU_TIME, "t_1", "s", "measured time of the same configuration on one GPU, as given"
    ),
)
