"""Features in seconds "at the data sheet's rates": work over peak, bytes over bandwidth, counts times a cost.

A training iteration does each product three times (forward, gradient of the input, gradient of the
weights), and one multiply-accumulate is two operations: 6 FLOP per MAC. The sums over im2col elements,
convolution outputs and weights come from expanding the time of a matrix product that fills the GPU badly,
2MNK/P (1+K0/K)(1+N0/N)(1+M0/M), so they are counted at the same 6 FLOP per element and peak rate.
"""

import numpy as np
from trainlaw.datasets.feature_rows import Columns, Feature, derived_feature

FLOP_PER_MAC = 6.0
BYTES_PER_PARAMETER = 4.0
LAUNCH_S = 1e-5
ITERATION_OVERHEAD_S = 1e-3
COPY_BYTE_PER_S = 1e10


def _compute(name: str, symbol: str, amount: str, meaning: str) -> Feature:
    def seconds(columns: Columns) -> np.ndarray:
        return FLOP_PER_MAC * columns["batch_per_gpu"] * columns[amount] / columns["peak_flop_per_s"]

    return derived_feature(name, symbol, "s", f"6 b x {meaning} / peak rate", seconds)


def _weight_compute(name: str, symbol: str, amount: str, meaning: str) -> Feature:
    def seconds(columns: Columns) -> np.ndarray:
        return FLOP_PER_MAC * columns[amount] / columns["peak_flop_per_s"]

    return derived_feature(name, symbol, "s", f"6 x {meaning} / peak rate", seconds)


def _memory(name: str, symbol: str, amount: str, meaning: str) -> Feature:
    def seconds(columns: Columns) -> np.ndarray:
        stored_bytes = columns["batch_per_gpu"] * columns["bytes_per_element"] * columns[amount]
        return stored_bytes / columns["bandwidth_byte_per_s"]

    return derived_feature(name, symbol, "s", f"b e x {meaning} / bandwidth", seconds)


def _simple_elementwise(columns: Columns) -> np.ndarray:
    named = columns["batchnorm_output_elements"] + columns["concat_elements"]
    return np.maximum(columns["elementwise_elements"] - named, 0.0)


def _parameter_memory(columns: Columns) -> np.ndarray:
    return BYTES_PER_PARAMETER * columns["params"] / columns["bandwidth_byte_per_s"]


def _input_copy(columns: Columns) -> np.ndarray:
    # Hosts decode to fp32, whatever the precision of the products.
    copied_bytes = 4.0 * columns["batch_per_gpu"] * columns["input_elements"]
    return columns["has_input_copy"] * copied_bytes / COPY_BYTE_PER_S


def _intensity_ratio(columns: Columns) -> np.ndarray:
    flop_per_byte = 2.0 * columns["macs_per_element"] / columns["bytes_per_element"]
    return flop_per_byte / columns["ridge_flop_per_byte"]


TIME_FEATURES: tuple[Feature, ...] = (
    _compute("total_compute_s", "c_M", "macs", "all MACs"),
    _compute("conv_compute_s", "c_c", "conv_macs", "MACs of ungrouped convolutions"),
    _compute("conv3x3_compute_s", "c_3", "conv3x3_macs", "MACs of 3 x 3 convolutions of stride 1"),
    _compute("conv1x1_compute_s", "c_1", "conv1x1_macs", "MACs of 1 x 1 convolutions"),
    _compute("conv5x5_compute_s", "c_k", "conv5x5_macs", "MACs of stride-1 convolutions 5 or more high"),
    _compute("conv_other_compute_s", "c_o", "conv_other_macs", "MACs of the other ungrouped convolutions"),
    _compute("grouped_conv_compute_s", "c_g", "grouped_conv_macs", "MACs of grouped convolutions"),
    _compute("depthwise_compute_s", "c_dw", "depthwise_macs", "MACs of depthwise convolutions"),
    _compute("dense_compute_s", "c_d", "dense_macs", "MACs of dense layers"),
    _compute("im2col_compute_s", "c_I", "im2col_elements", "unfolded image elements"),
    _compute("conv_output_compute_s", "c_A", "conv_output_elements", "convolution outputs"),
    _weight_compute("conv_weight_compute_s", "c_W", "conv_params", "parameters of convolutions"),
    _weight_compute("dense_weight_compute_s", "c_Wd", "dense_params", "parameters of dense layers"),
    _compute("critical_path_compute_s", "c_crit", "critical_path_macs", "MACs of the critical path"),
    _memory("conv_output_memory_s", "m_c", "conv_output_elements", "convolution outputs"),
    _memory("depthwise_output_memory_s", "m_dw", "depthwise_output_elements", "depthwise outputs"),
    _memory("batchnorm_memory_s", "m_bn", "batchnorm_output_elements", "normalisation outputs"),
    _memory(
        "elementwise_memory_s", "m_ew", "simple_elementwise_elements", "other outputs of layers without MACs"
    ),
    _memory("concat_memory_s", "m_cat", "concat_elements", "outputs of layers that only move data"),
    _memory("pool_memory_s", "m_p", "pool_elements", "inputs of pooling layers"),
    _memory("activation_memory_s", "m_A", "activation_elements", "outputs of all layers"),
    derived_feature("parameter_memory_s", "m_W", "s", "4 x parameters / bandwidth", _parameter_memory),
    derived_feature(
        "optimizer_memory_s",
        "m_u",
        "s",
        "4 x parameters / bandwidth where the time includes the optimizer step",
        lambda c: c["has_optimizer"] * _parameter_memory(c),
    ),
    derived_feature("layer_launch_s", "k_l", "s", "layers x 10 us", lambda c: c["n_layers"] * LAUNCH_S),
    derived_feature(
        "kernel_launch_s", "k_k", "s", "layers with MACs x 10 us", lambda c: c["n_kernels"] * LAUNCH_S
    ),
    derived_feature(
        "input_copy_s",
        "k_h",
        "s",
        "4 b x input elements / 10 GB/s where the time includes the copy",
        _input_copy,
    ),
    derived_feature(
        "iteration_overhead_s",
        "k_0",
        "s",
        "1 ms",
        lambda _: np.array(ITERATION_OVERHEAD_S),
    ),
    derived_feature(
        "simple_elementwise_elements",
        "A_s",
        "element/sample",
        "outputs of layers without MACs that neither normalise nor only move data",
        _simple_elementwise,
    ),
    derived_feature(
        "intensity_ratio",
        "i_r",
        "1",
        "operations per byte of the layers with MACs over the GPU's ridge point",
        _intensity_ratio,
    ),
)
