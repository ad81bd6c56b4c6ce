"""The counts of a CNN as a rule for images of any size: what a table of numbers needs to compute them.

The height of each layer's output follows from that of the layer before it by whole-number arithmetic, so a
CNN has few different heights. Each sum of its counts is a number per height, times height x width.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from trainlaw.datasets.cnns.architectures import padding_of, pair_of
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.counts import COUNTS, LAYER_SIZES
from trainlaw.datasets.cnns.graph import Cnn, Layer
from trainlaw.datasets.cnns.memory import kept_bytes_per_element, kept_layers
from trainlaw.datasets.cnns.windows import axis_paddings, both_sides
from trainlaw.datasets.cnns.zoo import build, lines_of_any_size

#: Counts that are sums over layers, each layer's part proportional to the area of one image, or constant.
SUMS = (
    "macs", "conv_macs", "grouped_conv_macs", "depthwise_macs", "dense_macs", "params", "conv_params",
    "activation_elements", "conv_output_elements", "depthwise_output_elements", "input_elements",
    "n_layers", "n_conv", "n_depthwise", "n_dense", "n_batchnorm", "conv3x3_macs", "im2col_elements",
    "conv_input_elements", "thin_conv_macs", "gate_elements", "other_normalization_elements",
    "kept_elements", "kept_bytes",
)  # fmt: skip
#: Counts that are sums over layers of a class of `LAYER_SIZES`, and counts of the largest layer.
CLASSES = tuple(f"{kind}_elements_{name}" for kind in ("conv", "light") for name in LAYER_SIZES)
LARGEST = ("working_elements", "unfolded_elements")


@dataclass(frozen=True)
class Side:
    """How the height of an image follows from that of another: floor((factor * parent + more) / stride) + 1.

    parent : position of that image among the sides of a CNN. rest : pixels of padding before the image, where
    a last incomplete window counts if it starts before the end of the image; None where it does not count.
    per_class : whether what stands for it is for each class of the classifier.
    """

    parent: int
    factor: int
    more: int
    stride: int
    rest: int | None = None
    per_class: bool = False

    def of(self, side: int) -> int:
        """Return the height, pixels; 0 where no window fits.

        >>> Side(0, 1, -1, 2).of(224)
        112
        """
        room = self.factor * side + self.more
        if room < 0:
            return 0
        whole = room // self.stride + 1
        is_cut = self.rest is not None and room % self.stride and whole * self.stride < side + self.rest
        return whole + bool(is_cut)


#: The input itself, and an image of one pixel.
INPUT, PIXEL = Side(0, 1, -1, 1), Side(0, 0, 0, 1)


@dataclass(frozen=True)
class Shape:
    """Layers that read and write as many elements at every size: `elements` holds side and number per pixel.

    convolutions : those that are not depthwise. light : layers without MACs. largest : the `LARGEST` that
    one of them may be.
    """

    elements: tuple[tuple[int, int], ...]
    convolutions: int = 0
    light: int = 0
    largest: frozenset[str] = frozenset()


@dataclass(frozen=True)
class AnySize:
    """The counts of a CNN at any size: sums, (n_sides, n_sums), times areas, and shapes of layers.

    equal : for sides that are added to another one, that side, to which they must be equal. knows_classes :
    whether a convolution has a channel for each class, so that their number decides which kernel is thin.
    """

    sides: tuple[Side, ...]
    equal: Mapping[int, int]
    sums: np.ndarray
    shapes: tuple[Shape, ...]
    knows_classes: bool

    def areas(self, pixels: int, classes: int) -> list[int]:
        """Return height x width of each side, times classes where it is for each class; 0: misfit."""
        heights: list[int] = []
        for side in self.sides:
            heights.append(side.of(heights[side.parent] if heights else pixels))
        if not all(heights) or any(heights[one] != heights[other] for one, other in self.equal.items()):
            return [0] * len(heights)
        return [h**2 * (classes if s.per_class else 1) for h, s in zip(heights, self.sides, strict=True)]

    def counts(self, pixels: int, classes: int) -> dict[str, float]:
        """Return the counts at a size, in the order `SUMS`, `CLASSES`, `LARGEST`; empty if it does not fit.

        >>> any_size("resnet50").counts(224, 1000)["macs"]
        4089184256.0
        """
        areas = np.array(self.areas(pixels, classes), dtype=np.float64)
        if not areas.all():
            return {}
        found = dict(zip(SUMS, (areas @ self.sums).tolist(), strict=True))
        elements = np.array([sum(n * areas[k] for k, n in shape.elements) for shape in self.shapes])
        limits = class_limits()
        for kind in ("conv", "light"):
            many = [shape.convolutions if kind == "conv" else shape.light for shape in self.shapes]
            for name, (low, high) in limits.items():
                inside = (elements >= low) & (elements < high)
                found[f"{kind}_elements_{name}"] = float((elements * many)[inside].sum())
        for name in LARGEST:
            found[name] = float(
                max(e for e, s in zip(elements, self.shapes, strict=True) if name in s.largest)
            )
        return found


def class_limits() -> dict[str, tuple[float, float]]:
    """Return the least number of elements of each class of `LAYER_SIZES`, and the least of the next."""
    sizes = list(LAYER_SIZES.values())
    lows, highs = [0.0, *(size / 2 for size in sizes[1:])], [*(size * 2 for size in sizes[:-1]), np.inf]
    return dict(zip(LAYER_SIZES, zip(lows, highs, strict=True), strict=True))


def any_size(name: str, n_classes: int | None = None) -> AnySize | None:
    """Return the counts at any size of a CNN of the zoo; None where its layers do not follow such a rule.

    n_classes : those that decide which kernels are thin; None for the usual ones.
    """
    lines = lines_of_any_size(name)
    if lines is None:
        return None
    walk = _Walk()
    if not all(walk.add(*_parsed(line)) for line in lines):
        return None
    return _Parts(build(name, n_classes=n_classes), walk).any_size()


def _parsed(line: str) -> tuple[str, dict[str, str]]:
    kind, *entries = line.split()
    return kind, {entry[0]: entry[1:] for entry in entries}


class _Walk:
    """The sides of a CNN, found by walking its lines; see `architectures` for their fields.

    out : the side of each layer's output. equal : as in `AnySize`. per_class : whether its channels are one
    for each class.
    """

    def __init__(self) -> None:
        self.sides: dict[Side, int] = {INPUT: 0, PIXEL: 1}
        self.equal: dict[int, int] = {}
        self.out: list[int] = []
        self.per_class: list[bool] = []

    def add(self, kind: str, fields: Mapping[str, str]) -> bool:
        """Add the layer of a line; return whether its side is known."""
        reads = [] if kind == "input" else [len(self.out) + int(i) for i in fields.get("i", "-1").split(",")]
        side = self._side(kind, fields, [self.out[place] for place in reads])
        inherited = {self.per_class[place] for place in reads}
        own = fields["c"].endswith("*") if "c" in fields else None
        if side is None or (own is None and len(inherited) != 1) or (own and True in inherited):
            return False
        self.out.append(side)
        self.per_class.append(inherited.pop() if own is None else own)
        return True

    def _number(self, side: Side) -> int:
        if replace(side, parent=0) == INPUT:
            return side.parent
        return self.sides.setdefault(side, len(self.sides))

    def _side(self, kind: str, fields: Mapping[str, str], read: list[int]) -> int | None:
        word = fields.get("k", "")
        if kind in {"input", "dense"} or word == "g":
            return int(kind != "input")
        if word.startswith("a") and word[1:].isdecimal():
            return self._number(replace(PIXEL, more=int(word[1:]) - 1))
        if kind in {"conv", "max_pool", "average_pool"}:
            return self._of_window(fields, read[0])
        if kind == "pad":
            return self._padded(fields, read[0])
        if kind in {"conv_transpose", "upsample", "crop"} or "h" in fields or "n" in fields:
            return None
        # In sums and products an image of one pixel is repeated.
        larger = set(read) - {1} if kind in {"add", "multiply"} else set(read)
        first, *others = sorted(larger) or [1]
        are_known = all(self.equal.setdefault(other, first) == first for other in others)
        return first if are_known else None

    def _padded(self, fields: Mapping[str, str], parent: int) -> int | None:
        if "same" in fields["p"]:
            return None
        top, left, bottom, right = map(int, fields["p"].split(","))
        added = top + bottom
        return self._number(Side(parent, 1, added - 1, 1)) if left + right == added else None

    def _of_window(self, fields: Mapping[str, str], parent: int) -> int | None:
        kernel, stride, dilation = (pair_of(fields.get(letter, "1")) for letter in "ksd")
        padding, found = axis_paddings(padding_of(fields.get("p", "0"))), set()
        for axis in range(2):
            reach = dilation[axis] * (kernel[axis] - 1) + 1
            before, after = (0, reach - 1) if padding[axis] == "same" else both_sides(padding[axis], reach)
            # A window that moves by one pixel is never cut off.
            rest = before if "u" in fields and stride[axis] > 1 else None
            found.add(self._number(Side(parent, 1, before + after - reach, stride[axis], rest)))
        return found.pop() if len(found) == 1 else None


class _Parts:
    """What each layer of a CNN counts per pixel of each side: by column a list of amounts and places."""

    def __init__(self, cnn: Cnn, walk: _Walk) -> None:
        self.cnn, self.table, self._equal = cnn, LayerColumns.of(cnn), walk.equal
        self.sides = list(walk.sides)
        self._of_classes: dict[int, int] = {}
        kinds = [layer.group for layer in cnn.layers]
        self._knows_classes = any(
            own and kind == "convolution" for own, kind in zip(walk.per_class, kinds, strict=True)
        )
        self._amounts: dict[str, list[list[tuple[int, int]]]] = {name: [] for name in _COLUMNS}
        for position, layer in enumerate(cnn.layers):
            for name, amounts in self._of_layer(layer, walk, position).items():
                self._amounts[name].append([(n, place) for n, place in amounts if n])

    def _part(self, amount: int, side: int, *, per_class: bool) -> tuple[int, int]:
        """Return an amount and its place among the sides; of one per class, that for one class."""
        if not per_class:
            return amount, side
        if side not in self._of_classes:
            self._of_classes[side] = len(self.sides)
            self.sides.append(replace(INPUT, parent=side, per_class=True))
        return amount // self.cnn.n_classes, self._of_classes[side]

    def _of_layer(self, layer: Layer, walk: _Walk, position: int) -> dict[str, list[tuple[int, int]]]:
        side, own = walk.out[position], walk.per_class[position]
        outputs = self._amounts["output_elements"]
        output = [self._part(layer.out_channels, side, per_class=own)]
        read = [part for i in layer.inputs for part in outputs[i]]
        first = layer.inputs[0] if layer.inputs else position
        entering = output if layer.kind == "concat" or not layer.inputs else outputs[first]
        is_dense, is_in_per_class = layer.kind == "dense", walk.per_class[first]
        weights = layer.out_channels * self.cnn.layers[first].out_channels if is_dense else layer.weights
        of_weights = {"per_class": own or is_in_per_class}
        at = walk.out[first] if is_dense else side
        learned = self._part(weights * layer.learns_weights, at if is_dense else 1, **of_weights)
        kernel = layer.kernel_height * layer.kernel_width
        unfolded = kernel * layer.in_channels if layer.group == "convolution" else 0
        return {
            "output_elements": output,
            "read": read,
            "input_elements": entering,
            "macs": [self._part(weights, at, **of_weights)],
            "parameters": [learned, self._part(layer.vector_parameters, 1, per_class=own)],
            "unfolded": [self._part(unfolded, side, per_class=is_in_per_class)],
        }

    def any_size(self) -> AnySize:
        """Return the counts at any size."""
        return AnySize(
            tuple(self.sides), self._equal, self._sums(), tuple(self._shapes()), self._knows_classes
        )

    def _sums(self) -> np.ndarray:
        """Return the `SUMS` per pixel of each side, (n_sides, n_sums)."""
        count, rows = len(self.sides), len(self.cnn.layers)
        matrices = {name: np.zeros((count, rows)) for name in _COLUMNS}
        for name, layers in self._amounts.items():
            for row, amounts in enumerate(layers):
                for amount, place in amounts:
                    matrices[name][place, row] += amount
        empty = self._table({name: np.zeros(rows) for name in _COLUMNS})
        kept = sorted(kept_layers(self.cnn))
        kept_bytes = np.array([kept_bytes_per_element(layer) for layer in self.cnn.layers])
        found = np.zeros((count, len(SUMS)))
        counted = [(number, COUNTS[name]) for number, name in enumerate(SUMS) if name in COUNTS]
        constant = {number: float(count(empty)) for number, count in counted}
        for place in range(count):
            table = self._table({name: matrix[place] for name, matrix in matrices.items()})
            for number, count_of in counted:
                found[place, number] = float(count_of(table)) - constant[number]
            outputs = matrices["output_elements"][place]
            found[place, SUMS.index("kept_elements")] = outputs[kept].sum()
            found[place, SUMS.index("kept_bytes")] = (outputs * kept_bytes).sum()
        for number, value in constant.items():
            found[1, number] += value
        return found

    def _table(self, columns: Mapping[str, Any]) -> LayerColumns:
        return replace(self.table, **columns)

    def _shapes(self) -> Iterator[Shape]:
        """Yield the distinct shapes of layers, those of many layers and those of the largest."""
        conv, light, largest = Counter[_Elements](), Counter[_Elements](), dict[str, set[_Elements]]()
        masks = (self.table.conv, self.table.layers & ~self.table.heavy)
        for row, layer in enumerate(self.cnn.layers):
            read, output, entering, unfolded = (
                self._amounts[name][row] for name in ("read", "output_elements", "input_elements", "unfolded")
            )
            for counter, mask in zip((conv, light), masks, strict=True):
                counter[_merged([*read, *output])] += int(mask[row])
            largest.setdefault("working_elements", set()).add(_merged([*entering, *output]))
            each = _merged([(amount // layer.groups, place) for amount, place in unfolded])
            largest.setdefault("unfolded_elements", set()).add(each)
        kept = {name: _undominated(found) for name, found in largest.items()}
        for elements in sorted({*(+conv), *(+light), *set().union(*kept.values())}):
            names = frozenset(name for name, found in kept.items() if elements in found)
            yield Shape(elements, conv[elements], light[elements], names)


_COLUMNS = ("output_elements", "read", "input_elements", "macs", "parameters", "unfolded")
_Elements = tuple[tuple[int, int], ...]


def _merged(amounts: Iterable[tuple[int, int]]) -> _Elements:
    """Return places with the sum of their amounts, sorted."""
    found = Counter[int]()
    for amount, place in amounts:
        found[place] += amount
    return tuple(sorted(found.items()))


def _undominated(found: set[_Elements]) -> set[_Elements]:
    """Return those elements of which no others have at least as many at every side."""
    maps = {elements: dict(elements) for elements in found}
    return {
        own
        for own in found
        if own
        and not any(
            own != other and all(maps[other].get(place, 0) >= n for place, n in own) for other in found
        )
    }
