"""Features of runs: times at data-sheet rates (work over peak, bytes over bandwidth), and all of them.

A training iteration computes each product three times (forward, gradient of the input, gradient of the
weights), and one multiply-accumulate is two operations: 6 FLOP per MAC. The sums over im2col elements,
convolution outputs and weights come from expanding the time of a matrix product that under-utilises the GPU,
2MNK/P (1+K0/K)(1+N0/N)(1+M0/M), so they are counted at the same 6 FLOP per element and peak rate.
Parameters are 4 bytes each. A launch costs 10 us, an iteration 1 ms, a copy from the host 1/(10 GB/s): round
figures, which the constants of a formula correct.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import pandas as pd
from trainlaw.datasets.features.base_features import CNN_FEATURES, GPU_FEATURES, LINK_FEATURES, RUN_FEATURES
from trainlaw.datasets.features.communication_features import COMMUNICATION_FEATURES
from trainlaw.datasets.features.feature import Feature, chosen_features, derived_feature, feature_block
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES
from trainlaw.datasets.tables.joins import Facts, RunJoin
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.formulas.features import FeatureSpec


def _work(rate: str, rate_name: str, per_image: str = "batch_per_gpu * ") -> Callable[..., Feature]:
    """Return what makes the feature of six times an amount over a rate, per image or per iteration."""

    def feature(name: str, symbol: str, amount: str, meaning: str) -> Feature:
        times = "6 b" if per_image else "6"
        definition = f"6 * {per_image}{amount} / {rate}"
        return derived_feature(name, symbol, "s", f"{times} x {meaning} / {rate_name}", definition)

    return feature


_compute = _work("peak_flop_per_s", "peak rate")
_weight_compute = _work("peak_flop_per_s", "peak rate", "")
_matrix = _work("matrix_flop_per_s", "peak rate of the precision")
_weight_matrix = _work("matrix_flop_per_s", "peak rate of the precision", "")
_simt = _work("comparable_fp32_flop_per_s", "fp32 rate")
_weight_simt = _work("comparable_fp32_flop_per_s", "fp32 rate", "")


def _memory(name: str, symbol: str, amount: str, meaning: str) -> Feature:
    definition = f"batch_per_gpu * bytes_per_element * {amount} / bandwidth_byte_per_s"
    return derived_feature(name, symbol, "s", f"b e x {meaning} / bandwidth", definition)


def _cached(name: str, symbol: str, amount: str, meaning: str) -> Feature:
    definition = f"cached_byte_cost * batch_per_gpu * bytes_per_element * {amount} / bandwidth_byte_per_s"
    return derived_feature(
        name, symbol, "s", f"b e x {meaning} / bandwidth, less what the level 2 cache holds", definition
    )


#: Times of the skeleton: work at the rate of the precision, work outside tensor cores at the fp32
#: rate, and bytes through the level 2 cache.
SKELETON_FEATURES: tuple[Feature, ...] = (
    _matrix("conv3x3_matrix_s", "x_3", "conv3x3_macs", "MACs of 3 x 3 convolutions of stride 1"),
    _matrix(
        "other_matrix_s",
        "x_o",
        "other_macs",
        "MACs of all other ungrouped convolutions and of dense layers",
    ),
    _matrix("conv1x1_matrix_s", "x_1", "conv1x1_macs", "MACs of 1 x 1 convolutions"),
    _matrix("im2col_matrix_s", "x_I", "im2col_elements", "elements of the unfolded images"),
    _matrix("conv_output_matrix_s", "x_A", "conv_output_elements", "convolution outputs"),
    _weight_matrix("conv_weight_matrix_s", "x_W", "conv_params", "parameters of convolutions"),
    _simt("im2col_simt_s", "z_I", "im2col_elements", "elements of the unfolded images"),
    derived_feature(
        "conv_input_simt_s",
        "z_i",
        "s",
        "6 b x convolution inputs / fp32 rate, in proportion to their bytes: half as long in 16 bits",
        "6 * batch_per_gpu * conv_input_elements * (bytes_per_element / 4) / comparable_fp32_flop_per_s",
    ),
    _simt("conv_output_simt_s", "z_A", "conv_output_elements", "convolution outputs"),
    _simt("grouped_conv_simt_s", "z_g", "grouped_conv_macs", "MACs of grouped convolutions"),
    derived_feature(
        "grouped_channels_last_simt_s",
        "z_y",
        "s",
        "6 b x MACs of grouped convolutions / fp32 rate, where the channels are last",
        "is_channels_last * grouped_conv_simt_s",
    ),
    derived_feature(
        "depthwise_simt_s",
        "z_dw",
        "s",
        "6 b x MACs of depthwise convolutions / fp32 rate, in proportion to bytes: half as long in 16 bits",
        "6 * batch_per_gpu * depthwise_macs * (bytes_per_element / 4) / comparable_fp32_flop_per_s",
    ),
    _weight_simt("conv_weight_simt_s", "z_W", "conv_params", "parameters of convolutions"),
    _cached("conv_output_cached_s", "h_c", "conv_output_elements", "convolution outputs"),
    _cached("depthwise_output_cached_s", "h_dw", "depthwise_output_elements", "depthwise outputs"),
    _cached("elementwise_cached_s", "h_ew", "elementwise_elements", "outputs of layers without MACs"),
    _cached("batchnorm_cached_s", "h_bn", "batchnorm_output_elements", "normalisation outputs"),
    _cached("concat_cached_s", "h_cat", "concat_elements", "outputs of layers that only move data"),
    _cached("pool_cached_s", "h_p", "pool_elements", "inputs of pooling layers"),
    derived_feature(
        "cast_cached_s",
        "h_16",
        "s",
        "what b x 4 B of convolution outputs cost beyond b e, where products use tensor cores",
        "is_tensor_precision * (4 - bytes_per_element) / bytes_per_element * conv_output_cached_s",
    ),
    derived_feature("conv_kernel_s", "k_c", "s", "convolutions x 100 us", "(n_conv + n_depthwise) * 1e-4"),
    derived_feature("host_s", "k_H", "s", "layers x the host's launch time", "n_layers * host_launch_s"),
    derived_feature(
        "least_time_s",
        "t_0",
        "s",
        "least time that the peak rates allow: all MACs, Winograd's saving for 3 x 3 convolutions, "
        "and one pass over the parameters",
        # Winograd's F(2 x 2, 3 x 3) needs 2.25 times fewer products than a direct convolution.
        "max(6 * batch_per_gpu * (macs - 5 / 9 * conv3x3_macs) / peak_flop_per_s, parameter_memory_s)",
    ),
    derived_feature(
        "matrix_flop_per_s",
        "P_m",
        "FLOP/s",
        "peak rate of the precision used; in fp32 that of one operation per clock",
        "peak_flop_per_s / (1 + (1 - is_tensor_precision) * (dual_issue - 1))",
    ),
    derived_feature(
        "matrix_number", "pi", "1", "matrix_flop_per_s over 20 TFLOP/s", "matrix_flop_per_s / 2e13"
    ),
    derived_feature(
        "other_macs",
        "M_r",
        "MAC/sample",
        "MACs of ungrouped convolutions and dense layers other than 3 x 3 convolutions of stride 1",
        "max(conv_macs - conv3x3_macs, 0) + dense_macs",
    ),
    derived_feature(
        "mean_layer_elements",
        "A_l",
        "element/sample",
        "mean outputs of a layer",
        "activation_elements / n_layers",
    ),
    derived_feature(
        "cached_byte_cost",
        "eta",
        "1",
        "cost of a byte of activations over that of a byte from memory: 1/6 if all stay in the cache",
        # A layer's input and output compete for level 2 and last-level cache, six times as fast as memory.
        "(1 + 5 * (2 * batch_per_gpu * bytes_per_element * mean_layer_elements) / (2 * batch_per_gpu * "
        "bytes_per_element * mean_layer_elements + (l2_bytes + last_level_cache_bytes))) / 6",
        high=1,
    ),
    derived_feature(
        "is_tuned_tensor",
        "v_q",
        "1",
        "1 in a vendor's container with a precision on tensor cores",
        "is_tuned * is_tensor_precision",
        high=1,
    ),
)

TIME_FEATURES: tuple[Feature, ...] = (
    _compute("total_compute_s", "c_M", "macs", "all MACs"),
    _compute("conv_compute_s", "c_c", "conv_macs", "MACs of ungrouped convolutions"),
    _compute("conv3x3_compute_s", "c_3", "conv3x3_macs", "MACs of 3 x 3 convolutions of stride 1"),
    _compute("conv1x1_compute_s", "c_1", "conv1x1_macs", "MACs of 1 x 1 convolutions"),
    _compute(
        "conv5x5_compute_s",
        "c_k",
        "conv5x5_macs",
        "MACs of convolutions of stride 1 with a kernel at least 5 high",
    ),
    _compute("conv_other_compute_s", "c_o", "conv_other_macs", "MACs of the other ungrouped convolutions"),
    _compute("grouped_conv_compute_s", "c_g", "grouped_conv_macs", "MACs of grouped convolutions"),
    _compute("depthwise_compute_s", "c_dw", "depthwise_macs", "MACs of depthwise convolutions"),
    _compute("dense_compute_s", "c_d", "dense_macs", "MACs of dense layers"),
    _compute("im2col_compute_s", "c_I", "im2col_elements", "elements of the unfolded images"),
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
    derived_feature(
        "parameter_memory_s",
        "m_W",
        "s",
        "4 x parameters / bandwidth",
        "4 * params / bandwidth_byte_per_s",
    ),
    derived_feature(
        "optimizer_memory_s",
        "m_u",
        "s",
        "4 x parameters / bandwidth where the time includes the optimizer step",
        "has_optimizer * parameter_memory_s",
    ),
    derived_feature("layer_launch_s", "k_l", "s", "layers x 10 us", "n_layers * 1e-5"),
    derived_feature("kernel_launch_s", "k_k", "s", "layers with MACs x 10 us", "n_kernels * 1e-5"),
    derived_feature(
        "input_copy_s",
        "k_h",
        "s",
        "4 b x input elements / 10 GB/s where the time includes the input copy",
        # Hosts decode images to fp32, whatever the precision of the products.
        "has_input_copy * (4 * batch_per_gpu * input_elements) / 1e10",
    ),
    derived_feature("iteration_overhead_s", "k_0", "s", "1 ms", "0.001"),
    derived_feature(
        "simple_elementwise_elements",
        "A_s",
        "element/sample",
        "outputs of layers without MACs that neither normalise nor only move data",
        "max(elementwise_elements - (batchnorm_output_elements + concat_elements), 0)",
    ),
    derived_feature(
        "intensity_ratio",
        "i_r",
        "1",
        "operations per byte of the layers with MACs, over the ridge point of the GPU",
        "2 * macs_per_element / bytes_per_element / ridge_flop_per_byte",
    ),
)


TARGET = FeatureSpec("time_s", "t", SECOND, "time of one training iteration", low=0.0)

_ROWS = (
    *RUN_FEATURES, *GPU_FEATURES, *CNN_FEATURES, *LINK_FEATURES, *TIME_FEATURES, *SKELETON_FEATURES,
    *COMMUNICATION_FEATURES,
)  # fmt: skip
FEATURES: Mapping[str, Feature] = MappingProxyType(
    {row.spec.name: row for row in (*_ROWS, *SCALING_FEATURES)}
)
_OF_ANY_RUN = tuple(row.spec.name for row in _ROWS)

# Times that the study adds, and few pure numbers of a GPU: with fewer than twenty chips, more of them would
# only identify the chip.
STUDY_FEATURES: tuple[str, ...] = (
    "conv3x3_compute_s", "conv1x1_compute_s", "conv5x5_compute_s", "conv_other_compute_s",
    "grouped_conv_compute_s", "dense_compute_s", "im2col_compute_s", "conv_output_compute_s",
    "conv_weight_compute_s", "conv_output_memory_s", "depthwise_output_memory_s", "batchnorm_memory_s",
    "elementwise_memory_s", "concat_memory_s", "parameter_memory_s", "optimizer_memory_s",
    "layer_launch_s", "kernel_launch_s", "input_copy_s", "iteration_overhead_s", "wide_sm",
    "on_chip_ratio",
)  # fmt: skip


def feature_specs(
    names: Iterable[str] | None = None, features: Mapping[str, Feature] = FEATURES
) -> tuple[FeatureSpec, ...]:
    """Return the specifications of features.

    Parameters
    ----------
    names : iterable of str, optional
        Names in `features`; all of them by default.
    features : mapping of str to Feature
        A table of features: `FEATURES` of runs, `LAYER_FEATURES`, `CNN_LAYER_FEATURES` or `PAIR_FEATURES`.

    Returns
    -------
    tuple of FeatureSpec
        Name, symbol, unit, meaning and valid range of each, in the order of `names`.

    Raises
    ------
    UnknownNameError
        A name is not in `features`.

    Examples
    --------
    >>> [str(spec.unit) for spec in feature_specs(["macs", "conv_compute_s"])]
    ['MAC/sample', 's']
    """
    return tuple(feature.spec for feature in chosen_features(features, names))


def feature_frame(runs: pd.DataFrame, facts: Facts, names: Iterable[str] | None = None) -> pd.DataFrame:
    """Return features of `runs`: float64, shape (n_runs, k).

    names : None for all except `SCALING_FEATURES`, which runs on one GPU lack. runs : a frame of the runs
    schema. facts : what it is joined with. Raises UnknownNameError for an unknown feature, GPU, CNN or link.
    """
    chosen = _OF_ANY_RUN if names is None else names
    return feature_block(FEATURES, RunJoin(runs, facts).columns(), runs.index, chosen)
