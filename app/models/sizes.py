"""The counts of CNNs for images of any size, as the numbers that exported programs and the page compute with.

The rules are those of `trainlaw.datasets.cnns.any_size`; programs read them number by number.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from itertools import groupby
from typing import Any

from trainlaw.datasets.cnns.any_size import (
    CLASSES,
    INPUT,
    LARGEST,
    PIXEL,
    SUMS,
    AnySize,
    Shape,
    any_size,
    has_thin_rule,
)
from trainlaw.datasets.cnns.catalog import cnn_table
from trainlaw.datasets.cnns.counts import LAYER_LIMITS, THIN
from trainlaw.datasets.cnns.zoo import zoo_entry

#: Printable characters without those that a string of some language or a line gives a meaning: |;:*() and
#: quotes, backslash, dollar sign (Julia) and question mark (C).
DIGITS = "".join(chr(code) for code in range(33, 127) if chr(code) not in "\"'`\\$?|;:*()")
#: The first ones are digits of a number before its last character, which is one of the others and holds a
#: decimal digit and a power of 16: numbers need no separator, and sizes are often multiples of 16.
BASE = len(DIGITS) - 40
#: Added to `Side.more`, so that no number of a rule is negative.
_SHIFT = 16
#: Numbers of elements beyond those of every layer.
_ENDLESS = 1e18

_Kind = tuple[int, int, int]


def packed(numbers: Iterable[float]) -> str:
    """Return numbers as text: whole ones in `DIGITS`, others in parentheses, without a point.

    >>> packed([0.0, 10.0, 160.0, 0.25])
    'T#T7T(25e-2)'
    """
    return "".join(map(_packed, numbers))


@lru_cache(maxsize=100_000)
def _packed(value: float) -> str:
    if not (0 <= value < 2**53 and value == int(value)):
        # Without a point, for which C expects what the user's locale has.
        parts = Decimal(repr(value)).as_tuple()
        sign, digits = "-" * parts.sign, "".join(map(str, parts.digits))
        return f"({sign}{digits}e{parts.exponent})" if isinstance(parts.exponent, int) else "(nan)"
    whole = int(value)
    powers = (power for power in range(4) if whole % 16**power == 0)
    return min((_digits(whole // 16**power, power) for power in powers), key=len)


def _digits(whole: int, power: int) -> str:
    """Return a whole number times 16^power."""
    rest, last = divmod(whole, 10)
    text = DIGITS[BASE + 10 * power + last]
    while rest:
        rest, digit = divmod(rest, BASE)
        text = DIGITS[digit] + text
    return text


@dataclass(frozen=True)
class SizedCnns:
    """CNNs whose counts a program computes for images of any size.

    columns : the counts, first the sums. classes : place of the count, 1 for layers without MACs and 0 for
    convolutions, least number of elements, and that of the next class. largest : places of the counts of the
    largest layer. kinds : of layers that read and write as many elements: how many convolutions, how many
    without MACs, and bits of those `largest` that they may be. rules : packed numbers by CNN, without them
    for a CNN that has no rule. shift : added to a number of pixels, so that it is not negative.
    """

    columns: tuple[str, ...]
    classes: tuple[tuple[int, int, float, float], ...]
    largest: tuple[int, ...]
    kinds: tuple[_Kind, ...]
    rules: Mapping[str, str]
    shift: int = _SHIFT


def sized_cnns(names: Iterable[str], needed: Iterable[str]) -> SizedCnns:
    """Return the rules of CNNs for the counts `needed`; none of them where rules do not give every count."""
    wanted, given = dict.fromkeys(needed), (*SUMS, *CLASSES, *LARGEST)
    if not set(wanted) <= set(given):
        return SizedCnns(tuple(wanted), (), (), (), {})
    columns = tuple(name for name in given if name in wanted)
    rules = {name: rule for name in names if (rule := any_size(name))}
    shapes = Counter(_kind(shape, columns) for rule in rules.values() for shape in rule.shapes)
    kinds = tuple(kind for kind, _ in shapes.most_common())
    return SizedCnns(
        columns,
        tuple(_of_class(place, name) for place, name in enumerate(columns) if name in CLASSES),
        tuple(place for place, name in enumerate(columns) if name in LARGEST),
        kinds,
        {name: packed(map(float, _numbers(name, rule, columns, kinds))) for name, rule in rules.items()},
    )


def gives_listed(name: str) -> bool:
    """Return whether the rule of a CNN gives its listed counts; those of a few are of a source's layers.

    Exported programs compute every size by the rule, and so take only those for which it does.
    """
    for row in _listed().get(name, ()):
        rule = any_size(name, row["n_classes"]) or any_size(name)
        found = rule.counts(row["input_size_px"], row["n_classes"]) if rule else {}
        if any(row[count] != value for count, value in found.items() if count in row):
            return False
    return True


@cache
def _listed() -> Mapping[str, list[dict[str, Any]]]:
    """Return the listed counts by CNN."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in cnn_table().to_dict("records"):
        found.setdefault(row["cnn"], []).append({str(name): value for name, value in row.items()})
    return found


def _of_class(place: int, name: str) -> tuple[int, int, float, float]:
    kind, _, size = name.partition("_elements_")
    low, high = LAYER_LIMITS[size]
    return place, int(kind == "light"), low, min(high, _ENDLESS)


def _kind(shape: Shape, columns: Sequence[str]) -> _Kind:
    largest = [name for name in columns if name in LARGEST]
    bits = sum(2**place for place, name in enumerate(largest) if name in shape.largest)
    return shape.convolutions, shape.light, bits


def _numbers(name: str, rule: AnySize, columns: Sequence[str], kinds: Sequence[_Kind]) -> Iterator[int]:
    """Yield usual size, usual and least classes, sides, sums per pixel of each, and shapes of layers."""
    assert rule.sides[:2] == (INPUT, PIXEL)
    usual = zoo_entry(name)
    yield from (usual.input_size_px, usual.n_classes, THIN if has_thin_rule(name) else 1)
    yield len(rule.sides) - 2
    for place, side in enumerate(rule.sides[2:], start=2):
        rest = 0 if side.rest is None else 1 + side.rest
        yield from (side.parent, side.factor + 2 * side.per_class, side.more + _SHIFT, side.stride)
        yield from (rest, 1 + rule.equal.get(place, -1))
    of_columns = [SUMS.index(name) for name in columns if name in SUMS]
    for amounts in rule.sums[:, of_columns].astype(int).tolist():
        found = [(column, amount) for column, amount in enumerate(amounts) if amount]
        yield len(found)
        for pair in found:
            yield from pair
    yield from _of_shapes(rule, columns, kinds)


def _of_shapes(rule: AnySize, columns: Sequence[str], kinds: Sequence[_Kind]) -> Iterator[int]:
    """Yield the shapes by the sides that they read and write, each as its difference from the last one."""
    groups = [
        (sides, sorted(shapes, key=_amounts))
        for sides, shapes in groupby(sorted(rule.shapes, key=_sides), key=_sides)
    ]
    yield len(groups)
    for (first, second), shapes in groups:
        yield from (first, second, len(shapes))
        before = 0
        for shape in shapes:
            amount, *others = _amounts(shape)
            yield from (amount - before, *others, kinds.index(_kind(shape, columns)))
            before = amount


def _sides(shape: Shape) -> tuple[int, int]:
    """Return the side of a shape's elements and 1 + the other one; 0 where there is none."""
    first, *others = (side for side, _ in shape.elements)
    return first, 1 + others[0] if others else 0


def _amounts(shape: Shape) -> tuple[int, ...]:
    return tuple(amount for _, amount in shape.elements)
