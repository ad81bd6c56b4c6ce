"""The library: all small expressions over a few quantities, with their values on the rows."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas import Apply, Constant, Expression

# Values are compared after rounding to this many digits of their root mean square.
DIGITS = 9
ONE = Constant(1.0)
WRAPPERS = ("square", "sqrt", "log", "exp", "sin", "cos")


@dataclass(frozen=True)
class Quantity:
    """An expression with its values (n_rows,), and its number of nodes, or the one that it counts as."""

    expression: Expression
    values: NDArray[np.float64]
    size: int = 1

    @cached_property
    def coordinate(self) -> NDArray[np.float64]:
        """The values, or their logarithms where they spread widely, mapped to -1 to 1."""
        values = self.values
        if np.all(values > 0.0) and values.max() > 2.0 * values.min():
            values = np.log(values)
        low, high = values.min(), values.max()
        mapped: NDArray[np.float64] = (2.0 * values - low - high) / ((high - low) or 1.0)
        return mapped


def apply(operator: str, *arguments: Quantity) -> Quantity:
    """Return an operator applied to quantities."""
    with np.errstate(all="ignore"):
        values = _FUNCTIONS[operator](*(part.values for part in arguments))
    expression = Apply(operator, tuple(part.expression for part in arguments))
    return Quantity(expression, values, 1 + sum(part.size for part in arguments))


_FUNCTIONS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "square": np.square,
    "sqrt": np.sqrt, "log": np.log, "exp": np.exp, "sin": np.sin, "cos": np.cos,
}  # fmt: skip


def make_library(
    atoms: Sequence[Quantity], operators: Iterable[str], most: int, end: float = math.inf
) -> list[Quantity]:
    """Return at most `most` quantities made of `atoms`, simple ones first, no two proportional.

    Only finite ones that are not constant, of the given operators. end : the time of `time.monotonic` from
    which on no more are made.
    """
    known = frozenset(operators) & frozenset(_FUNCTIONS)
    found: dict[bytes, Quantity] = {}
    for candidate in _candidates(atoms, known):
        key = key_of(candidate.values)
        if key is not None:
            found.setdefault(key, candidate)
        if len(found) >= most or time.monotonic() > end:
            break
    return list(found.values())


def key_of(values: NDArray[np.float64]) -> bytes | None:
    """Return what proportional values share; None for values that are constant or not finite."""
    size = math.sqrt(float(values @ values) / values.size)
    # What is not finite, or whose squares are not, has no finite size either.
    if not 1e-100 < size < 1e100 or values.max() - values.min() < 1e-9 * size:
        return None
    largest = int(np.argmax(np.abs(values[:8])))
    scaled = np.round(values[:32] / (size if values[largest] > 0.0 else -size), DIGITS)
    return (scaled + 0.0).tobytes()


def _candidates(atoms: Sequence[Quantity], known: frozenset[str]) -> Iterator[Quantity]:
    """Yield all candidates, level by level."""
    if not atoms:
        return
    yield from atoms
    wrapped = list(_wrapped(atoms, known))
    pairs = list(_pairs(atoms, known))
    yield from wrapped
    yield from pairs
    squares = [item for item in wrapped if _operator(item) == "square"]
    yield from _pairs(squares, known - {"mul", "div"})
    of_pairs = list(_wrapped(pairs, known))
    yield from of_pairs
    one = Quantity(ONE, np.ones_like(atoms[0].values))
    ratios = [item for item in pairs if _operator(item) == "div"]
    shifted = [*_shifted(one, [*atoms, *ratios, *squares], known)]
    shifted += _shifted(one, [item for item in of_pairs if _operator(item) in ("square", "exp")], known)
    yield from shifted
    products = [item for item in pairs if _operator(item) in ("mul", "div")]
    yield from _products(wrapped, atoms, known)
    yield from _products(pairs, atoms, known)
    yield from _pairs([item for item in of_pairs if _operator(item) == "square"], known & {"add", "sub"})
    yield from (apply("sqrt", item) for item in shifted if "sqrt" in known)
    yield from _products(of_pairs, atoms, known)
    yield from _products(shifted, atoms, known)
    yield from _products(products, products, known)
    yield from _products(wrapped, products, known)
    yield from _products(of_pairs, products, known)
    yield from _pairs(products, known & {"add", "sub"})


def _operator(item: Quantity) -> str:
    return item.expression.operator if isinstance(item.expression, Apply) else ""


def _wrapped(items: Sequence[Quantity], known: frozenset[str]) -> Iterator[Quantity]:
    """Yield each function of each item, and exp of its negative."""
    for item in items:
        for name in WRAPPERS:
            if name in known:
                yield apply(name, item)
        if {"exp", "div"} <= known:
            one = Quantity(ONE, np.ones_like(item.values))
            yield apply("div", one, apply("exp", item))
            yield apply("div", one, item)


def _pairs(items: Sequence[Quantity], known: frozenset[str]) -> Iterator[Quantity]:
    for first, second in combinations(items, 2):
        for name in ("mul", "div", "sub", "add"):
            if name in known:
                yield apply(name, first, second)
        if "div" in known:
            yield apply("div", second, first)


def _shifted(one: Quantity, items: Sequence[Quantity], known: frozenset[str]) -> Iterator[Quantity]:
    """Yield 1 + x and 1 - x."""
    for item in items:
        for name in ("add", "sub"):
            if name in known:
                yield apply(name, one, item)


def _products(
    items: Sequence[Quantity], others: Sequence[Quantity], known: frozenset[str]
) -> Iterator[Quantity]:
    for item in items:
        for other in others:
            if "mul" in known:
                yield apply("mul", other, item)
            if "div" in known:
                yield apply("div", item, other)
                yield apply("div", other, item)
