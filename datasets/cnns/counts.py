"""Aggregate counts of a CNN, per image and forward pass."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.graph import Cnn, longest_path
from trainlaw.datasets.files.storage import read_data_rows

#: Gives a number for each layer, which are summed, shape (n_layers,), or one for the CNN.
Rule = Callable[[LayerColumns], np.ndarray | float]
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


def _at_size(amounts: Rule, low: float, high: float) -> Rule:
    """Return a rule that counts amounts in layers of one class of `LAYER_SIZES`."""
    return lambda t: amounts(t) * ((t.touched >= low) & (t.touched < high))


_SIZED: Mapping[str, Rule] = {
    "conv": lambda t: t.touched * t.conv,
    "light": lambda t: t.touched * (t.layers & ~t.heavy),
    "moved": lambda t: t.moved,
}
#: What counts each column, in each layer where a CNN has the sum; its unit and meaning are in `features.csv`.
COUNTS: Mapping[str, Rule] = {
    # Work, by how libraries treat it: grouped and depthwise convolutions have separate kernels.
    "macs": lambda t: t.macs,
    "conv_macs": lambda t: t.macs * t.single_conv,
    "grouped_conv_macs": lambda t: t.macs * (t.conv & t.grouped),
    "depthwise_macs": lambda t: t.macs * t.depthwise,
    "dense_macs": lambda t: t.macs * t.group["dense"],
    "linear_macs": lambda t: t.macs * t.linear,
    "other_macs": lambda t: t.macs * (t.single_conv & ~t.linear & ~(t.kernel(3) & (t.stride == 1))),
    # The gradient of a depthwise convolution's input: each input pixel takes part in all windows.
    "depthwise_input_macs": lambda t: t.input_elements * t.kernel_height * t.kernel_width * t.depthwise,
    # Weights: what the optimizer and the all-reduce move.
    "params": lambda t: t.parameters,
    "dense_params": lambda t: t.parameters * t.group["dense"],
    "conv_params": lambda t: t.parameters * t.group["convolution"],
    # Activations, by who writes them: memory traffic.
    "activation_elements": lambda t: t.output_elements * t.layers,
    "conv_output_elements": lambda t: t.output_elements * t.conv,
    "depthwise_output_elements": lambda t: t.output_elements * t.depthwise,
    "batchnorm_output_elements": lambda t: t.output_elements * t.group["normalization"],
    "elementwise_elements": lambda t: t.output_elements * (t.layers & ~t.heavy),
    "concat_elements": lambda t: t.output_elements * (t.group["concat"] | t.group["move"]),
    "pool_elements": lambda t: t.read * t.group["pooling"],
    # Where the channels are planes, one block of threads walks through all pixels of a channel.
    "batchnorm_pixels": lambda t: t.rows * t.batchnorm,
    # Numbers of layers: each is at least one launch.
    "n_layers": lambda t: t.layers,
    "n_conv": lambda t: t.conv,
    "n_grouped_conv": lambda t: t.conv & t.grouped,
    "n_depthwise": lambda t: t.depthwise,
    "n_dense": lambda t: t.group["dense"],
    "n_batchnorm": lambda t: t.group["normalization"],
    "n_pool": lambda t: t.group["pooling"],
    "n_activation": lambda t: t.group["activation"],
    "n_add": lambda t: t.group["add"],
    "n_concat": lambda t: t.group["concat"],
    "n_other": lambda t: np.any([t.group[name] for name in _OTHER], axis=0),
    # Kernel sizes and strides, which decide the algorithm (3 x 3 with stride 1: Winograd).
    "conv1x1_macs": lambda t: t.macs * t.kernel(1),
    "conv3x3_macs": lambda t: t.macs * (t.kernel(3) & (t.stride == 1)),
    "max_layer_elements": lambda t: (t.output_elements * t.layers).max(),
    # The graph: what can run concurrently.
    "depth": lambda t: longest_path(t.cnn, t.heavy.tolist()),
    "depth_all_layers": lambda t: longest_path(t.cnn, t.layers.tolist()),
    "graph_width": lambda t: t.macs.sum() / (longest_path(t.cnn, t.macs.tolist()) or math.inf),
    "input_elements": lambda t: t.output_elements * t.group["input"],
    # Sizes of the matrix products: their time saturates with each of rows, reduction and columns.
    "im2col_elements": lambda t: t.unfolded * t.conv,
    "conv_output_pixels": lambda t: t.rows * t.conv,
    "conv_output_channels": lambda t: t.out_channels * t.conv,
    "conv_reduction_length": lambda t: t.reduction * t.conv,
    "conv_input_elements": lambda t: t.input_elements * t.conv,
    "conv5x5_macs": lambda t: t.macs * (t.conv & (t.kernel_height >= 5) & (t.stride == 1)),
    "strided_conv_macs": lambda t: t.macs * (t.conv & (t.stride > 1)),
    # What tensor cores do badly: few channels; wide groups they do well.
    "thin_conv_macs": lambda t: t.macs * (t.single_conv & (np.minimum(t.in_channels, t.out_channels) < THIN)),
    "broad_grouped_conv_macs": lambda t: (
        t.macs * (t.conv & t.grouped & (np.minimum(t.in_channels, t.out_channels) >= THIN * t.groups))
    ),
    # Layers without MACs by kind: their passes differ.
    "activation_output_elements": lambda t: t.output_elements * t.group["activation"],
    "add_elements": lambda t: t.output_elements * t.group["add"],
    "gate_elements": lambda t: t.touched * (t.group["merge"] | t.group["gate"] | t.group["scale"]),
    "other_normalization_elements": lambda t: (
        t.output_elements * t.of_kind("layernorm", "groupnorm", "instancenorm", "prelu")
    ),
    **{
        f"{kind}_elements_{name}": _at_size(amounts, *limits)
        for kind, amounts in _SIZED.items()
        for name, limits in LAYER_LIMITS.items()
    },
}


def counts(cnn: Cnn) -> dict[str, float]:
    """Return all aggregate columns of a CNN by name, per image and forward pass; `explain` gives their units.

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> counts(build("resnet50"))["params"]
    25557032.0
    """
    table = LayerColumns(cnn)
    return {name: float(np.sum(count(table))) for name, count in COUNTS.items()}


def explain() -> tuple[tuple[str, str, str], ...]:
    """Return name, unit and definition of each aggregate column, in the order of `counts`."""
    rows = {row["name"]: row for row in read_data_rows("features.csv") if row["kind"] == "cnn"}
    return tuple((name, rows[name]["unit"], rows[name]["meaning"]) for name in COUNTS)
