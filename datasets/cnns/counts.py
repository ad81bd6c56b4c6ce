"""Aggregate counts of a CNN, per image and forward pass."""

from collections.abc import Callable, Mapping
from typing import SupportsFloat

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.graph import Cnn, longest_path
from trainlaw.datasets.files.storage import read_data_rows

_OTHER = frozenset({"merge", "gate", "move", "scale", "dropout", "lrn"})
#: Sizes of layers in elements read and written, each of a class from half to twice its size: the share of a
#: layer that a cache holds changes smoothly with its size, so a class can stand for its layers.
LAYER_SIZES: Mapping[str, float] = {
    "8k": 2.0**13,
    "32k": 2.0**15,
    "128k": 2.0**17,
    "512k": 2.0**19,
    "2m": 2.0**21,
    "8m": 2.0**23,
}
#: Tensor cores multiply blocks of at least 32 channels well.
THIN = 32


#: Least number of elements of each class of `LAYER_SIZES`, and the least of the next: twice its size.
LAYER_LIMITS: Mapping[str, tuple[float, float]] = {
    name: (size / 2 if size > 2.0**13 else 0.0, 2 * size if size < 2.0**23 else np.inf)
    for name, size in LAYER_SIZES.items()
}


def _touched_at_size(
    layers: Callable[[LayerColumns], np.ndarray], low: float, high: float
) -> Callable[..., float]:
    """Return what sums the elements that layers of one class of `LAYER_SIZES` read and write."""
    return lambda t: t.touched[layers(t) & (t.touched >= low) & (t.touched < high)].sum()


def _moved_at_size(low: float, high: float) -> Callable[..., float]:
    """Return a sum of the elements that kernels without products move in layers of one class."""
    return lambda t: t.moved[(t.touched >= low) & (t.touched < high)].sum()


#: What counts each column; its unit and meaning are its row in `features.csv`.
COUNTS: Mapping[str, Callable[[LayerColumns], SupportsFloat]] = {
    # Work, by how libraries treat it: grouped and depthwise convolutions have separate kernels.
    "macs": lambda t: t.macs.sum(),
    "conv_macs": lambda t: t.macs[t.single_conv].sum(),
    "grouped_conv_macs": lambda t: t.macs[t.conv & t.grouped].sum(),
    "depthwise_macs": lambda t: t.macs[t.depthwise].sum(),
    "dense_macs": lambda t: t.macs[t.group["dense"]].sum(),
    "linear_macs": lambda t: t.macs[t.linear].sum(),
    "other_macs": lambda t: t.macs[t.single_conv & ~t.linear & ~(t.kernel(3) & (t.stride == 1))].sum(),
    # The gradient of a depthwise convolution's input: each input pixel takes part in all windows.
    "depthwise_input_macs": lambda t: (t.input_elements * t.kernel_height * t.kernel_width)[
        t.depthwise
    ].sum(),
    # Weights: what the optimizer and the all-reduce move.
    "params": lambda t: t.parameters.sum(),
    "dense_params": lambda t: t.parameters[t.group["dense"]].sum(),
    "conv_params": lambda t: t.parameters[t.group["convolution"]].sum(),
    # Activations, by who writes them: memory traffic.
    "activation_elements": lambda t: t.output_elements[t.layers].sum(),
    "conv_output_elements": lambda t: t.output_elements[t.conv].sum(),
    "depthwise_output_elements": lambda t: t.output_elements[t.depthwise].sum(),
    "batchnorm_output_elements": lambda t: t.output_elements[t.group["normalization"]].sum(),
    "elementwise_elements": lambda t: t.output_elements[t.layers & ~t.heavy].sum(),
    "concat_elements": lambda t: t.output_elements[t.group["concat"] | t.group["move"]].sum(),
    "pool_elements": lambda t: t.read[t.group["pooling"]].sum(),
    # Where the channels are planes, one block of threads walks through all pixels of a channel.
    "batchnorm_pixels": lambda t: t.rows[t.batchnorm].sum(),
    # Numbers of layers: each is at least one launch.
    "n_layers": lambda t: t.layers.sum(),
    "n_conv": lambda t: t.conv.sum(),
    "n_grouped_conv": lambda t: (t.conv & t.grouped).sum(),
    "n_depthwise": lambda t: t.depthwise.sum(),
    "n_dense": lambda t: t.group["dense"].sum(),
    "n_batchnorm": lambda t: t.group["normalization"].sum(),
    "n_pool": lambda t: t.group["pooling"].sum(),
    "n_activation": lambda t: t.group["activation"].sum(),
    "n_add": lambda t: t.group["add"].sum(),
    "n_concat": lambda t: t.group["concat"].sum(),
    "n_other": lambda t: sum(int(t.group[name].sum()) for name in _OTHER),
    # Kernel sizes and strides, which decide the algorithm (3 x 3 with stride 1: Winograd).
    "conv1x1_macs": lambda t: t.macs[t.kernel(1)].sum(),
    "conv3x3_macs": lambda t: t.macs[t.kernel(3) & (t.stride == 1)].sum(),
    "max_layer_elements": lambda t: t.output_elements[t.layers].max(initial=0.0),
    # The graph: what can run concurrently.
    "depth": lambda t: longest_path(t.cnn, t.heavy.tolist()),
    "depth_all_layers": lambda t: longest_path(t.cnn, t.layers.tolist()),
    "graph_width": lambda t: t.macs.sum() / path if (path := t.critical_path_macs) else 0.0,
    "input_elements": lambda t: t.output_elements[t.group["input"]].sum(),
    # Sizes of the matrix products: their time saturates with each of rows, reduction and columns.
    "im2col_elements": lambda t: t.unfolded[t.conv].sum(),
    "conv_output_pixels": lambda t: t.rows[t.conv].sum(),
    "conv_output_channels": lambda t: t.out_channels[t.conv].sum(),
    "conv_reduction_length": lambda t: t.reduction[t.conv].sum(),
    "conv_input_elements": lambda t: t.input_elements[t.conv].sum(),
    "conv5x5_macs": lambda t: t.macs[t.conv & (t.kernel_height >= 5) & (t.stride == 1)].sum(),
    "strided_conv_macs": lambda t: t.macs[t.conv & (t.stride > 1)].sum(),
    # What tensor cores do badly: few channels; wide groups they do well.
    "thin_conv_macs": lambda t: t.macs[
        t.single_conv & (np.minimum(t.in_channels, t.out_channels) < THIN)
    ].sum(),
    "broad_grouped_conv_macs": lambda t: t.macs[
        t.conv & t.grouped & (t.out_channels >= THIN * t.groups) & (t.in_channels >= THIN * t.groups)
    ].sum(),
    # Layers without MACs by kind: their passes differ.
    "activation_output_elements": lambda t: t.output_elements[t.group["activation"]].sum(),
    "add_elements": lambda t: t.output_elements[t.group["add"]].sum(),
    "gate_elements": lambda t: t.touched[t.group["merge"] | t.group["gate"] | t.group["scale"]].sum(),
    "other_normalization_elements": lambda t: t.output_elements[
        t.of_kind("layernorm", "groupnorm", "instancenorm", "prelu")
    ].sum(),
    **{
        f"{kind}_elements_{name}": _touched_at_size(layers, *limits)
        for kind, layers in {"conv": lambda t: t.conv, "light": lambda t: t.layers & ~t.heavy}.items()
        for name, limits in LAYER_LIMITS.items()
    },
    **{f"moved_elements_{name}": _moved_at_size(*limits) for name, limits in LAYER_LIMITS.items()},
}


def counts(cnn: Cnn) -> dict[str, float]:
    """Return all aggregate columns of a CNN by name, per image and forward pass; `explain` gives their units.

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> counts(build("resnet50"))["params"]
    25557032.0
    """
    table = LayerColumns(cnn)
    return {name: float(count(table)) for name, count in COUNTS.items()}


def explain() -> tuple[tuple[str, str, str], ...]:
    """Return name, unit and definition of each aggregate column, in the order of `counts`."""
    rows = {row["name"]: row for row in read_data_rows("features.csv") if row["kind"] == "cnn"}
    return tuple((name, rows[name]["unit"], rows[name]["meaning"]) for name in COUNTS)
