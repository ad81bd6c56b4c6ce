"""The counts of a CNN as a rule for images of any size: what a table of numbers needs to compute them.

The height of each layer's output follows from that of the layer before it by whole-number arithmetic, so a
CNN has few different heights. Each sum of its counts is a number per height, times height x width.
"""

import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from trainlaw.datasets.cnns.counts import LAYER_LIMITS, THIN
from trainlaw.datasets.files.storage import read_data_file

#: A line of JSON per CNN; `python -m tools.any_size` writes them.
FILE = "cnn_sizes.txt.xz"
#: Counts that are sums over layers, each layer's part proportional to the area of one image, or constant.
SUMS = (
    "macs", "conv_macs", "grouped_conv_macs", "depthwise_macs", "dense_macs", "params", "conv_params",
    "activation_elements", "conv_output_elements", "depthwise_output_elements", "input_elements",
    "n_layers", "n_conv", "n_depthwise", "n_dense", "n_batchnorm", "conv3x3_macs", "im2col_elements",
    "conv_input_elements", "thin_conv_macs", "gate_elements", "other_normalization_elements",
    "kept_elements", "kept_bytes",
)  # fmt: skip
#: Counts that are sums over layers of a class of `LAYER_LIMITS`, and counts of the largest layer.
CLASSES = tuple(f"{kind}_elements_{name}" for kind in ("conv", "light") for name in LAYER_LIMITS)
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

    equal : for sides that are added to another one, that side, to which they must be equal.
    """

    sides: tuple[Side, ...]
    equal: Mapping[int, int]
    sums: np.ndarray
    shapes: tuple[Shape, ...]

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
        for kind in ("conv", "light"):
            many = [shape.convolutions if kind == "conv" else shape.light for shape in self.shapes]
            for name, (low, high) in LAYER_LIMITS.items():
                inside = (elements >= low) & (elements < high)
                found[f"{kind}_elements_{name}"] = float((elements * many)[inside].sum())
        for name in LARGEST:
            found[name] = float(
                max(e for e, s in zip(elements, self.shapes, strict=True) if name in s.largest)
            )
        return found


def any_size(name: str, n_classes: int | None = None) -> AnySize | None:
    """Return the counts at any size of a CNN of the zoo; None where its layers do not follow such a rule.

    n_classes : those asked for, which decide whether a convolution with a channel for each is thin; None for
    the usual ones.
    """
    known = _rules()
    is_thin = n_classes is not None and n_classes < THIN
    return known.get((name, is_thin)) or known.get((name, False))


def has_thin_rule(name: str) -> bool:
    """Return whether other counts hold for a CNN with fewer classes than `THIN`."""
    return (name, True) in _rules()


@cache
def _rules() -> Mapping[tuple[str, bool], AnySize]:
    """Return the shipped rules by name and whether they are for few classes."""
    lines = lzma.decompress(read_data_file(FILE)).decode().splitlines()
    read = map(json.loads, lines)
    return MappingProxyType({(one["cnn"], one["is_thin"]): _rule(one) for one in read})


def _rule(read: Mapping[str, Any]) -> AnySize:
    sums = np.zeros((len(read["sides"]), len(SUMS)))
    for name, amounts in read["sums"].items():
        for side, amount in amounts:
            sums[side, SUMS.index(name)] = amount
    return AnySize(
        tuple(Side(*side) for side in read["sides"]),
        dict(read["equal"]),
        sums,
        tuple(
            Shape(tuple((side, amount) for side, amount in elements), convolutions, light, frozenset(largest))
            for elements, convolutions, light, largest in read["shapes"]
        ),
    )
