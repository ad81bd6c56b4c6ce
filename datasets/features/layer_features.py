"""Features of a measured layer, described as the matrix product that it computes."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from trainlaw.datasets.features.base_features import GPU_FEATURES
from trainlaw.datasets.features.feature import (
    Feature,
    column_feature,
    derived_feature,
)
from trainlaw.datasets.tables.joins import GpuJoin

LAYER_NUMBERS = (
    "batch", "in_height_px", "in_width_px", "in_channels", "out_channels", "kernel_px", "stride_px",
    "out_height_px",
)  # fmt: skip


#: Side of a tile in outputs, and channels of the smallest block: one per thread of a warp of 32.
TILE_PX, BLOCK_CHANNELS = 4.0, 32.0


def tiled(amounts: np.ndarray, tile: float) -> np.ndarray:
    """Round amounts up to whole tiles; same unit and shape.

    >>> tiled(np.array([7.0, 8.0, 9.0]), TILE_PX).tolist()
    [8.0, 8.0, 12.0]
    """
    return tile * np.ceil(amounts / tile)


def _compute(name: str, symbol: str, amount: str, meaning: str) -> Feature:
    """Return the seconds of `amount` (in MAC or elements) at 2 FLOP per pass and the peak rate."""
    definition = f"2 * n_passes * {amount} / peak_flop_per_s"
    return derived_feature(name, symbol, "s", f"2 x passes x {meaning} / peak rate", definition)


def _memory(name: str, symbol: str, elements: str, meaning: str) -> Feature:
    definition = f"n_passes * bytes_per_element * {elements} / bandwidth_byte_per_s"
    return derived_feature(name, symbol, "s", f"passes x e x {meaning} / bandwidth", definition)


#: Outputs of one thread block of cuDNN's most common fp32 kernels, named "128x64" (recalled).
BLOCK = 128 * 64
# A k x k convolution of stride 1 can be computed in tiles of 4 x 4 outputs, (k + 3)^2 products each instead
# of 16 k^2 (Winograd's algorithm F(4x4, kxk): Lavin and Gray, CVPR 2016). Others count all their products.
_FAST_ROWS: tuple[Feature, ...] = (
    derived_feature(
        "is_fast", "v_t", "1", "1 for stride 1, where tiling is possible", "max(2 - stride_px, 0)", high=1
    ),
    derived_feature(
        "tile_ratio",
        "theta",
        "1",
        "products in tiles over all products; 1 where the stride is not 1",
        "is_fast * (tiled_height_px * (kernel_px + 3) / (4 * out_height_px * kernel_px)) ^ 2 + (1 - is_fast)",
    ),
    derived_feature(
        "tiled_compute_s",
        "c_T",
        "s",
        "time of the MACs with output channels in whole blocks of 32",
        "tiled_channels / out_channels * compute_s",
    ),
    derived_feature(
        "fast_compute_s", "c_F", "s", "time of the products in tiles", "tile_ratio * tiled_compute_s"
    ),
    derived_feature(
        "fast_input_compute_s",
        "c_FI",
        "s",
        "2 x passes x elements of the inputs' tiles / peak rate",
        "tile_ratio * im2col_compute_s",
    ),
    derived_feature(
        "fast_wave_compute_s",
        "c_FV",
        "s",
        "time of one block of transformed outputs on each multiprocessor, however few outputs the layer has",
        "(is_fast * ((kernel_px + 3) / kernel_px) ^ 2 + (1 - is_fast)) * wave_compute_s",
    ),
)
_ROWS: tuple[Feature, ...] = (
    column_feature("batch", "b", "sample", "images", low=1),
    column_feature("bytes_per_element", "e", "B/element", "bytes per stored activation", low=1, high=8),
    column_feature("n_passes", "p", "1", "passes: 1 forward; 3 with both gradients", low=1, high=3),
    column_feature("has_optimizer", "u", "1", "1 where the time includes the optimizer step", high=1),
    column_feature("is_conv", "v", "1", "1 for a convolution, 0 for a dense layer", high=1),
    column_feature("kernel_px", "k", "1", "side of the kernel", low=1),
    column_feature("stride_px", "z", "1", "stride", low=1),
    column_feature("in_channels", "C", "1", "input channels", low=1),
    column_feature("out_channels", "N", "1", "output channels: columns of the matrix product", low=1),
    column_feature("in_height_px", "H_i", "1", "height of the input", low=1),
    column_feature("in_width_px", "W_i", "1", "width of the input", low=1),
    column_feature("out_height_px", "H_o", "1", "height (and width) of the output", low=1),
    column_feature(
        "tiled_height_px", "H_t", "1", "height of the output, rounded up to whole tiles of 4", low=1
    ),
    column_feature("tiled_channels", "N_t", "1", "output channels, rounded up to whole blocks of 32", low=1),
    column_feature("has_bias", "q_b", "1", "1 with a bias", high=1),
    column_feature("has_activation", "q_a", "1", "1 with an activation after the layer", high=1),
    column_feature(
        "update_arrays",
        "q_u",
        "1",
        "arrays of the size of the input that its update reads and writes; 0 without an update",
    ),
    derived_feature(
        "rows",
        "M",
        "1",
        "rows of the matrix product: images x output pixels (all shipped layers are square)",
        "batch * (out_height_px * out_height_px)",
    ),
    derived_feature(
        "reduction",
        "K",
        "1",
        "reduction length: input channels x kernel area",
        "in_channels * kernel_px * kernel_px",
    ),
    derived_feature("weights", "W", "element", "elements of the kernel", "reduction * out_channels"),
    derived_feature(
        "input_elements",
        "A_i",
        "element",
        "inputs of the whole batch",
        "batch * in_channels * in_height_px * in_width_px",
    ),
    derived_feature(
        "output_elements",
        "A_o",
        "element",
        "outputs of the whole batch",
        "rows * out_channels",
    ),
    derived_feature("macs", "X", "MAC", "MACs of one pass over the batch", "rows * weights"),
    _compute("compute_s", "c_X", "macs", "MACs"),
    _compute("output_compute_s", "c_A", "output_elements", "outputs"),
    _compute("im2col_compute_s", "c_I", "(rows * reduction)", "rows x reduction length"),
    _compute("weight_compute_s", "c_W", "weights", "weights"),
    _memory("input_memory_s", "m_i", "input_elements", "inputs"),
    _memory("output_memory_s", "m_o", "output_elements", "outputs"),
    _memory("weight_memory_s", "m_W", "weights", "weights"),
    derived_feature("launch_s", "k_0", "s", "passes x 10 us", "n_passes * 1e-5"),
    *_FAST_ROWS,
    derived_feature(
        "clock_drop",
        "delta",
        "1",
        "ln(boost clock / base clock): how far the clock may drop under load",
        "log(boost_clock_hz / base_clock_hz)",
    ),
    derived_feature(
        "wave_compute_s",
        "c_V",
        "s",
        "time of one block of 128 x 64 outputs on each multiprocessor, however few outputs the layer has",
        f"2 * n_passes * reduction * {BLOCK} * sm_count / peak_flop_per_s",
    ),
    derived_feature(
        "epilogue_memory_s",
        "m_e",
        "s",
        "passes x e x outputs / bandwidth, for a bias and again for an activation",
        "(has_bias + has_activation) * output_memory_s",
    ),
    derived_feature(
        "update_memory_s",
        "m_u",
        "s",
        "e x inputs x arrays of their update / bandwidth",
        "bytes_per_element * update_arrays * input_elements / bandwidth_byte_per_s",
    ),
)
#: Arrays that one update reads and writes, by optimizer: the values, and its state; any other: 1.
UPDATE_ARRAYS: Mapping[str, int] = MappingProxyType(
    {"none": 0, "SGD": 1, "Momentum": 2, "Adagrad": 2, "RMSProp": 3, "Adam": 3, "Adadelta": 3}
)
LAYER_FEATURES: Mapping[str, Feature] = MappingProxyType(
    {row.spec.name: row for row in (*_ROWS, *GPU_FEATURES)}
)
LAYER_RULES: Mapping[str, Callable[[GpuJoin], np.ndarray]] = MappingProxyType(
    {
        "n_passes": lambda rows: rows.looked_up("phase", lambda phase: 3 if "backward" in phase else 1),
        "has_optimizer": lambda rows: rows.looked_up("phase", lambda phase: "optimizer" in phase.split("+")),
        "is_conv": lambda rows: rows.looked_up("kind", lambda kind: kind == "conv"),
        "tiled_height_px": lambda rows: tiled(rows.number("out_height_px"), TILE_PX),
        "tiled_channels": lambda rows: tiled(rows.number("out_channels"), BLOCK_CHANNELS),
        "has_bias": lambda rows: np.nan_to_num(rows.number("bias")),
        "has_activation": lambda rows: rows.looked_up("activation", lambda name: name != "none"),
        "update_arrays": lambda rows: rows.looked_up("optimizer", lambda name: UPDATE_ARRAYS.get(name, 1)),
    }
)
