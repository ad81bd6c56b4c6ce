"""Aggregate counts of a network, per image and forward pass: one row per column, with unit and definition."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from trainlaw.datasets.cnns.graph import KINDS, Cnn, Layer
from trainlaw.datasets.cnns.paths import longest_path

_GROUPS = frozenset(
    {"input", "convolution", "dense", "normalization", "activation", "pooling", "add", "concat"}
)


@dataclass(frozen=True)
class _Table:
    """The layers of one network as columns: float64 and bool arrays, shape (n_layers,)."""

    cnn: Cnn
    group: dict[str, np.ndarray]
    depthwise: np.ndarray
    grouped: np.ndarray
    concat: np.ndarray
    moved: np.ndarray
    macs: np.ndarray
    parameters: np.ndarray
    output: np.ndarray
    read: np.ndarray
    conv_input: np.ndarray
    kernel_height: np.ndarray
    kernel_width: np.ndarray
    stride: np.ndarray
    pixels: np.ndarray
    reduction: np.ndarray
    columns: np.ndarray
    im2col: np.ndarray
    out_channels: np.ndarray
    n_edges: int

    @property
    def conv(self) -> np.ndarray:
        """Convolutions that are not depthwise."""
        return self.group["convolution"] & ~self.depthwise

    @property
    def heavy(self) -> np.ndarray:
        """Layers with MACs: convolutions and dense layers."""
        return self.group["convolution"] | self.group["dense"]

    @property
    def layers(self) -> np.ndarray:
        """All layers but the inputs."""
        return ~self.group["input"]


def _matrix_product(layer: Layer) -> tuple[int, int, int, int]:
    """Rows, reduction length and columns of one group's matrix product; elements of the unfolded image."""
    kernel = layer.kernel_height * layer.kernel_width
    entering, leaving = layer.in_channels // layer.groups, layer.out_channels // layer.groups
    if layer.kind == "conv_transpose":
        pixels = layer.in_height * layer.in_width
        return pixels, entering, leaving * kernel, pixels * layer.out_channels * kernel
    pixels = layer.out_height * layer.out_width
    return pixels, entering * kernel, leaving, pixels * layer.in_channels * kernel


def _table(cnn: Cnn) -> _Table:
    layers = cnn.layers

    def column(values: Callable[[Layer], float]) -> np.ndarray:
        return np.array([values(layer) for layer in layers], dtype=np.float64)

    kinds = np.array([layer.kind for layer in layers])
    groups = np.array([KINDS[kind] for kind in kinds.tolist()])
    products = np.array([_matrix_product(layer) for layer in layers], dtype=np.float64)
    output = column(lambda layer: layer.output_elements)
    return _Table(
        cnn=cnn,
        group={name: groups == name for name in _GROUPS},
        depthwise=column(lambda layer: layer.is_depthwise) == 1,
        grouped=column(lambda layer: layer.groups) > 1,
        concat=kinds == "concat",
        moved=(groups == "concat") | (groups == "move"),
        macs=column(lambda layer: layer.macs),
        parameters=column(lambda layer: layer.parameters),
        output=output,
        read=column(lambda layer: sum(output[i] for i in layer.inputs)),
        conv_input=column(lambda layer: layer.input_elements),
        kernel_height=column(lambda layer: layer.kernel_height),
        kernel_width=column(lambda layer: layer.kernel_width),
        stride=column(lambda layer: layer.stride),
        pixels=products[:, 0],
        reduction=products[:, 1],
        columns=products[:, 2],
        im2col=products[:, 3],
        out_channels=column(lambda layer: layer.out_channels),
        n_edges=sum(len(layer.inputs) for layer in layers),
    )


def _first(values: np.ndarray) -> float:
    return float(values[0]) if len(values) else 0.0


def _largest(values: np.ndarray) -> float:
    return float(values.max()) if len(values) else 0.0


def _weighted_harmonic_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(weights.sum() / (weights / values).sum()) if weights.sum() > 0 else 0.0


def _mean_log(values: np.ndarray) -> float:
    return float(np.log(values).mean()) if len(values) else 0.0


def _kernel(t: _Table, side: int) -> np.ndarray:
    return t.conv & (t.kernel_height == side) & (t.kernel_width == side)


def _critical_path_macs(t: _Table) -> float:
    return longest_path(t.cnn, t.macs.tolist())


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


class Column(NamedTuple):
    """One aggregate column: its name, unit, definition in words, and the function that counts it."""

    name: str
    unit: str
    definition: str
    count: Callable[[_Table], float]


COLUMNS: tuple[Column, ...] = (
    Column("macs", "MAC/sample", "MACs of all layers", lambda t: t.macs.sum()),
    Column(
        "conv_macs",
        "MAC/sample",
        "MACs of convolutions of one group",
        lambda t: t.macs[t.conv & ~t.grouped].sum(),
    ),
    Column(
        "grouped_conv_macs",
        "MAC/sample",
        "MACs of convolutions of several groups that are not depthwise",
        lambda t: t.macs[t.conv & t.grouped].sum(),
    ),
    Column(
        "depthwise_macs",
        "MAC/sample",
        "MACs of convolutions with one input channel per group",
        lambda t: t.macs[t.depthwise].sum(),
    ),
    Column("dense_macs", "MAC/sample", "MACs of dense layers", lambda t: t.macs[t.group["dense"]].sum()),
    Column("params", "element", "learned elements of all layers", lambda t: t.parameters.sum()),
    Column(
        "dense_params",
        "element",
        "learned elements of dense layers, bias included",
        lambda t: t.parameters[t.group["dense"]].sum(),
    ),
    Column(
        "conv_params",
        "element",
        "learned elements of all convolutions (grouped and depthwise too), bias included",
        lambda t: t.parameters[t.group["convolution"]].sum(),
    ),
    Column(
        "activation_elements",
        "element/sample",
        "outputs of all layers but the input",
        lambda t: t.output[t.layers].sum(),
    ),
    Column(
        "layer_input_elements",
        "element/sample",
        "what all layers read: the outputs of their predecessors, each as often as it is read",
        lambda t: t.read.sum(),
    ),
    Column(
        "conv_output_elements",
        "element/sample",
        "outputs of convolutions that are not depthwise",
        lambda t: t.output[t.conv].sum(),
    ),
    Column(
        "depthwise_output_elements",
        "element/sample",
        "outputs of depthwise convolutions",
        lambda t: t.output[t.depthwise].sum(),
    ),
    Column(
        "batchnorm_output_elements",
        "element/sample",
        "outputs of normalisations (batch, layer, group, instance)",
        lambda t: t.output[t.group["normalization"]].sum(),
    ),
    Column(
        "elementwise_elements",
        "element/sample",
        "outputs of all layers without MACs: normalisations, activations, pooling, sums, copies",
        lambda t: t.output[t.layers & ~t.heavy].sum(),
    ),
    Column(
        "concat_elements",
        "element/sample",
        "outputs of layers that only move data: concat, slice, pad, channel shuffle, upsample",
        lambda t: t.output[t.moved].sum(),
    ),
    Column(
        "pool_elements",
        "element/sample",
        "inputs of pooling layers",
        lambda t: t.read[t.group["pooling"]].sum(),
    ),
    Column("n_layers", "1", "layers but the input", lambda t: t.layers.sum()),
    Column(
        "n_conv", "1", "convolutions that are not depthwise, grouped ones included", lambda t: t.conv.sum()
    ),
    Column(
        "n_grouped_conv",
        "1",
        "convolutions of several groups that are not depthwise",
        lambda t: (t.conv & t.grouped).sum(),
    ),
    Column("n_depthwise", "1", "depthwise convolutions", lambda t: t.depthwise.sum()),
    Column("n_dense", "1", "dense layers", lambda t: t.group["dense"].sum()),
    Column(
        "n_batchnorm",
        "1",
        "normalisations (batch, layer, group, instance)",
        lambda t: t.group["normalization"].sum(),
    ),
    Column("n_pool", "1", "pooling layers, global ones included", lambda t: t.group["pooling"].sum()),
    Column(
        "n_activation", "1", "activations but gates (sigmoid, softmax)", lambda t: t.group["activation"].sum()
    ),
    Column("n_add", "1", "sums of layers", lambda t: t.group["add"].sum()),
    Column("n_concat", "1", "concatenations", lambda t: t.concat.sum()),
    Column(
        "n_other",
        "1",
        "other layers: products, gates, scales, dropouts, local response norms, slices, pads, shuffles",
        lambda t: (~np.any(list(t.group.values()), axis=0)).sum(),
    ),
    Column(
        "conv1x1_macs",
        "MAC/sample",
        "MACs of 1 x 1 convolutions of one group, any stride",
        lambda t: t.macs[_kernel(t, 1) & ~t.grouped].sum(),
    ),
    Column(
        "conv3x3_macs",
        "MAC/sample",
        "MACs of 3 x 3 convolutions of one group and stride 1",
        lambda t: t.macs[_kernel(t, 3) & ~t.grouped & (t.stride == 1)].sum(),
    ),
    Column(
        "first_conv_macs", "MAC/sample", "MACs of the first convolution", lambda t: _first(t.macs[t.conv])
    ),
    Column("max_layer_macs", "MAC/sample", "largest MACs of a layer", lambda t: _largest(t.macs)),
    Column(
        "max_layer_elements",
        "element/sample",
        "largest output of a layer but the input",
        lambda t: _largest(t.output[t.layers]),
    ),
    Column(
        "max_layer_params",
        "element",
        "largest number of learned elements of a layer",
        lambda t: _largest(t.parameters),
    ),
    Column(
        "depth",
        "1",
        "most layers with MACs on a way from input to output",
        lambda t: longest_path(t.cnn, t.heavy.tolist()),
    ),
    Column(
        "depth_all_layers",
        "1",
        "most layers on a way from input to output, the input not counted",
        lambda t: longest_path(t.cnn, t.layers.tolist()),
    ),
    Column(
        "critical_path_macs",
        "MAC/sample",
        "largest sum of MACs on a way from input to output",
        _critical_path_macs,
    ),
    Column(
        "graph_width",
        "1",
        "MACs of all layers over the MACs of the critical path",
        lambda t: _ratio(t.macs.sum(), _critical_path_macs(t)),
    ),
    Column("n_edges", "1", "readings of one layer's output by another layer", lambda t: t.n_edges),
    Column(
        "macs_per_element",
        "MAC/element",
        "MACs over inputs, outputs and learned elements, of the layers with MACs",
        lambda t: _ratio(t.macs.sum(), (t.output + t.read + t.parameters)[t.heavy].sum()),
    ),
    Column(
        "mean_log_macs",
        "1",
        "mean natural logarithm of the MACs of the layers with MACs",
        lambda t: _mean_log(t.macs[t.heavy]),
    ),
    Column(
        "input_elements",
        "element/sample",
        "elements of the input",
        lambda t: t.output[t.group["input"]].sum(),
    ),
    Column(
        "im2col_elements",
        "element/sample",
        "unfolded images: output pixels x input channels x kernel area, of convolutions not depthwise",
        lambda t: t.im2col[t.conv].sum(),
    ),
    Column(
        "conv_output_pixels",
        "1",
        "output pixels, summed over convolutions that are not depthwise",
        lambda t: t.pixels[t.conv].sum(),
    ),
    Column(
        "conv_output_channels",
        "1",
        "output channels, summed over convolutions that are not depthwise",
        lambda t: t.out_channels[t.conv].sum(),
    ),
    Column(
        "conv_reduction_length",
        "1",
        "input channels per group x kernel area, summed over convolutions that are not depthwise",
        lambda t: t.reduction[t.conv].sum(),
    ),
    Column(
        "conv_input_elements",
        "element/sample",
        "inputs of convolutions that are not depthwise",
        lambda t: t.conv_input[t.conv].sum(),
    ),
    Column(
        "input_gradient_macs",
        "MAC/sample",
        "MACs of convolutions that are not depthwise, but the first, whose input needs no gradient",
        lambda t: t.macs[t.conv].sum() - _first(t.macs[t.conv]),
    ),
    Column(
        "conv5x5_macs",
        "MAC/sample",
        "MACs of stride-1 convolutions with a kernel at least 5 high, grouped ones included, depthwise not",
        lambda t: t.macs[t.conv & (t.kernel_height >= 5) & (t.stride == 1)].sum(),
    ),
    Column(
        "strided_conv_macs",
        "MAC/sample",
        "MACs of convolutions with a stride above 1, grouped ones included, depthwise not",
        lambda t: t.macs[t.conv & (t.stride > 1)].sum(),
    ),
    Column(
        "conv_mean_pixels",
        "1",
        "output pixels of a convolution, harmonic mean weighted by MACs",
        lambda t: _weighted_harmonic_mean(t.pixels[t.conv], t.macs[t.conv]),
    ),
    Column(
        "conv_mean_reduction",
        "1",
        "input channels per group x kernel area of a convolution, harmonic mean weighted by MACs",
        lambda t: _weighted_harmonic_mean(t.reduction[t.conv], t.macs[t.conv]),
    ),
    Column(
        "conv_mean_channels",
        "1",
        "output channels per group of a convolution, harmonic mean weighted by MACs",
        lambda t: _weighted_harmonic_mean(t.columns[t.conv], t.macs[t.conv]),
    ),
    Column(
        "sum_sqrt_macs",
        "MAC^(1/2)",
        "square roots of the MACs of convolutions, summed",
        lambda t: np.sqrt(t.macs[t.conv]).sum(),
    ),
    Column(
        "sum_sqrt_macs_elements",
        "(MAC element)^(1/2)",
        "square roots of MACs x outputs of convolutions, summed",
        lambda t: np.sqrt((t.macs * t.output)[t.conv]).sum(),
    ),
    Column(
        "sum_macs_two_thirds",
        "MAC^(2/3)",
        "MACs of convolutions to the power 2/3, summed",
        lambda t: (t.macs[t.conv] ** (2 / 3)).sum(),
    ),
    Column(
        "max_dense_params",
        "element",
        "largest number of learned elements of a dense layer",
        lambda t: _largest(t.parameters[t.group["dense"]]),
    ),
)


def counts(cnn: Cnn) -> dict[str, float]:
    """All aggregate columns of a network, by name; units and definitions are those of `explain`.

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> counts(build("resnet50"))["params"]
    25557032.0
    """
    table = _table(cnn)
    return {column.name: float(column.count(table)) for column in COLUMNS}


def explain() -> tuple[tuple[str, str, str], ...]:
    """Name, unit and definition of each aggregate column, in the order of `counts`."""
    return tuple(column[:3] for column in COLUMNS)
