"""Architectures as text, one line per layer without its sizes, from which a CNN is built at any input size.

A line holds the layer's kind and fields of one letter and a value; a field with its usual value is left out:

    i  positions of the layers read, relative to the layer (usually -1: the layer before it)
    c  output channels; `*` stands for the number of classes, `9*` for nine times as many
    k  kernel, pixels (3 or 3x1); `g`: the whole image; `a7`: windows that give 7 x 7 pixels
    s  stride; d  dilation; g  groups
    p  padding: pixels (1 or 1x0), pixels at top, left, bottom and right (0,0,1,1), or `same`, for which a
       window gives side / stride pixels, rounded up (a layer that only pads names both: same3/2)
    u  1 where a last incomplete window counts
    v  learned elements besides the weights
    f  1 where the weights are fixed or those of an earlier layer
    h  height and width of an upsampled image or a slice: x2 (times two), /2 (half), -1x0 (pixels
       less), @-5 (as the layer five lines above)
    n  number of regions

`crop` is a slice of the image that is left out where nothing is cut off, `regions` a resampling of regions,
`_flat` that their elements become channels.
"""

import lzma
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.graph import Layer
from trainlaw.datasets.cnns.windows import Padding
from trainlaw.datasets.files.storage import read_data_file

_WINDOWS = frozenset({"conv", "conv_transpose", "linear", "max_pool", "average_pool"})
_POOLS = frozenset({"max_pool", "average_pool"})
_RESAMPLINGS = frozenset({"pad", "slice", "upsample", "crop", "regions", "regions_flat"})


@cache
def shipped_architectures(file: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the lines of each CNN of a shipped file, by name and then by input size ("any": they fit all).

    A line `# name@any other@224/288` heads the lines of the CNNs that it names.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for block in lzma.decompress(read_data_file(file)).decode().split("# ")[1:]:
        heading, *lines = block.rstrip("\n").split("\n")
        for entry in heading.split():
            name, _, sizes = entry.partition("@")
            for size in sizes.split("/"):
                found.setdefault(name, {})[size] = tuple(lines)
    return MappingProxyType(found)


def built_architecture(lines: Sequence[str], image: tuple[int, int], n_classes: int) -> tuple[Layer, ...]:
    """Return the layers of lines, for images of a height and width, pixels.

    Raises InputError for an image at which the layers do not fit.
    """
    cnn = _LineBuilder(image, n_classes)
    for line in lines:
        cnn.add_line(line)
    return cnn.layers


class _LineBuilder(CnnBuilder):
    """A CNN under construction from lines of text."""

    def __init__(self, image: tuple[int, int], n_classes: int) -> None:
        super().__init__()
        self._image, self._n_classes = image, n_classes
        # The layer that each line stands for: a crop that changes nothing adds none.
        self._positions: list[int] = []

    def add_line(self, line: str) -> None:
        """Add the layer of a line."""
        kind, *entries = line.split()
        fields = {entry[0]: entry[1:] for entry in entries}
        is_input = kind == "input"
        position = self.input(int(fields["c"]), *self._image) if is_input else self._add(kind, fields)
        self._positions.append(position)

    def _above(self, word: str) -> int:
        return self._positions[len(self._positions) + int(word)]

    def _count(self, fields: Mapping[str, str], letter: str) -> int:
        word = fields.get(letter, "0")
        return int(word[:-1] or 1) * self._n_classes if word.endswith("*") else int(word)

    def _add(self, kind: str, fields: Mapping[str, str]) -> int:
        xs = tuple(map(self._above, fields.get("i", "-1").split(",")))
        x = xs[0]
        if kind in _WINDOWS:
            return self._add_window(kind, x, fields)
        if kind in _RESAMPLINGS:
            return self._resample(kind, x, fields)
        if kind in ("add", "multiply"):
            return self.merge(kind, xs)
        if kind.startswith("concat"):
            return self.concat(*xs, flat=kind == "concat_flat")
        if kind == "dense":
            return self.dense(x, self._count(fields, "c"), "v" in fields)
        return self.elementwise(
            x, kind, vector_parameters=self._count(fields, "v"), groups=int(fields.get("g", 1))
        )

    def _add_window(self, kind: str, x: int, fields: Mapping[str, str]) -> int:
        if kind == "linear":
            return self.linear(x, self._count(fields, "c"), "v" in fields)
        word = fields["k"]
        if word.startswith("a"):
            return self.adaptive_pool(x, kind, *pair_of(word[1:]))
        kernel = self.shape(x)[1:] if word == "g" else pair_of(word)
        stride, dilation = pair_of(fields.get("s", "1")), pair_of(fields.get("d", "1"))
        padding = padding_of(fields.get("p", "0"))
        if kind in _POOLS:
            return self.pool(x, kind, kernel, stride, padding, ceil="u" in fields)
        add = self.conv if kind == "conv" else self.conv_transpose
        options: dict[str, bool] = {"learned": False} if "f" in fields else {}
        return add(
            x,
            self._count(fields, "c"),
            kernel,
            stride,
            padding=padding,
            dilation=dilation,
            groups=int(fields.get("g", 1)),
            bias="v" in fields,
            **options,
        )

    def _resample(self, kind: str, x: int, fields: Mapping[str, str]) -> int:
        if kind == "pad":
            return self.pad(x, *_pad_sides(fields["p"], self.shape(x)))
        if kind.startswith("regions"):
            return self.regions(x, int(fields["n"]), int(fields["k"]), flat=kind == "regions_flat")
        word = fields.get("h", "")
        size = self.shape(self._above(word[1:]))[1:] if word.startswith("@") else _size(word, self.shape(x))
        if kind == "upsample":
            return self.upsample(x, *size)
        if kind == "slice":
            return self.slice(x, self._count(fields, "c"), *size)
        return x if self.shape(x)[1:] == size else self.slice(x, self.channels(x), *size)


def pair_of(word: str) -> tuple[int, int]:
    """Return height and width of a field: `3` means both, `3x1` names each."""
    height, _, width = word.partition("x")
    return int(height), int(width or height)


def padding_of(word: str) -> Padding:
    """Return the padding of a field `p`."""
    if word == "same":
        return word
    if "," not in word:
        return pair_of(word)
    top, left, bottom, right = map(int, word.split(","))
    return (top, bottom), (left, right)


def same_sides(height: int, width: int, reach: int, stride: int) -> tuple[int, int, int, int]:
    """Return the pixels at top, left, bottom and right that TensorFlow's padding "same" adds."""
    total = [max((-(-side // stride) - 1) * stride + reach - side, 0) for side in (height, width)]
    return total[0] // 2, total[1] // 2, total[0] - total[0] // 2, total[1] - total[1] // 2


def _pad_sides(word: str, shape: tuple[int, int, int]) -> tuple[int, int, int, int]:
    if word.startswith("same"):
        reach, stride = map(int, word.removeprefix("same").split("/"))
        return same_sides(shape[1], shape[2], reach, stride)
    top, left, bottom, right = map(int, word.split(","))
    return top, left, bottom, right


def _size(word: str, shape: tuple[int, int, int]) -> tuple[int, int]:
    height, width = shape[1:]
    if word.startswith("x"):
        return height * int(word[1:]), width * int(word[1:])
    if word == "/2":
        # Every second pixel from the first on.
        return (height + 1) // 2, (width + 1) // 2
    more = pair_of(word) if word else (0, 0)
    return height + more[0], width + more[1]
