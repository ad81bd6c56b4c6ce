"""A CNN as a graph of layers: two frozen types, and what follows from their fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas.errors import InputError

_ROWS = read_data_rows("layer_kinds.csv")
#: Group of each kind of layer, as the aggregate counts distinguish them.
KINDS: Mapping[str, str] = MappingProxyType({row["kind"]: row["group"] for row in _ROWS})
# Far more than any CNN has; a file with more is faulty or malicious.
MAX_LAYERS = 100_000
MAX_SIDE = 2**31 - 1


def kinds_by(column: str) -> dict[str, str]:
    """Return the kind of layer by the texts in a column of `layer_kinds.csv`, such as ONNX operations."""
    return {text: row["kind"] for row in _ROWS for text in row.get(column, "").split()}


def kinds_whose_backward_reads(what: str) -> frozenset[str]:
    """Return the kinds whose backward pass reads their "input" or their "output"."""
    return frozenset(row["kind"] for row in _ROWS if what in row.get("backward_reads", "").split())


@cache
def moves_by_layer() -> Mapping[str, tuple[float, float]]:
    """Return how often a training iteration moves inputs and outputs of a layer to or from memory.

    By kind or group of layers without products, and for a `bias` and a `reader`: the rows of `moves.csv`,
    which says what the kernels of PyTorch read and write; forward and backward pass together.

    >>> moves_by_layer()["normalization"]
    (5.0, 3.0)
    """
    moves = {}
    for row in read_data_rows("moves.csv"):
        inputs, outputs = (
            sum(float(row[f"{passing}_{side}"]) for passing in ("forward", "backward"))
            for side in ("inputs", "outputs")
        )
        moves[row["layer"]] = (inputs, outputs)
    return MappingProxyType(moves)


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a CNN, for one sample.

    Sizes are pixels, kernels and strides too; `inputs` are the positions of the layers that it reads. A
    dense layer sees its input flattened: `in_channels` are all its input elements, `in_height` and
    `in_width` are 1. `vector_parameters` are the learned elements other than weights: bias, or scale
    and shift. `learns_weights` is 0 where the weights are fixed, or those of an earlier layer.
    """

    name: str
    kind: str
    inputs: tuple[int, ...]
    in_channels: int
    out_channels: int
    in_height: int
    in_width: int
    out_height: int
    out_width: int
    kernel_height: int = 0
    kernel_width: int = 0
    stride_height: int = 1
    stride_width: int = 1
    dilation_height: int = 1
    dilation_width: int = 1
    pad_top: int = 0
    pad_left: int = 0
    groups: int = 1
    vector_parameters: int = 0
    learns_weights: int = 1

    @property
    def group(self) -> str:
        """Group of the layer's kind (a value of `KINDS`)."""
        return KINDS[self.kind]

    @property
    def stride(self) -> int:
        """Larger of the two strides, pixels."""
        return max(self.stride_height, self.stride_width)

    @property
    def is_depthwise(self) -> bool:
        """Whether it is a convolution with one input channel per group (and more than one group)."""
        return self.group == "convolution" and 1 < self.groups == self.in_channels

    @property
    def weights(self) -> int:
        """Elements of the kernel or matrix, elements."""
        if self.group == "convolution":
            return (
                self.in_channels // self.groups * self.out_channels * self.kernel_height * self.kernel_width
            )
        return self.in_channels * self.out_channels if self.kind == "dense" else 0

    @property
    def parameters(self) -> int:
        """All elements learned here, elements."""
        return self.weights * self.learns_weights + self.vector_parameters

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a forward pass, MAC per sample; convolutions and dense layers have them."""
        if self.kind == "conv_transpose":
            # Each input pixel is multiplied by the whole kernel and added into the output.
            return self.weights * self.in_height * self.in_width
        return self.weights * self.out_height * self.out_width

    @property
    def pad_bottom(self) -> int:
        """Padding below the image, pixels; negative where the last windows end before the last row.

        A transposed convolution cuts as much off below its output, and adds rows where it is negative.
        """
        reach = self.dilation_height * (self.kernel_height - 1) + 1
        sides = (self.in_height, self.out_height)
        return _pad_after(self.kind, sides, reach, self.stride_height, self.pad_top)

    @property
    def pad_right(self) -> int:
        """Padding right of the image, pixels; as `pad_bottom`."""
        reach = self.dilation_width * (self.kernel_width - 1) + 1
        return _pad_after(self.kind, (self.in_width, self.out_width), reach, self.stride_width, self.pad_left)

    @property
    def input_elements(self) -> int:
        """Elements of its (first) input for one sample, elements."""
        return self.in_channels * self.in_height * self.in_width

    @property
    def output_elements(self) -> int:
        """Elements of its output for one sample, elements."""
        return self.out_channels * self.out_height * self.out_width


def _pad_after(kind: str, sides: tuple[int, int], reach: int, stride: int, before: int) -> int:
    windows, pixels = sides if kind == "conv_transpose" else sides[::-1]
    return (windows - 1) * stride + reach - pixels - before


@dataclass(frozen=True, slots=True)
class Cnn:
    """A CNN: layers ordered such that each reads only earlier ones.

    `base` is the architecture with all its variants (held out together in validation), `family` the wider
    group; `input_size_px` is the side of the input, pixels; `n_classes` the width of the
    classifier. `notes` says what a reader assumed. Raises `InputError` for layers that do not form such a
    graph.
    """

    name: str
    base: str
    family: str
    input_size_px: int
    n_classes: int
    layers: tuple[Layer, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.layers) <= MAX_LAYERS:
            raise InputError(f"CNN {self.name!r}: expected 1 to {MAX_LAYERS} layers, got {len(self.layers)}")
        for position, layer in enumerate(self.layers):
            fault = _fault(position, layer) or _misfit(layer, [self.layers[i] for i in layer.inputs])
            if fault:
                raise InputError(f"CNN {self.name!r}, layer {position} ({layer.name!r}): {fault}")


def _fault(position: int, layer: Layer) -> str:
    """Describe what is wrong with a layer by itself; "" when nothing is."""
    if layer.kind not in KINDS:
        return f"expected a known layer kind, got {layer.kind!r}"
    if (layer.kind == "input") == bool(layer.inputs) or any(not 0 <= i < position for i in layer.inputs):
        return f"expected predecessors before position {position} (none for an input), got {layer.inputs}"
    sides = (*_entering(layer), layer.out_channels, layer.out_height, layer.out_width)
    if not all(0 < side <= MAX_SIDE for side in sides):
        return f"expected channels and sizes from 1 to {MAX_SIDE}, got {sides}"
    return _weight_fault(layer)


def _weight_fault(layer: Layer) -> str:
    """Describe what is wrong with a layer's weights; "" when nothing is."""
    if layer.learns_weights not in {0, 1}:
        return f"expected learns_weights of 0 or 1, got {layer.learns_weights}"
    if layer.groups < 1:
        return f"expected groups of 1 or more, got {layer.groups}"
    if layer.group == "convolution":
        kernel = (layer.kernel_height, layer.kernel_width)
        if layer.in_channels % layer.groups or layer.out_channels % layer.groups:
            return f"expected groups that divide the channels, got {layer.groups} groups"
        if not all(0 < side <= MAX_SIDE for side in kernel):
            return f"expected a kernel of 1 to {MAX_SIDE} pixels, got {kernel}"
        return _window_fault(layer)
    return ""


def _window_fault(layer: Layer) -> str:
    """Describe why a kernel cannot make an output of this size; "" when it can."""
    for kernel, stride, dilation, before, after in (
        (layer.kernel_height, layer.stride_height, layer.dilation_height, layer.pad_top, layer.pad_bottom),
        (layer.kernel_width, layer.stride_width, layer.dilation_width, layer.pad_left, layer.pad_right),
    ):
        if stride < 1 or dilation < 1:
            return f"expected strides and dilations of 1 or more, got {stride} and {dilation}"
        # Frameworks pad both sides alike, but for what a stride leaves, or by half of the kernel.
        if not -stride < after <= max(before + stride, (dilation * (kernel - 1) + 1) // 2):
            entering, leaving = (
                f"{layer.in_height} x {layer.in_width}",
                f"{layer.out_height} x {layer.out_width}",
            )
            return f"expected a size that its kernel makes of {entering}, got {leaving}"
    return ""


def _entering(layer: Layer) -> tuple[int, int, int]:
    return layer.in_channels, layer.in_height, layer.in_width


def _misfit(layer: Layer, sources: list[Layer]) -> str:
    """Describe what does not fit between a layer and those that it reads; "" when all fits."""
    shapes = [(source.out_channels, source.out_height, source.out_width) for source in sources]
    if layer.kind == "concat":
        # Flat vectors may be joined too, so only the elements must add up.
        fits = sum(source.output_elements for source in sources) == layer.input_elements
    elif layer.kind in {"add", "multiply"}:
        tops = [max(sides) for sides in zip(*shapes, strict=True)]
        fits = all(side in {1, top} for shape in shapes for side, top in zip(shape, tops, strict=True))
    elif layer.kind == "dense":
        fits = len(sources) == 1 and sources[0].output_elements == layer.input_elements
    else:
        fits = layer.kind == "input" or shapes == [_entering(layer)]
    return "" if fits else f"expected the outputs that it reads to match {_entering(layer)}, got {shapes}"


def longest_path(cnn: Cnn, weights: Sequence[float]) -> float:
    """Return the largest sum of weights, one per layer, along a path from an input to an output.

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> cnn = build("lenet5")
    >>> longest_path(cnn, [layer.macs for layer in cnn.layers]) == sum(layer.macs for layer in cnn.layers)
    True
    """
    reached: list[float] = []
    for layer, weight in zip(cnn.layers, weights, strict=True):
        reached.append(weight + max((reached[i] for i in layer.inputs), default=0))
    return max(reached)
