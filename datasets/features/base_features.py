"""Base columns as features: of the run, of its GPU, of its CNN (per image, forward pass), of its links."""

from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.datasets.cnns.counts import explain
from trainlaw.datasets.features.feature import Feature, column_feature, derived_feature

RUN_FEATURES: tuple[Feature, ...] = (
    column_feature("batch_per_gpu", "b", "sample", "images per iteration and GPU", low=1),
    column_feature("bytes_per_element", "e", "B/element", "bytes per stored activation", low=1, high=8),
    column_feature("has_optimizer", "u", "1", "1 where the time includes the optimizer step", high=1),
    column_feature(
        "has_input_copy", "h", "1", "1 where the time includes copying the input to the GPU", high=1
    ),
    column_feature("is_tensor_precision", "q", "1", "1 where the precision uses tensor cores", high=1),
    column_feature(
        "is_channels_last", "chi", "1", "1 where activations are stored with the channels last", high=1
    ),
    column_feature("is_tuned", "v", "1", "1 in a vendor's container with fused kernels", high=1),
    column_feature(
        "host_launch_s",
        "a_0",
        "s",
        "time that the host needs to launch the kernels of one layer; 150 us where it was not measured",
    ),
    column_feature("n_gpus", "n", "1", "number of GPUs", low=1),
    column_feature("n_nodes", "N", "1", "number of nodes", low=1),
    column_feature("gpus_per_node", "g", "1", "GPUs of the node that has the most", low=1),
    column_feature(
        "is_bucketed",
        "z_k",
        "1",
        "1 where gradients are reduced in buckets of about 25 MB, not each tensor alone",
        high=1,
    ),
)

GPU_FEATURES: tuple[Feature, ...] = (
    column_feature("peak_flop_per_s", "P", "FLOP/s", "peak rate of the precision used"),
    column_feature("peak_fp32_flop_per_s", "P_32", "FLOP/s", "peak fp32 rate without tensor cores"),
    column_feature(
        "peak_tf32_flop_per_s", "P_tf", "FLOP/s", "peak tf32 rate; the fp32 rate on GPUs without tf32"
    ),
    column_feature("peak_fp16_flop_per_s", "P_16", "FLOP/s", "peak dense fp16 rate with fp32 accumulation"),
    column_feature(
        "peak_bf16_flop_per_s", "P_b", "FLOP/s", "peak dense bf16 rate; the fp32 rate on GPUs without bf16"
    ),
    column_feature("bandwidth_byte_per_s", "B", "B/s", "memory bandwidth"),
    column_feature("memory_bytes", "V", "B", "memory"),
    column_feature("l2_bytes", "L_2", "B", "size of the level 2 cache"),
    column_feature("l1_bytes_per_sm", "L_1", "B", "size of the level 1 cache of one multiprocessor"),
    column_feature(
        "sm_count", "s", "1", "multiprocessors (NVIDIA), compute units (AMD) or cores in use (CPU)"
    ),
    column_feature("core_count", "c", "1", "fp32 lanes"),
    column_feature("boost_clock_hz", "f_1", "1/s", "boost clock"),
    column_feature("base_clock_hz", "f_0", "1/s", "base clock; the boost clock where unknown"),
    column_feature(
        "comparable_fp32_flop_per_s",
        "P_1",
        "FLOP/s",
        "fp32 rate of lanes that do one operation per clock whatever else runs",
    ),
    column_feature("last_level_cache_bytes", "L_3", "B", "cache beyond level 2; 0 without one"),
    column_feature("is_amd", "amd", "1", "1 for a GPU of AMD", high=1),
    derived_feature(
        "clock_ratio",
        "rho",
        "1",
        "base clock over boost clock; 1 where unknown",
        "base_clock_hz / boost_clock_hz",
        high=1,
    ),
    derived_feature(
        "cores_per_sm",
        "c_s",
        "1",
        "fp32 lanes of one multiprocessor",
        "core_count / sm_count",
    ),
    derived_feature(
        "wide_sm",
        "kappa",
        "1",
        "1 where a multiprocessor has more than 128 fp32 lanes (Kepler), which are hard to keep occupied",
        # `step` is one half at 0; the maximum removes that half.
        "max(2 * step(core_count - 128 * sm_count) - 1, 0)",
        high=1,
    ),
    derived_feature(
        "on_chip_ratio",
        "ell",
        "1",
        "level 1 cache of one multiprocessor over 64 KiB: how much of a product's tiles stays on the chip",
        "l1_bytes_per_sm / 65536",
    ),
    derived_feature(
        "cache_per_lane",
        "lambda",
        "1",
        "level 1 cache per fp32 lane over 2 KiB, at most 1",
        "min(l1_bytes_per_sm * sm_count / core_count / 2048, 1)",
        high=1,
    ),
    derived_feature(
        "dual_issue",
        "iota",
        "1",
        "peak fp32 rate over the rate of one operation per clock: 2 where lanes issue two",
        "peak_fp32_flop_per_s / comparable_fp32_flop_per_s",
    ),
    derived_feature("clock_number", "phi", "1", "boost clock over 1.5 GHz", "boost_clock_hz / 1.5e9"),
    derived_feature(
        "tensor_ratio",
        "tau",
        "1",
        "peak rate of the precision used over the fp32 rate",
        "peak_flop_per_s / peak_fp32_flop_per_s",
    ),
    derived_feature(
        "ridge_flop_per_byte",
        "r",
        "FLOP/B",
        "peak rate over bandwidth",
        "peak_flop_per_s / bandwidth_byte_per_s",
    ),
)

_CNN_SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        "macs": "M",
        "conv_macs": "M_c",
        "grouped_conv_macs": "M_g",
        "depthwise_macs": "M_dw",
        "dense_macs": "M_d",
        "conv1x1_macs": "M_1",
        "conv3x3_macs": "M_3",
        "conv5x5_macs": "M_k",
        "strided_conv_macs": "M_s",
        "first_conv_macs": "M_f",
        "input_gradient_macs": "M_x",
        "max_layer_macs": "M_max",
        "critical_path_macs": "M_crit",
        "params": "W",
        "conv_params": "W_c",
        "dense_params": "W_d",
        "max_layer_params": "W_max",
        "max_dense_params": "W_dmax",
        "activation_elements": "A",
        "layer_input_elements": "A_in",
        "conv_output_elements": "A_c",
        "conv_input_elements": "A_ci",
        "depthwise_output_elements": "A_dw",
        "batchnorm_output_elements": "A_bn",
        "elementwise_elements": "A_ew",
        "concat_elements": "A_cat",
        "pool_elements": "A_p",
        "max_layer_elements": "A_max",
        "im2col_elements": "I",
        "input_elements": "A_0",
        "conv_output_pixels": "S_hw",
        "conv_output_channels": "S_N",
        "conv_reduction_length": "S_K",
        "conv_mean_pixels": "m_hw",
        "conv_mean_reduction": "m_K",
        "conv_mean_channels": "m_N",
        "sum_sqrt_macs": "M_half",
        "sum_sqrt_macs_elements": "MA_half",
        "sum_macs_two_thirds": "M_23",
        "macs_per_element": "i",
        "mean_log_macs": "l",
        "n_layers": "n_l",
        "n_conv": "n_c",
        "n_grouped_conv": "n_g",
        "n_depthwise": "n_dw",
        "n_dense": "n_d",
        "n_batchnorm": "n_bn",
        "n_pool": "n_p",
        "n_activation": "n_a",
        "n_add": "n_add",
        "n_concat": "n_cat",
        "n_other": "n_o",
        "depth": "d",
        "depth_all_layers": "d_l",
        "n_edges": "n_e",
        "graph_width": "w",
    }
)

CNN_FEATURES: tuple[Feature, ...] = (
    *(
        column_feature(name, _CNN_SYMBOLS[name], unit.replace(" ", "*"), meaning)
        for name, unit, meaning in explain()
    ),
    derived_feature(
        "conv_other_macs",
        "M_o",
        "MAC/sample",
        "MACs of the other ungrouped convolutions: neither 1 x 1, nor 3 x 3 or 5 high at stride 1",
        "max(conv_macs - (conv1x1_macs + conv3x3_macs + conv5x5_macs), 0)",
    ),
    derived_feature("n_kernels", "n_k", "1", "layers with MACs", "n_conv + n_depthwise + n_dense"),
    derived_feature(
        "gradient_tensors",
        "T",
        "1",
        "tensors of learned parameters: 2 per normalisation and dense layer, 1 per convolution",
        "2 * (n_batchnorm + n_dense) + n_conv + n_depthwise",
    ),
)

LINK_FEATURES: tuple[Feature, ...] = (
    column_feature("link_byte_per_s", "B_g", "B/s", "bandwidth between the GPUs of a node; 0 for one GPU"),
    column_feature(
        "link_s_per_byte", "y_g", "s/B", "time per byte between the GPUs of a node; 0 for one GPU"
    ),
    column_feature("link_latency_s", "a_g", "s", "latency between the GPUs of a node; 0 for one GPU"),
    column_feature(
        "network_byte_per_s", "B_N", "B/s", "bandwidth of the fabric between nodes; 0 for one node"
    ),
    column_feature(
        "network_s_per_byte", "y_N", "s/B", "time per byte of the fabric between nodes; 0 for one node"
    ),
    column_feature("network_latency_s", "a_N", "s", "latency of the fabric between nodes; 0 for one node"),
    column_feature(
        "peer_access", "p", "1", "1 where GPUs copy to each other directly, 0.5 where only in pairs", high=1
    ),
    derived_feature(
        "log2_gpus",
        "lg_g",
        "1",
        "binary logarithm of the GPUs per node",
        "log(gpus_per_node) / log(2)",
    ),
    derived_feature(
        "log2_nodes", "lg_N", "1", "binary logarithm of the number of nodes", "log(n_nodes) / log(2)"
    ),
    derived_feature(
        "gradient_bytes", "G", "B", "size of all gradients, 4 bytes per learned parameter", "4 * params"
    ),
)
