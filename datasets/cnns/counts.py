"""Aggregate counts of a CNN, per image and forward pass: one row per column."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.graph import Cnn, longest_path

_OTHER = frozenset({"merge", "gate", "move", "scale", "dropout", "lrn"})


def _first(values: np.ndarray) -> float:
    return float(values[0]) if len(values) else 0.0


def _largest(values: np.ndarray) -> float:
    return float(values.max()) if len(values) else 0.0


def _weighted_harmonic_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(weights.sum() / (weights / values).sum()) if weights.sum() > 0 else 0.0


def _mean_log(values: np.ndarray) -> float:
    return float(np.log(values).mean()) if len(values) else 0.0


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


@dataclass(frozen=True)
class Column:
    """One aggregate column: its name, unit, definition as text, and the function that counts it."""

    name: str
    unit: str
    definition: str
    count: Callable[[LayerColumns], float]


COLUMNS: tuple[Column, ...] = (
    # Work, by how libraries treat it: grouped and depthwise convolutions have separate kernels.
    Column("macs", "MAC/sample", "MACs of all layers", lambda t: t.macs.sum()),
    Column(
        "conv_macs",
        "MAC/sample",
        "MACs of convolutions of one group",
        lambda t: t.macs[t.single_conv].sum(),
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
    # Weights: what the optimizer and the all-reduce move.
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
    # Activations, by who writes them: memory traffic.
    Column(
        "activation_elements",
        "element/sample",
        "outputs of all layers but the input",
        lambda t: t.output_elements[t.layers].sum(),
    ),
    Column(
        "layer_input_elements",
        "element/sample",
        "elements read by all layers: the outputs of their predecessors, once per reader",
        lambda t: t.read.sum(),
    ),
    Column(
        "conv_output_elements",
        "element/sample",
        "outputs of convolutions that are not depthwise",
        lambda t: t.output_elements[t.conv].sum(),
    ),
    Column(
        "depthwise_output_elements",
        "element/sample",
        "outputs of depthwise convolutions",
        lambda t: t.output_elements[t.depthwise].sum(),
    ),
    Column(
        "batchnorm_output_elements",
        "element/sample",
        "outputs of normalisations (batch, layer, group, instance)",
        lambda t: t.output_elements[t.group["normalization"]].sum(),
    ),
    Column(
        "elementwise_elements",
        "element/sample",
        "outputs of all layers without MACs: normalisations, activations, pooling, sums, copies",
        lambda t: t.output_elements[t.layers & ~t.heavy].sum(),
    ),
    Column(
        "concat_elements",
        "element/sample",
        "outputs of layers that only move data: concat, slice, pad, channel shuffle, upsample",
        lambda t: t.output_elements[t.group["concat"] | t.group["move"]].sum(),
    ),
    Column(
        "pool_elements",
        "element/sample",
        "inputs of pooling layers",
        lambda t: t.read[t.group["pooling"]].sum(),
    ),
    # Numbers of layers: each is at least one launch.
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
    Column("n_concat", "1", "concatenations", lambda t: t.group["concat"].sum()),
    Column(
        "n_other",
        "1",
        "other layers: products, gates, scales, dropouts, local response norms, slices, pads, shuffles",
        lambda t: sum(t.group[name].sum() for name in _OTHER),
    ),
    # Kernel sizes and strides, which decide the algorithm (3 x 3 with stride 1: Winograd).
    Column(
        "conv1x1_macs",
        "MAC/sample",
        "MACs of 1 x 1 convolutions of one group, any stride",
        lambda t: t.macs[t.kernel(1)].sum(),
    ),
    Column(
        "conv3x3_macs",
        "MAC/sample",
        "MACs of 3 x 3 convolutions of one group and stride 1",
        lambda t: t.macs[t.kernel(3) & (t.stride == 1)].sum(),
    ),
    Column(
        "first_conv_macs", "MAC/sample", "MACs of the first convolution", lambda t: _first(t.macs[t.conv])
    ),
    Column("max_layer_macs", "MAC/sample", "largest MACs of a layer", lambda t: _largest(t.macs)),
    Column(
        "max_layer_elements",
        "element/sample",
        "largest output of a layer but the input",
        lambda t: _largest(t.output_elements[t.layers]),
    ),
    Column(
        "max_layer_params",
        "element",
        "largest number of learned elements of a layer",
        lambda t: _largest(t.parameters),
    ),
    # The graph: what can run concurrently.
    Column(
        "depth",
        "1",
        "most layers with MACs on a path from input to output",
        lambda t: longest_path(t.cnn, t.heavy.tolist()),
    ),
    Column(
        "depth_all_layers",
        "1",
        "most layers on a path from input to output, the input not counted",
        lambda t: longest_path(t.cnn, t.layers.tolist()),
    ),
    Column(
        "critical_path_macs",
        "MAC/sample",
        "largest sum of MACs on a path from input to output",
        lambda t: t.critical_path_macs,
    ),
    Column(
        "graph_width",
        "1",
        "MACs of all layers over the MACs of the critical path",
        lambda t: _ratio(t.macs.sum(), t.critical_path_macs),
    ),
    Column(
        "n_edges",
        "1",
        "connections: outputs of layers read by other layers",
        lambda t: sum(len(layer.inputs) for layer in t.cnn.layers),
    ),
    Column(
        "macs_per_element",
        "MAC/element",
        "MACs over inputs, outputs and learned elements, of the layers with MACs",
        lambda t: _ratio(t.macs.sum(), (t.output_elements + t.read + t.parameters)[t.heavy].sum()),
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
        lambda t: t.output_elements[t.group["input"]].sum(),
    ),
    # Sizes of the matrix products: their time saturates with each of rows, reduction and columns.
    Column(
        "im2col_elements",
        "element/sample",
        "unfolded images: output pixels x input channels x kernel area, of convolutions not depthwise",
        lambda t: t.unfolded[t.conv].sum(),
    ),
    Column(
        "conv_output_pixels",
        "1",
        "output pixels, summed over convolutions that are not depthwise",
        lambda t: t.rows[t.conv].sum(),
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
        lambda t: t.input_elements[t.conv].sum(),
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
    # A harmonic mean weighted by work keeps the sum of work over size.
    Column(
        "conv_mean_pixels",
        "1",
        "output pixels of a convolution, harmonic mean weighted by MACs",
        lambda t: _weighted_harmonic_mean(t.rows[t.conv], t.macs[t.conv]),
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
        lambda t: np.sqrt((t.macs * t.output_elements)[t.conv]).sum(),
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
    """Count all aggregate columns of a CNN.

    Parameters
    ----------
    cnn : Cnn
        The graph of layers.

    Returns
    -------
    dict of str to float
        Per image and forward pass, by name; `explain` lists units and definitions.

    Examples
    --------

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> counts(build("resnet50"))["params"]
    25557032.0
    """
    table = LayerColumns.of(cnn)
    return {column.name: float(column.count(table)) for column in COLUMNS}


def explain() -> tuple[tuple[str, str, str], ...]:
    """List the aggregate columns.

    Returns
    -------
    tuple of (str, str, str)
        Name, unit and definition of each, in the order of `counts`.
    """
    return tuple((column.name, column.unit, column.definition) for column in COLUMNS)
