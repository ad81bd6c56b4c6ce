"""The layers of a graph as lines of text, for CNNs that are known as a graph only.

Sizes and paddings are inferred: words that give the graph at its size need not give it at another one.
"""

from collections.abc import Iterable
from dataclasses import replace

from trainlaw.datasets.cnns.architectures import same_sides
from trainlaw.datasets.cnns.graph import Cnn, Layer
from trainlaw.datasets.cnns.windows import AxisPadding, window_output

_WINDOWS = frozenset({"conv", "conv_transpose", "max_pool", "average_pool"})
_POOLS = frozenset({"max_pool", "average_pool"})
_CLASSES = "*"


def architecture_lines(cnn: Cnn) -> list[str]:
    """Return a CNN's layers as lines of text, from which `built_architecture` builds it if it is square."""
    classifiers = _classifiers(cnn)
    windows = _padded_windows(cnn)
    return [
        " ".join(_words(cnn, position, position in classifiers, windows.get(position)))
        for position in range(len(cnn.layers))
    ]


def _classifiers(cnn: Cnn) -> frozenset[int]:
    """Positions of the layers whose channels are the classes: those that the closing softmax layers read."""
    read = {i for layer in cnn.layers for i in layer.inputs}
    found = set()
    for position, layer in enumerate(cnn.layers):
        if position not in read and layer.kind == "softmax":
            source = position
            while not cnn.layers[source].weights:
                source = cnn.layers[source].inputs[0]
            if cnn.layers[source].out_channels == cnn.n_classes:
                found.add(source)
    return frozenset(found)


def _padded_windows(cnn: Cnn) -> dict[int, Layer]:
    """For each padding the first window that reads it."""
    found: dict[int, Layer] = {}
    for layer in cnn.layers:
        for source in layer.inputs:
            if layer.kind in _WINDOWS and cnn.layers[source].kind == "pad":
                found.setdefault(source, layer)
    return found


def _words(cnn: Cnn, position: int, classifies: bool, window: Layer | None) -> Iterable[str]:
    layer = cnn.layers[position]
    yield "concat_flat" if _joins_flat(cnn, layer) else layer.kind
    relative = ",".join(str(source - position) for source in layer.inputs)
    if relative not in ("", "-1"):
        yield "i" + relative
    if layer.kind in ("input", "conv", "conv_transpose", "dense", "slice"):
        yield f"c{_CLASSES if classifies else layer.out_channels}"
    if layer.kind in _WINDOWS:
        yield from _window_words(layer)
    if layer.groups != 1:
        yield f"g{layer.groups}"
    if layer.kind == "pad":
        yield "p" + _pad_word(layer, window)
    if layer.kind in ("slice", "upsample") and (word := _size_word(layer)):
        yield "h" + word
    if layer.vector_parameters:
        yield f"v{_CLASSES if classifies else layer.vector_parameters}"
    if not layer.learns_weights:
        yield "f1"


def _joins_flat(cnn: Cnn, layer: Layer) -> bool:
    heights = {cnn.layers[source].out_height for source in layer.inputs}
    return layer.kind == "concat" and heights != {layer.in_height}


def _window_words(layer: Layer) -> Iterable[str]:
    if layer.kind in _POOLS and _covers_image(layer):
        yield "kg"
        return
    yield "k" + _pair_word(layer.kernel_height, layer.kernel_width)
    for letter, usual, height, width in (
        ("s", "1", layer.stride_height, layer.stride_width),
        ("d", "1", layer.dilation_height, layer.dilation_width),
    ):
        if (word := _pair_word(height, width)) != usual:
            yield letter + word
    yield from _padding_words(layer)


def _covers_image(layer: Layer) -> bool:
    return (layer.kernel_height, layer.kernel_width) == (layer.in_height, layer.in_width) and (
        layer.stride == 1 and (layer.pad_top, layer.pad_left) == (0, 0)
    )


def _padding_words(layer: Layer) -> Iterable[str]:
    """The padding as a framework would state it: the same on both sides if that gives the output's size."""
    pads = (layer.pad_top, layer.pad_left)
    for ceil in (False, True) if layer.kind in _POOLS else (False,):
        if _output(layer, pads, ceil) == (layer.out_height, layer.out_width):
            if pads != (0, 0):
                yield "p" + _pair_word(*pads)
            if ceil:
                yield "u1"
            return
    if _output(layer, ("same", "same")) == (layer.out_height, layer.out_width):
        yield "psame"
        return
    yield f"p{layer.pad_top},{layer.pad_left},{layer.pad_bottom},{layer.pad_right}"


def _output(layer: Layer, pads: tuple[AxisPadding, AxisPadding], ceil: bool = False) -> tuple[int, int]:
    if layer.kind == "conv_transpose":
        return (-1, -1)
    sides = (
        (layer.in_height, layer.kernel_height, layer.dilation_height, layer.stride_height),
        (layer.in_width, layer.kernel_width, layer.dilation_width, layer.stride_width),
    )
    height, width = (
        window_output(side, dilation * (kernel - 1) + 1, stride, pad, ceil)[0]
        for (side, kernel, dilation, stride), pad in zip(sides, pads, strict=True)
    )
    return height, width


def _pad_word(layer: Layer, window: Layer | None) -> str:
    bottom = layer.out_height - layer.in_height - layer.pad_top
    right = layer.out_width - layer.in_width - layer.pad_left
    sides = (layer.pad_top, layer.pad_left, bottom, right)
    if window is not None and window.pad_top == window.pad_left == 0:
        reach = window.dilation_height * (window.kernel_height - 1) + 1
        square = window.kernel_height == window.kernel_width
        if square and sides == same_sides(layer.in_height, layer.in_width, reach, window.stride):
            return f"same{reach}/{window.stride}"
    return ",".join(map(str, sides))


def _size_word(layer: Layer) -> str:
    (h, w), (oh, ow) = (layer.in_height, layer.in_width), (layer.out_height, layer.out_width)
    if (h, w) == (oh, ow):
        return ""
    if oh % h == ow % w == 0 and oh // h == ow // w:
        return f"x{oh // h}"
    if (h, w) == (2 * oh, 2 * ow):
        return "/2"
    return f"{oh - h}x{ow - w}"


def _pair_word(height: int, width: int) -> str:
    return str(height) if height == width else f"{height}x{width}"


def without_names(layers: Iterable[Layer]) -> list[Layer]:
    """Return layers with empty names, for comparisons of graphs that were named differently."""
    return [replace(layer, name="") for layer in layers]
