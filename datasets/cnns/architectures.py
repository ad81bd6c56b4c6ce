"""Architectures as text, one line per layer without its sizes, from which a CNN is rebuilt at any input size.

A line holds the layer's kind and fields of one letter and a value; a field with its usual value is left out:

    i  positions of the layers read, relative to the layer (usually -1: the layer before it)
    c  output channels; `*` stands for the number of classes
    k  kernel, pixels (3 or 3x1); `g`: the whole image
    s  stride; d  dilation; g  groups
    p  padding: pixels (1 or 1x0), pixels at top, left, bottom and right (0,0,1,1), or `same`, for which a
       window gives side / stride pixels, rounded up (a layer that only pads names both: same3/2)
    u  1 where a last incomplete window counts
    v  learned elements besides the weights
    f  1 where the weights are fixed or those of an earlier layer
    h  height and width of an upsampled image or a slice: x2 (times two), /2 (half), -1x0 (pixels less)
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.graph import Cnn, Layer
from trainlaw.datasets.cnns.windows import AxisPadding, Padding, window_output
from trainlaw.formulas.errors import InputError

_WINDOWS = frozenset({"conv", "conv_transpose", "max_pool", "average_pool"})
_POOLS = frozenset({"max_pool", "average_pool"})
_CLASSES = "*"


def architecture_lines(cnn: Cnn) -> list[str]:
    """Return a CNN's layers as lines of text; `built_architecture` gives the CNN back if its image is square.

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> architecture_lines(build("lenet5"))[:4]
    ['input c3', 'conv c6 k5 v6', 'relu', 'max_pool k2 s2']
    """
    classifiers = _classifiers(cnn)
    windows = _padded_windows(cnn)
    return [
        " ".join(_words(cnn, position, position in classifiers, windows.get(position)))
        for position in range(len(cnn.layers))
    ]


def built_architecture(lines: Sequence[str], input_size_px: int, n_classes: int) -> tuple[Layer, ...]:
    """Return the layers of lines as of `architecture_lines`, for square images of a side, pixels.

    Raises InputError for an image at which the layers do not fit, and for a malformed line.
    """
    cnn = CnnBuilder()
    for position, line in enumerate(lines):
        kind, *entries = line.split()
        fields = {entry[0]: entry[1:] for entry in entries}
        try:
            _add_layer(cnn, kind, fields, input_size_px, n_classes)
        except InputError:
            raise
        except (KeyError, ValueError, IndexError, TypeError):
            raise InputError(f"layer {position}: cannot read {line[:80]!r}") from None
        vector = int(fields.get("v", 0)) if fields.get("v") != _CLASSES else n_classes
        if cnn.layers[position].vector_parameters != vector:
            raise InputError(f"layer {position}: cannot read {line[:80]!r}")
    return cnn.layers


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
        if square and sides == _same_sides(layer.in_height, layer.in_width, reach, window.stride):
            return f"same{reach}/{window.stride}"
    return ",".join(map(str, sides))


def _same_sides(height: int, width: int, reach: int, stride: int) -> tuple[int, int, int, int]:
    """Pixels at top, left, bottom and right that TensorFlow's padding "same" adds."""
    total = [max((-(-side // stride) - 1) * stride + reach - side, 0) for side in (height, width)]
    return total[0] // 2, total[1] // 2, total[0] - total[0] // 2, total[1] - total[1] // 2


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


def _pair(word: str) -> tuple[int, int]:
    height, _, width = word.partition("x")
    return int(height), int(width or height)


def _sources(cnn: CnnBuilder, fields: dict[str, str]) -> list[int]:
    position = len(cnn.layers)
    return [position + int(offset) for offset in fields.get("i", "-1").split(",")]


def _add_layer(cnn: CnnBuilder, kind: str, fields: dict[str, str], size: int, n_classes: int) -> None:
    channels = n_classes if fields.get("c") == _CLASSES else int(fields.get("c", 0))
    vector = n_classes if fields.get("v") == _CLASSES else int(fields.get("v", 0))
    if kind == "input":
        cnn.input(channels, size)
        return
    xs = _sources(cnn, fields)
    x = xs[0]
    if kind in _WINDOWS:
        _add_window(cnn, kind, fields, channels, vector > 0)
    elif kind == "dense":
        cnn.dense(x, channels, vector > 0)
    elif kind in ("add", "multiply"):
        cnn.merge(kind, tuple(xs))
    elif kind in ("concat", "concat_flat"):
        cnn.concat(*xs, flat=kind == "concat_flat")
    elif kind == "pad":
        cnn.pad(x, *_pad_sides(fields["p"], cnn.shape(x)))
    elif kind == "slice":
        cnn.slice(x, channels, *_size(fields.get("h", ""), cnn.shape(x)))
    elif kind == "upsample":
        cnn.upsample(x, *_size(fields.get("h", ""), cnn.shape(x)))
    else:
        cnn.elementwise(x, kind, vector_parameters=vector, groups=int(fields.get("g", 1)))


def _add_window(cnn: CnnBuilder, kind: str, fields: dict[str, str], channels: int, bias: bool) -> None:
    x = _sources(cnn, fields)[0]
    stride, dilation = _pair(fields.get("s", "1")), _pair(fields.get("d", "1"))
    kernel = cnn.shape(x)[1:] if fields["k"] == "g" else _pair(fields["k"])
    padding = _window_padding(fields.get("p", "0"))
    if kind in _POOLS:
        pool = cnn.max_pool if kind == "max_pool" else cnn.average_pool
        pool(x, kernel, stride, padding, ceil="u" in fields)
        return
    add = cnn.conv if kind == "conv" else cnn.conv_transpose
    groups = int(fields.get("g", 1))
    options: dict[str, bool] = {"learned": False} if "f" in fields else {}
    add(x, channels, kernel, stride, padding=padding, dilation=dilation, groups=groups, bias=bias, **options)


def _window_padding(word: str) -> Padding:
    if word == "same":
        return word
    if "," not in word:
        return _pair(word)
    top, left, bottom, right = map(int, word.split(","))
    return (top, bottom), (left, right)


def _pad_sides(word: str, shape: tuple[int, int, int]) -> tuple[int, int, int, int]:
    if word.startswith("same"):
        reach, stride = map(int, word.removeprefix("same").split("/"))
        return _same_sides(shape[1], shape[2], reach, stride)
    top, left, bottom, right = map(int, word.split(","))
    return top, left, bottom, right


def _size(word: str, shape: tuple[int, int, int]) -> tuple[int, int]:
    height, width = shape[1:]
    if word.startswith("x"):
        return height * int(word[1:]), width * int(word[1:])
    if word == "/2":
        # Every second pixel from the first on.
        return (height + 1) // 2, (width + 1) // 2
    more = _pair(word) if word else (0, 0)
    return height + more[0], width + more[1]


def without_names(layers: Iterable[Layer]) -> list[Layer]:
    """Return layers with empty names, for comparisons of graphs that were named differently."""
    return [replace(layer, name="") for layer in layers]
