"""Features of one layer inside a CNN: those of measured layers, computed from the layer and its run.

The time of a CNN is the sum over its layers and one row of kind "iteration" for what occurs once per run: the
copy of the images, the update of the parameters, a fixed time. That row has no work of a layer, a layer has
none of its work, and pure numbers that one of them lacks are 1, so that `f(layer) + overhead` is one
expression.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.features.base_features import GPU_FEATURES
from trainlaw.datasets.features.feature import Feature, column_feature, derived_feature
from trainlaw.datasets.features.layer_features import BLOCK, BLOCK_CHANNELS, LAYER_FEATURES, TILE_PX, tiled
from trainlaw.datasets.features.run_features import FEATURES
from trainlaw.datasets.hardware.gpus import Gpu
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.formulas.features import FeatureSpec

# Outputs that one thread block of a matrix product computes, and how many such blocks a multiprocessor hosts:
# cuDNN's most common fp32 kernels are named "128x64", and their registers leave room for two (recalled).
_TILE_ROWS, _TILE_COLUMNS, _RESIDENT_TILES = 128, 64, 2
# Threads that a multiprocessor hosts: CUDA C++ Programming Guide, compute capabilities 3.0 to 8.0 (7.5 and
# 8.6 host fewer). A layer without a matrix product has a thread per output.
_RESIDENT_THREADS = 2048

OTHER_MEMORY = FeatureSpec(
    "other_memory_s",
    "m_x",
    SECOND,
    "passes x bytes read and written by a layer without a matrix product / bandwidth; 0 for any other layer",
    low=0.0,
)


def device_shares(cnn: Cnn, gpu: Gpu, batch: int) -> np.ndarray:
    """Return the share of a GPU that each layer occupies, float64, shape (n_layers,), in (0, 1].

    Thread blocks over those that fill all multiprocessors. A matrix product has one block per 128 x 64
    outputs and group, and two fill a multiprocessor; any other layer has one thread per output, and 2,048
    fill one.

    >>> from trainlaw.datasets import find_cnn, find_gpu
    >>> device_shares(find_cnn("lenet5"), find_gpu("V100-SXM2-16GB"), 1).max().round(3).item()
    0.044
    """
    layers = LayerColumns.of(cnn)
    groups = np.array([layer.groups for layer in cnn.layers], dtype=np.float64)
    tiles = np.ceil(batch * layers.rows / _TILE_ROWS) * np.ceil(layers.columns / _TILE_COLUMNS) * groups
    of_product = tiles / (_RESIDENT_TILES * gpu.sm_count)
    of_others = batch * layers.output_elements / (_RESIDENT_THREADS * gpu.sm_count)
    return np.minimum(np.where(layers.heavy, of_product, of_others), 1.0)


ITERATION = "iteration"  # kind of the row with what a run has once
TRAINING_PASSES = 3.0  # forward, gradient of the input, gradient of the weights


def _flag(name: str, symbol: str, meaning: str) -> Feature:
    return column_feature(name, symbol, "1", f"1 for {meaning}", high=1)


#: Base columns of the features below that depend on the layer alone: per image, without GPU or batch.
CNN_LAYER_COLUMNS: Mapping[str, Feature] = MappingProxyType(
    {
        row.spec.name: row
        for row in (
            _flag("is_layer", "l", "a layer, 0 for what occurs once per run"),
            _flag("is_conv", "v", "a convolution"),
            _flag("is_conv3x3", "v_3", "a 3 x 3 convolution of one group and stride 1"),
            _flag("is_conv1x1", "v_1", "a 1 x 1 convolution of one group"),
            _flag("is_grouped", "v_g", "a convolution in groups that is not depthwise"),
            _flag("is_depthwise", "v_w", "a depthwise convolution"),
            _flag("is_dense", "v_d", "a dense layer"),
            _flag("is_batchnorm", "v_b", "a normalisation"),
            _flag("is_concat", "v_c", "a layer that only moves data"),
            column_feature(
                "kernel_px", "k", "1", "side of the kernel, geometric mean; 1 without a kernel", low=1
            ),
            column_feature("stride_px", "z", "1", "stride", low=1),
            column_feature("in_channels", "C", "1", "input channels", low=1),
            column_feature("out_channels", "N", "1", "output channels", low=1),
            column_feature("in_height_px", "H_i", "1", "height of the input", low=1),
            column_feature("in_width_px", "W_i", "1", "width of the input", low=1),
            column_feature("out_height_px", "H_o", "1", "side of the output, geometric mean", low=1),
            column_feature(
                "tiled_height_px", "H_t", "1", "side of the output, rounded up to whole tiles of 4", low=1
            ),
            column_feature("tiled_channels", "N_t", "1", "output channels in whole blocks of 32", low=1),
            column_feature("reduction", "K", "1", "reduction length of a group: channels x kernel", low=1),
            column_feature("columns", "N_g", "1", "columns of a group's matrix product", low=1),
            column_feature("weights", "W", "element", "elements of the kernel or matrix"),
            column_feature("image_rows", "M_1", "1/sample", "rows of the matrix product of an image"),
            column_feature("image_macs", "X_1", "MAC/sample", "MACs"),
            column_feature(
                "image_unfolded",
                "I_1",
                "element/sample",
                "elements of the unfolded image; inputs of a dense layer",
            ),
            column_feature("image_inputs", "A_1i", "element/sample", "inputs of a layer with MACs"),
            column_feature("image_outputs", "A_1o", "element/sample", "outputs of a layer with MACs"),
            column_feature("image_moved", "A_1x", "element/sample", "inputs and outputs of other layers"),
            column_feature("other_parameters", "W_x", "element", "parameters of other layers"),
            column_feature("run_parameters", "W_r", "element", "parameters of the CNN, once per run"),
            column_feature(
                "run_image_elements", "A_r", "element/sample", "elements of an image, once per run"
            ),
        )
    }
)


def _compute(name: str, symbol: str, flag: str, meaning: str) -> Feature:
    return derived_feature(name, symbol, "s", f"time of the MACs, of {meaning} only", f"{flag} * compute_s")


def _memory(name: str, symbol: str, flag: str, meaning: str) -> Feature:
    definition = f"{flag} * {OTHER_MEMORY.name}"
    return derived_feature(name, symbol, "s", f"{OTHER_MEMORY.meaning}; {meaning} only", definition)


def _redefined(name: str, definition: str) -> Feature:
    """Return the feature of measured layers with a definition for a layer inside a CNN."""
    return Feature(LAYER_FEATURES[name].spec, definition)


def _once(name: str, definition: str) -> Feature:
    """Return the feature of runs with a definition that is 0 except in the row of kind "iteration"."""
    return Feature(FEATURES[name].spec, definition)


# Features of measured layers that need no other definition inside a CNN.
_SAME = (
    "batch", "bytes_per_element", "n_passes", "has_optimizer", "compute_s", "output_compute_s",
    "weight_compute_s", "input_memory_s", "output_memory_s", "weight_memory_s", "clock_drop", "is_fast",
    "tile_ratio", "tiled_compute_s", "fast_compute_s", "fast_input_compute_s", "fast_wave_compute_s",
)  # fmt: skip
_ROWS: tuple[Feature, ...] = (
    *CNN_LAYER_COLUMNS.values(),
    *(LAYER_FEATURES[name] for name in _SAME),
    _redefined("rows", "max(batch * image_rows, 1)"),
    _redefined("input_elements", "batch * image_inputs"),
    _redefined("output_elements", "batch * image_outputs"),
    _redefined("macs", "batch * image_macs"),
    _redefined("im2col_compute_s", "2 * n_passes * (batch * image_unfolded) / peak_flop_per_s"),
    _redefined("launch_s", "is_layer * (n_passes * 1e-5)"),
    _redefined(
        "wave_compute_s", f"2 * n_passes * (weights / out_channels) * {BLOCK} * sm_count / peak_flop_per_s"
    ),
    # In a CNN a bias belongs to its product, an activation is a separate layer, images are not updated.
    _redefined("epilogue_memory_s", "0 * output_memory_s"),
    _redefined("update_memory_s", "0 * input_memory_s"),
    Feature(
        OTHER_MEMORY,
        "n_passes * bytes_per_element * (batch * image_moved + other_parameters) / bandwidth_byte_per_s",
    ),
    _compute("conv3x3_compute_s", "c_3", "is_conv3x3", "3 x 3 convolutions of stride 1"),
    _compute("conv1x1_compute_s", "c_1", "is_conv1x1", "1 x 1 convolutions"),
    _compute("grouped_conv_compute_s", "c_g", "is_grouped", "convolutions in groups"),
    _compute("depthwise_compute_s", "c_dw", "is_depthwise", "depthwise convolutions"),
    _compute("dense_compute_s", "c_d", "is_dense", "dense layers"),
    derived_feature(
        "depthwise_memory_s",
        "m_dw",
        "s",
        "passes x e x outputs / bandwidth, of depthwise convolutions only",
        "is_depthwise * output_memory_s",
    ),
    _memory("batchnorm_memory_s", "m_bn", "is_batchnorm", "of normalisations"),
    _memory("concat_memory_s", "m_cat", "is_concat", "of layers that only move data"),
    _once("optimizer_memory_s", "has_optimizer * (4 * run_parameters) / bandwidth_byte_per_s"),
    _once("input_copy_s", "has_input_copy * (4 * batch * run_image_elements) / 1e10"),
    _once("iteration_overhead_s", "0.001 * (1 - is_layer)"),
    FEATURES["has_input_copy"],
    *GPU_FEATURES,
)
CNN_LAYER_FEATURES: Mapping[str, Feature] = MappingProxyType({row.spec.name: row for row in _ROWS})

#: Features of a study of layers: times, which it adds, and few pure numbers that scale them.
LAYER_STUDY_FEATURES: tuple[str, ...] = (
    "compute_s", "conv3x3_compute_s", "conv1x1_compute_s", "grouped_conv_compute_s", "dense_compute_s",
    "im2col_compute_s", "output_compute_s", "weight_compute_s", "input_memory_s", "output_memory_s",
    "weight_memory_s", "depthwise_memory_s", "batchnorm_memory_s", "concat_memory_s", "other_memory_s",
    "launch_s", "optimizer_memory_s", "input_copy_s", "iteration_overhead_s", "rows", "reduction",
    "columns", "wide_sm", "on_chip_ratio",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class DistinctLayers:
    """The distinct layers of a CNN, and last the row of kind "iteration".

    kinds : of each row, such as "conv". facts : base columns, float64, shape (n_rows, n_columns), in the
    order of `CNN_LAYER_COLUMNS`. count : how often each row occurs, float64, shape (n_rows,).
    """

    kinds: tuple[str, ...]
    facts: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, cnn: Cnn) -> "DistinctLayers":
        """Return the distinct layers of a CNN, in order of first occurrence.

        >>> from trainlaw.datasets import find_cnn
        >>> layers = DistinctLayers.of(find_cnn("vgg16"))
        >>> layers.kinds[-1], int(layers.count.sum()) == len(find_cnn("vgg16").layers)
        ('iteration', True)
        """
        columns = LayerColumns.of(cnn)
        present = columns.layers
        kinds = np.array([layer.kind for layer in cnn.layers])[present]
        facts = np.column_stack(_facts(columns))[present]
        _, codes = np.unique(kinds, return_inverse=True)
        _, first, count = np.unique(
            np.column_stack([codes, facts]), axis=0, return_index=True, return_counts=True
        )
        order = np.argsort(first)
        chosen = first[order]
        rows = np.vstack([facts[chosen], _iteration(columns)])
        return cls((*kinds[chosen].tolist(), ITERATION), rows, np.append(count[order], 1.0))


def layer_facts(cnn: Cnn) -> np.ndarray:
    """Return the base columns of every layer of a CNN, in order, float64, shape (n_layers, n_columns).

    Columns are those of `CNN_LAYER_COLUMNS`, in their order; an input has `is_layer` 0.
    """
    return np.column_stack(_facts(LayerColumns.of(cnn)))


def _facts(columns: LayerColumns) -> list[np.ndarray]:
    """Return the columns of the layers, in the order of `CNN_LAYER_COLUMNS`, each of shape (n_layers,)."""
    layers, heavy = columns.cnn.layers, columns.heavy
    ones, other = np.ones(len(layers)), columns.layers & ~heavy

    def pure(values: np.ndarray) -> np.ndarray:
        return np.where(heavy, np.maximum(values, 1.0), 1.0)

    sides = np.array(
        [(layer.in_channels, layer.in_height, layer.in_width, layer.out_height) for layer in layers],
        dtype=np.float64,
    ).T
    out_width = np.array([layer.out_width for layer in layers], dtype=np.float64)
    return [
        *(flag.astype(float) for flag in _flags(columns)),
        pure(np.sqrt(columns.kernel_height * columns.kernel_width)),
        np.maximum(columns.stride, 1.0),
        np.maximum(sides[0], 1.0),
        np.maximum(columns.out_channels, 1.0),
        np.maximum(sides[1], 1.0),
        np.maximum(sides[2], 1.0),
        np.sqrt(np.maximum(sides[3] * out_width, 1.0)),
        np.sqrt(np.maximum(tiled(sides[3], TILE_PX) * tiled(out_width, TILE_PX), 1.0)),
        np.maximum(tiled(columns.out_channels, BLOCK_CHANNELS), 1.0),
        pure(columns.reduction),
        pure(columns.columns),
        np.array([layer.weights for layer in layers], dtype=np.float64),
        heavy * columns.rows,
        columns.macs,
        np.where(columns.group["dense"], columns.input_elements, heavy * columns.unfolded),
        heavy * columns.read,
        heavy * columns.output_elements,
        other * (columns.read + columns.output_elements),
        other * columns.parameters,
        0.0 * ones,
        0.0 * ones,
    ]


def _flags(columns: LayerColumns) -> tuple[np.ndarray, ...]:
    """Return the columns that are 0 or 1, in the order of `CNN_LAYER_COLUMNS`, each of shape (n_layers,)."""
    return (
        columns.layers,
        columns.group["convolution"],
        columns.kernel(3) & (columns.stride == 1),
        columns.kernel(1),
        columns.conv & columns.grouped,
        columns.depthwise,
        columns.group["dense"],
        columns.group["normalization"],
        columns.group["concat"] | columns.group["move"],
    )


def _iteration(columns: LayerColumns) -> np.ndarray:
    """Return the row of kind "iteration", shape (n_columns,)."""
    once = {
        "run_parameters": float(columns.parameters.sum()),
        "run_image_elements": float(columns.output_elements[columns.group["input"]].sum()),
    }
    return np.array([once.get(name, max(row.spec.low, 0.0)) for name, row in CNN_LAYER_COLUMNS.items()])
