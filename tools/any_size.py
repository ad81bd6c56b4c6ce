"""Write the rules of CNNs for images of any size: `python -m tools.any_size`, from the root of a checkout,
after `python -m tools.zoo.write`.

It writes `cnn_sizes.txt.xz` and the checksums into `datasets/data`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
from trainlaw.datasets.cnns.any_size import FILE, INPUT, PIXEL, SUMS, AnySize, Shape, Side
from trainlaw.datasets.cnns.architectures import padding_of, pair_of
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.counts import COUNTS, THIN
from trainlaw.datasets.cnns.graph import Cnn, Layer
from trainlaw.datasets.cnns.memory import kept_bytes_per_element, kept_layers
from trainlaw.datasets.cnns.windows import axis_paddings, both_sides
from trainlaw.datasets.cnns.zoo import build, dense_names, lines_of_any_size, zoo_names

from tools.checksums import packed, write_data_files

#: Images of more sizes than that one layer reads: the rule has none.
_MOST_SIDES = 2


def rule_of(name: str, n_classes: int | None = None) -> AnySize | None:
    """Return the counts at any size of a CNN of the zoo; None where its layers do not follow such a rule.

    n_classes : those that decide which kernels are thin; None for the usual ones.
    """
    lines = lines_of_any_size(name)
    if lines is None:
        return None
    walk = _Walk()
    if not all(walk.add(*_parsed(line)) for line in lines):
        return None
    rule = _Parts(build(name, n_classes=n_classes), walk).any_size()
    return rule if all(len(shape.elements) <= _MOST_SIDES for shape in rule.shapes) else None


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
        self.cnn, self.table, self._equal = cnn, LayerColumns(cnn), walk.equal
        self.sides = list(walk.sides)
        self._of_classes: dict[int, int] = {}
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
        return AnySize(tuple(self.sides), self._equal, self._sums(), tuple(self._shapes()))

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
        table = copy(self.table)
        vars(table).update(columns)
        return table

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


def line_of(name: str, rule: AnySize, *, is_thin: bool) -> str:
    """Return the line of a rule in the shipped file."""
    amounts = {
        column: [(side, int(amount)) for side, amount in enumerate(rule.sums[:, number]) if amount]
        for number, column in enumerate(SUMS)
    }
    written = {
        "cnn": name,
        "is_thin": is_thin,
        "sides": [astuple(side) for side in rule.sides],
        "equal": sorted(rule.equal.items()),
        "sums": {column: found for column, found in amounts.items() if found},
        "shapes": [(*astuple(shape)[:3], sorted(shape.largest)) for shape in rule.shapes],
    }
    return json.dumps(written, separators=(",", ":"))


def shipped_lines(step: int = 1) -> Iterator[str]:
    """Yield the lines of the shipped file: the rule of each CNN, and that of few classes where it differs.

    step : every how many CNNs.
    """
    for name in (*zoo_names(), *dense_names())[::step]:
        usual, thin = rule_of(name), rule_of(name, THIN - 1)
        if usual is None or thin is None:
            continue
        yield line_of(name, usual, is_thin=False)
        if not np.array_equal(usual.sums, thin.sums):
            yield line_of(name, thin, is_thin=True)


if __name__ == "__main__":
    content = "".join(f"{line}\n" for line in shipped_lines())
    write_data_files({FILE: packed(FILE, content.encode())}, Path("datasets/data"))
