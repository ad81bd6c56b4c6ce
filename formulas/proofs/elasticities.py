"""Bounds of elasticities over a box prove that a time never falls, or never rises.

The elasticity of f in x is (x / f) df/dx: by how many per cent f grows per per cent of x. Of a product it is
the sum, of a quotient the difference, of a power the exponent times that of the base, and of a sum, maximum
or minimum of positive terms it lies between those of the terms, whatever their sizes. So formulas of sums and
maxima of products are decided without bisecting a box of twenty quantities: in one pass over the tree.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from trainlaw.formulas.algebra.derivatives import partials
from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    Variable,
    fold,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.intervals import Interval, add, inverse, multiply, negate
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.text import to_text
from trainlaw.formulas.algebra.tidying import merged
from trainlaw.formulas.proofs.enclosure import Box, check_box, enclose

Bounds = tuple[float, float]
ZERO, ANY = Interval(0.0, 0.0), Interval(-math.inf, math.inf)
# What operators of one argument do to its elasticity. tanh is concave from 0: it grows at most in proportion.
_SCALES: Mapping[str, Interval] = {
    "abs": Interval(1.0, 1.0),
    "inv": Interval(-1.0, -1.0),
    "sqrt": Interval(0.5, 0.5),
    "cbrt": Interval(0.3333, 0.3334),
    "square": Interval(2.0, 2.0),
    "cube": Interval(3.0, 3.0),
    "tanh": Interval(0.0, 1.0),
}
_CHOICES = ("add", "max", "min")
_MOST_TEXT = 160  # characters of a term that is to blame: two lines of a terminal


@dataclass(frozen=True, slots=True)
class Proof:
    """Outcome of a proof; a claim that is not proved may hold all the same.

    proved : whether the claim holds everywhere in the box. blame : the terms whose elasticities leave the
    claim open, with the bounds of these.
    """

    proved: bool
    blame: tuple[str, ...] = ()


class _Move(NamedTuple):
    """A motion of a node over the box: bounds of its elasticity, and of value times elasticity."""

    elasticity: Interval
    slope: Interval


_STILL = _Move(ZERO, ZERO)


class _Node(NamedTuple):
    """One of the different nodes of a tree: its arguments by place, and the names that occur in it."""

    node: Expression
    arguments: tuple[int, ...]
    names: frozenset[str]


class Elasticities:
    """Elasticities of one expression over one box, in any variable or in several that move together.

    Like terms and factors are merged first, so that `(a + b) - a` is `b`; their constants are rounded once.
    Proofs are of the expression in exact arithmetic, bounded with outward rounding.

    Parameters
    ----------
    expression : Expression
        Any expression; only parts that are never negative have elasticities.
    box : mapping of str to (float, float)
        Lowest and highest value per variable. Amounts of work may be 0, which counts as the limit.
    flags : collection of str
        Variables that are 0 or 1 and nothing between: where a claim is open, both cases are tried.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> law = Elasticities(parse_text("w / B * w / (w + c)"), {"w": (0, 9), "B": (1, 2), "c": (1, 2)})
    >>> law.elasticity({"w": 1}), law.monotone("B", -1).proved
    ((1.0, 2.0), True)
    """

    def __init__(self, expression: Expression, box: Box, flags: Collection[str] = ()) -> None:
        """Merge like terms and number the different nodes; raises as `check_box`."""
        self._box = check_box(expression, box)
        self._expression = expression
        self._flags = [name for name in variables(expression) if name in flags]
        self._nodes = _numbered(merged(expression))
        self._cases: dict[str, tuple[Elasticities, Elasticities]] = {}

    @cached_property
    def valid(self) -> bool:
        """Whether the expression is defined and finite everywhere in the box."""
        return enclose(self._expression, self._box).total

    @cached_property
    def nonnegative(self) -> bool:
        """Whether the expression is proved to be defined and never negative everywhere in the box."""
        if self.valid and self._values[-1].low >= 0:
            return True
        everywhere = [len(self._nodes) - 1]
        return any(low.nonnegative and high.nonnegative for low, high in self._split(everywhere))

    def elasticity(self, together: Mapping[str, float]) -> Bounds:
        """Return the lowest and highest elasticity; infinite where nothing is known.

        together : exponents of the variables that move: {"x": 1, "y": 2} where y grows as the square of x.
        """
        return self._moves(together)[-1].elasticity[:2]

    def monotone(self, together: str | Mapping[str, float], direction: int = 1) -> Proof:
        """Prove that the expression is valid and never falls (direction 1) or never rises (-1) in the box.

        together : a variable, or the exponents of several that move together.
        """
        motion = {together: 1.0} if isinstance(together, str) else together
        moves = self._moves(motion)
        negative = [name for name in motion if self._box.get(name, ZERO[:2])[0] < 0]
        if negative:
            return Proof(False, (f"{negative[0]} may be negative",))
        if self.valid and _goes(moves[-1], direction):
            return Proof(True)
        blamed = self._blamed(moves, direction)
        for cases in self._split(blamed):
            if all(case.monotone(motion, direction).proved for case in cases):
                return Proof(True)
        return Proof(False, self._words(blamed, moves))

    def _split(self, places: Collection[int]) -> list[tuple["Elasticities", "Elasticities"]]:
        """Return the cases 0 and 1 of the first flag that occurs at these places; empty without one."""
        names = frozenset[str]().union(*(self._nodes[place].names for place in places))
        chosen = [name for name in self._flags if name in names][:1]
        for name in chosen:
            if name not in self._cases:
                fixed = [substitute(self._expression, {name: Constant(value)}) for value in (0.0, 1.0)]
                low, high = (Elasticities(case, self._box, self._flags) for case in fixed)
                self._cases[name] = low, high
        return [self._cases[name] for name in chosen]

    def _words(self, places: Collection[int], moves: list[_Move]) -> tuple[str, ...]:
        """Return the terms at these places as text, with the bounds of their elasticities."""
        if not self.valid:
            return ("it is not defined everywhere in the box",)
        return tuple(_words(self._nodes[place].node, moves[place].elasticity) for place in places)

    @cached_property
    def _values(self) -> list[Interval]:
        found: list[Interval] = []
        with np.errstate(all="ignore"):
            for row in self._nodes:
                if isinstance(row.node, Apply):
                    arguments = (found[place] for place in row.arguments)
                    found.append(OPERATORS[row.node.operator].enclose(*arguments))
                else:
                    found.append(enclose(row.node, self._box))
        return found

    def _moves(self, together: Mapping[str, float]) -> list[_Move]:
        """Return the motion of each node."""
        found: list[_Move] = []
        moving = frozenset(together)
        for place, row in enumerate(self._nodes):
            if not row.names & moving:
                found.append(_STILL)
            elif isinstance(row.node, Variable):
                exponent = together[row.node.name]
                found.append(_from_elasticity(Interval(exponent, exponent), self._values[place]))
            else:
                found.append(self._moved(place, [found[argument] for argument in row.arguments]))
        return found

    def _moved(self, place: int, moves: list[_Move]) -> _Move:
        """Return the motion of a node from those of its arguments, one of which moves."""
        row, value = self._nodes[place], self._values[place]
        assert isinstance(row.node, Apply)
        inner = [self._values[argument] for argument in row.arguments]
        operator = row.node.operator
        if operator in ("max", "min"):
            kept = _undecided(operator, inner)
            moves, inner = [moves[index] for index in kept], [inner[index] for index in kept]
        elasticity = _elasticity(operator, moves, inner)
        if elasticity is not None and value.low >= 0:
            return _from_elasticity(elasticity, value)
        slope = self._slope(operator, moves, inner)
        return _Move(_quotient(slope, value), slope)

    def _slope(self, operator: str, moves: list[_Move], inner: list[Interval]) -> Interval:
        """Return bounds of the derivative along the motion, by the chain rule."""
        slopes = [move.slope for move in moves]
        if operator in ("max", "min"):
            return _hull(slopes)
        if operator == "step":
            # The jump has no derivative, but it goes the way of the argument.
            low, high, _ = slopes[0]
            return Interval(0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf)
        box = {name: interval[:2] for name, interval in zip("ab", inner, strict=False)}
        total = ZERO
        for partial, slope in zip(partials(operator), slopes, strict=True):
            if slope[:2] != ZERO[:2]:
                total = _known(add(total, _times(enclose(partial, box), slope)))
        return total

    def _blamed(self, moves: list[_Move], direction: int) -> list[int]:
        """Return the places of the smallest terms whose trend is not proved."""
        pending: list[tuple[int, int]] = [(len(self._nodes) - 1, direction)]
        found: dict[int, None] = {}
        while pending:
            place, wanted = pending.pop()
            if _goes(moves[place], wanted):
                continue
            parts = self._parts(place, moves, wanted)
            pending += reversed(parts)
            if not any(not _goes(moves[part], sign) for part, sign in parts):
                found[place] = None
        # Where only the validity is open, everything may be to blame.
        return list(found) or [len(self._nodes) - 1]

    def _parts(self, place: int, moves: list[_Move], wanted: int) -> list[tuple[int, int]]:
        """Return the arguments on which the trend of a node depends term by term, each with its direction."""
        node, arguments, _ = self._nodes[place]
        if not isinstance(node, Apply):
            return []
        if node.operator in _CHOICES:
            return [(argument, wanted) for argument in arguments]
        if node.operator in ("sub", "neg"):
            # What is taken off is to blame together with what it is taken from.
            return [(arguments[0], wanted if node.operator == "sub" else -wanted)]
        moving = [argument for argument in arguments if moves[argument] is not _STILL]
        still = [argument for argument in arguments if moves[argument] is _STILL]
        scaled = node.operator == "mul" or (node.operator == "div" and arguments[1] in still)
        if scaled and len(moving) == 1 and all(self._values[argument].low >= 0 for argument in still):
            return [(moving[0], wanted)]
        return []


def _numbered(expression: Expression) -> list[_Node]:
    """Return the different nodes of an expression, arguments first."""
    places: dict[object, int] = {}
    rows: list[_Node] = []

    def place(key: object, row: _Node) -> int:
        if key not in places:
            places[key] = len(rows)
            rows.append(row)
        return places[key]

    def applied(node: Apply, arguments: tuple[int, ...]) -> int:
        names = frozenset[str]().union(*(rows[argument].names for argument in arguments))
        return place((node.operator, arguments), _Node(node, arguments, names))

    fold(
        expression,
        lambda node: place(node, _Node(node, (), frozenset())),
        lambda node: place(node, _Node(node, (), frozenset([node.name]))),
        applied,
    )
    return rows


def _elasticity(operator: str, moves: list[_Move], inner: list[Interval]) -> Interval | None:
    """Return the elasticity of an operator; None: no rule, or an argument that may be negative."""
    inside = [move.elasticity for move in moves]
    if operator == "exp":
        return moves[0].slope
    if operator == "pow":
        return _of_power(moves, inner)
    if not all(value.low >= 0 for value in inner):
        return None
    if operator in _CHOICES:
        return _hull(inside)
    if operator in ("mul", "div"):
        return _known(add(inside[0], inside[1] if operator == "mul" else negate(inside[1])))
    return _times(_SCALES[operator], inside[0]) if operator in _SCALES else None


def _of_power(moves: list[_Move], inner: list[Interval]) -> Interval | None:
    """Return the elasticity of a^b: b times that of a, and log(a) times the slope of b."""
    base, exponents = inner
    if not base.low >= 0:
        return None
    elasticity = _times(exponents, moves[0].elasticity)
    if moves[1] is _STILL:
        return elasticity
    if base.low == 0:
        return None
    return _known(add(elasticity, _times(OPERATORS["log"].enclose(base), moves[1].slope)))


def _undecided(operator: str, inner: list[Interval]) -> list[int]:
    """Return the arguments of a maximum or minimum that can be its value."""
    one, other = inner if operator == "max" else map(negate, inner)
    if one.low >= other.high:
        return [0]
    return [1] if other.low >= one.high else [0, 1]


def _goes(move: _Move, direction: int) -> bool:
    """Return whether a motion never lowers (direction 1) or never raises the value."""
    return move.slope.low >= 0 if direction > 0 else move.slope.high <= 0


def _words(node: Expression, elasticity: Interval) -> str:
    text = to_text(node, 4)
    shown = text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
    return f"{shown}: elasticity {elasticity.low:.3g} to {elasticity.high:.3g}"


def _from_elasticity(elasticity: Interval, value: Interval) -> _Move:
    """Return the move of a value that is never negative, which elasticity times value makes complete."""
    return _Move(elasticity if value.low >= 0 else ANY, _times(elasticity, value))


def _known(bounds: Interval) -> Interval:
    """Return bounds, infinite ones where there are none."""
    return ANY if math.isnan(bounds.low) else bounds


def _hull(items: list[Interval]) -> Interval:
    return Interval(min(item.low for item in items), max(item.high for item in items))


def _times(a: Interval, b: Interval) -> Interval:
    return _known(multiply(a, b))


def _quotient(slope: Interval, value: Interval) -> Interval:
    """Return bounds of slope / value of a value that is never negative."""
    return _times(slope, inverse(value)) if value.low >= 0 else ANY
