"""Features of formulas evolved on runs of several GPUs: the time on one GPU, and what communication adds.

Gradients are reduced in one of four ways, each with features that are 0 for the others: in buckets, which
travel during the backward pass; tensor by tensor; through parameter servers; or by torch's DataParallel,
which copies the CNN from one GPU of a node to the others in each iteration. They have the precision of the
run: on the same GPUs half-precision runs transfer them in half the time. One GPU communicates nothing: 0 s.

The ring is that of Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations", JPDC 69(2), 2009. Buckets of 25 MB are the default of torch's DistributedDataParallel. Where
GPUs cannot access each other's memory, data pass through that of the host, at about 4 GB/s whatever the link.
"""

from trainlaw.datasets.features.feature import Feature, column_feature, derived_feature

#: The measured time of the same configuration on one GPU, seconds; nan where it was not measured.
SINGLE_GPU_TIME = "single_gpu_time_s"


def _seconds(name: str, symbol: str, meaning: str, definition: str) -> Feature:
    return derived_feature(name, symbol, "s", meaning, definition)


_AMOUNTS: tuple[Feature, ...] = (
    derived_feature(
        "exchange_bytes",
        "G_e",
        "B",
        "size of all gradients at the precision of the run",
        "bytes_per_element * params",
    ),
    derived_feature(
        "node_bytes",
        "G_g",
        "B",
        "what each GPU sends in a ring within its node",
        "2 * (gpus_per_node - 1) / gpus_per_node * exchange_bytes",
    ),
    derived_feature(
        "network_bytes",
        "G_N",
        "B",
        "what each node sends in a ring across nodes, or to and from servers that share the parameters",
        "2 * (n_nodes - 1) / n_nodes * exchange_bytes",
    ),
    derived_feature(
        "gradient_buckets",
        "n_kb",
        "1",
        "buckets of 25 MB that the gradients fill, at most one per tensor",
        "min(gradient_tensors, 1 + exchange_bytes / 25e6)",
    ),
    derived_feature(
        "in_buckets",
        "z_bk",
        "1",
        "1 where gradients are reduced in buckets by an all-reduce",
        "is_bucketed * (1 - is_data_parallel) * (1 - is_parameter_server)",
        high=1,
    ),
    derived_feature(
        "tensor_by_tensor",
        "z_a",
        "1",
        "1 where an all-reduce takes each gradient tensor alone",
        "(1 - is_bucketed) * (1 - is_data_parallel) * (1 - is_parameter_server)",
        high=1,
    ),
)
_BUCKETS: tuple[Feature, ...] = (
    _seconds(
        "bucket_node_s", "x_bg", "buckets within a node: a ring", "in_buckets * node_bytes * link_s_per_byte"
    ),
    _seconds(
        "bucket_network_s",
        "x_bN",
        "buckets across nodes: a ring",
        "in_buckets * network_bytes * network_s_per_byte",
    ),
    _seconds(
        "bucket_staged_s",
        "x_bh",
        "buckets through the host's memory, where GPUs cannot access each other's",
        "in_buckets * (1 - peer_access) * node_bytes / 4e9",
    ),
    _seconds(
        "bucket_transfer_s",
        "x_b",
        "all transfers of buckets",
        "bucket_node_s + bucket_network_s + bucket_staged_s",
    ),
    _seconds(
        "bucket_latency_s",
        "a_b",
        "latencies of a ring for each bucket",
        "in_buckets * gradient_buckets"
        " * (2 * (gpus_per_node - 1) * link_latency_s + 2 * (n_nodes - 1) * network_latency_s)",
    ),
    _seconds(
        "bucket_wait_s",
        "w_b",
        "launches of an iteration x doublings of the GPUs: all wait for the slowest host",
        "in_buckets * (log(n_gpus) / log(2)) * n_layers * host_launch_s",
    ),
)
_TENSORS: tuple[Feature, ...] = (
    _seconds(
        "tensor_node_s",
        "x_tg",
        "single tensors within a node: a ring",
        "tensor_by_tensor * node_bytes * link_s_per_byte",
    ),
    _seconds(
        "tensor_network_s",
        "x_tN",
        "single tensors across nodes: a ring",
        "tensor_by_tensor * network_bytes * network_s_per_byte",
    ),
    _seconds(
        "tensor_staged_s",
        "x_th",
        "single tensors through the host's memory, where GPUs cannot access each other's",
        "tensor_by_tensor * (1 - peer_access) * node_bytes / 4e9",
    ),
    _seconds(
        "tensor_launch_s",
        "k_t",
        "gradient tensors x doublings of the GPUs of a node x 10 us, where no bucket joins them",
        "(tensor_by_tensor + is_parameter_server) * gradient_tensors * log2_gpus * 1e-5",
    ),
)
_SERVERS: tuple[Feature, ...] = (
    _seconds(
        "server_node_s",
        "x_sg",
        "gradients to the parameters of a node and back, one GPU after another",
        "is_parameter_server * (2 * (gpus_per_node - 1) * exchange_bytes * link_s_per_byte)",
    ),
    _seconds(
        "server_network_s",
        "x_sN",
        "gradients to parameter servers, one per node, and back",
        "is_parameter_server * network_bytes * network_s_per_byte",
    ),
)
_REPLICAS: tuple[Feature, ...] = (
    _seconds(
        "replica_transfer_s",
        "x_dp",
        "DataParallel: parameters to the GPUs of a node, and gradients back",
        "is_data_parallel * (2 * exchange_bytes * link_s_per_byte)",
    ),
    _seconds(
        "replica_host_s",
        "h_dp",
        "DataParallel: one host launches the layers of all GPUs of a node",
        "is_data_parallel * gpus_per_node * n_layers * host_launch_s",
    ),
)

SCALING_FEATURES: tuple[Feature, ...] = (
    *_AMOUNTS,
    *_BUCKETS,
    *_TENSORS,
    *_SERVERS,
    *_REPLICAS,
    column_feature(
        SINGLE_GPU_TIME, "t_1", "s", "measured time of the same configuration on one GPU, as given"
    ),
)
