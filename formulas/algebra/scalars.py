"""The value of an expression at one row: as a function of numbers, twenty times faster than over columns."""

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from trainlaw.formulas.algebra.expression import Apply, Constant, Expression, depth, fold
from trainlaw.formulas.algebra.operators import OPERATORS

#: Takes the values of variables by name; raises ArithmeticError or ValueError where one cannot be computed.
Scalar = Callable[[Mapping[str, float]], float]
# Rounded as numpy rounds them. Others are called as functions of numpy, since the library of C may differ in
# the last digit.
_EXACT: Mapping[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "min": min,
    "max": max,
}
# Arguments through which what is not finite stays so; others may hide it, as 1 / inf is 0.
_TELLING = {"add": (0, 1), "sub": (0, 1), "mul": (0, 1), "div": (0,)}
# A function of a deeper tree would exceed Python's limit of calls within calls.
_MOST_DEPTH = 300


@lru_cache(maxsize=2048)
def scalar_function(expression: Expression) -> Scalar | None:
    """Return an expression as a function of its variables, which are numbers by name; None for a deep tree.

    The function gives nan where any node is not finite, as `evaluate` has it.

    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> half = scalar_function(parse_text("x / (y + 1)"))
    >>> half({"x": 3.0, "y": 5.0}), half({"x": 3.0, "y": -1.0})
    (0.5, nan)
    """
    if depth(expression) > _MOST_DEPTH:
        return None
    compute = fold(expression, _constant, lambda node: _Part(itemgetter(node.name)), _applied).compute

    def value(values: Mapping[str, float]) -> float:
        try:
            found = compute(values)
        except (ArithmeticError, ValueError):
            return math.nan
        return found if found - found == 0.0 else math.nan

    return value


class _Part(NamedTuple):
    """A node as a function, and its value where that is a finite constant."""

    compute: Scalar
    number: float | None = None


def _constant(node: Constant) -> _Part:
    value = float(node.value)
    return _Part(lambda values: value, value if math.isfinite(value) else None)


def _applied(node: Apply, arguments: tuple[_Part, ...]) -> _Part:
    function = _EXACT.get(node.operator) or _of_numpy(node.operator)
    telling = _TELLING.get(node.operator, ())
    first, *others = (
        part.compute if place in telling or part.number is not None else _finite(part.compute)
        for place, part in enumerate(arguments)
    )
    if not others:
        return _Part(lambda values: function(first(values)))
    (second,) = others
    left, right = (part.number for part in arguments)
    # Constants are filled in, since a call takes as long as the operation.
    if left is not None:
        return _Part(lambda values: function(left, second(values)))
    if right is not None:
        return _Part(lambda values: function(first(values), right))
    return _Part(lambda values: function(first(values), second(values)))


def _finite(part: Scalar) -> Scalar:
    """Return a function that raises ArithmeticError where the value is not finite."""

    def value(values: Mapping[str, float]) -> float:
        found = part(values)
        if found - found != 0.0:
            raise ArithmeticError
        return found

    return value


def _of_numpy(name: str) -> Callable[..., float]:
    of_arrays = OPERATORS[name].function

    def value(*numbers: float) -> float:
        with np.errstate(all="ignore"):
            return float(of_arrays(*numbers))

    return value
