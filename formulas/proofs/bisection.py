"""Proofs that an expression keeps its sign, or never falls in a variable, everywhere in a box.

"proved" is a theorem (bounds of elasticities, or interval arithmetic over a bisection of the box, both
rounded outwards) and includes that the expression is valid everywhere in the box; "refuted" comes with points
that interval arithmetic confirms; all else is "undecided".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.algebra.derivatives import derivative
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import Apply, Expression, Variable, nodes, variables
from trainlaw.formulas.algebra.intervals import Interval
from trainlaw.formulas.proofs.elasticities import Elasticities, Proof
from trainlaw.formulas.proofs.enclosure import Box, Ranges, check_box, enclose, one_box

Array = NDArray[np.float64]
# Random points and corners that are tried before the bisection: most false claims fail at one of them.
SAMPLES = 1024
MAX_CORNERS = 256
# A fall is looked for over these shares of the distance to the top of the range.
STEPS = (1.0, 0.1, 0.001)


UNDECIDED = Proof("undecided")


def prove_sign(
    expression: Expression,
    box: Box,
    sign: int = 1,
    *,
    max_boxes: int = 4096,
) -> Proof:
    """Prove or refute that the expression is valid and never negative (or never positive) in a box.

    Parameters
    ----------
    expression : Expression
        Any expression.
    box : mapping of str to (float, float)
        Lowest and highest value per variable.
    sign : {1, -1}
        1: never negative; -1: never positive.
    max_boxes : int
        The try is given up after this number of boxes of the bisection.

    Returns
    -------
    Proof
        The outcome.

    Raises
    ------
    UnknownNameError
        If a variable has no range.
    InputError
        If a range is empty.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> prove_sign(parse_text("x^2 - 2 * x + 1.5"), {"x": (0, 3)}).status
    'proved'
    """
    signed = expression if sign > 0 else Apply("neg", (expression,))
    return _prove(_SignClaim(signed), check_box(expression, box), max_boxes)


def prove_monotone(
    expression: Expression,
    name: str,
    box: Box,
    direction: int = 1,
    *,
    max_boxes: int = 4096,
) -> Proof:
    """Prove or refute that the expression is valid and never falls (or never rises) in one variable.

    Parameters
    ----------
    expression : Expression
        Any expression.
    name : str
        Name of the variable.
    box : mapping of str to (float, float)
        Lowest and highest value per variable.
    direction : {1, -1}
        1: never falls; -1: never rises.
    max_boxes : int
        The try is given up after this number of boxes of the bisection.

    Returns
    -------
    Proof
        The outcome.

    Raises
    ------
    UnknownNameError
        If a variable has no range.
    InputError
        If a range is empty.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> prove_monotone(parse_text("x / (x + c)"), "x", {"x": (0, 9), "c": (1, 2)}).status
    'proved'
    """
    ends = check_box(Apply("add", (expression, Variable(name))), box)
    # Sums and maxima of products are decided in one pass, without a bisection.
    proof = Elasticities(expression, ends).monotone(name, direction)
    if proof.proved:
        return proof
    signed = expression if direction > 0 else Apply("neg", (expression,))
    claim = _RisingClaim(signed, derivative(signed, name), name, ends[name][1])
    return _prove(claim, ends, max_boxes)


@dataclass(frozen=True, slots=True)
class _SignClaim:
    """The claim that `expression` is never negative."""

    expression: Expression

    def margin(self, boxes: Ranges) -> Array:
        """Return per box a bound that proves the claim there where it is not negative, shape (n_boxes,)."""
        value = enclose(self.expression, boxes)
        return np.where(value.total, value.low, -np.inf)

    def decide(self, points: Mapping[str, Array]) -> Proof | None:
        """Return the outcome where points decide it: one refutes the claim, or has no valid value."""
        values = _enclose_points(self.expression, points)
        if np.any(values.high < 0):
            return Proof("refuted", (_point(points, int(np.nanargmin(values.high))),))
        return None if np.all(evaluate(self.expression, points)[1]) else UNDECIDED


@dataclass(frozen=True, slots=True)
class _RisingClaim:
    """The claim that `expression` never falls in `name` up to `top`; `slope` is its derivative."""

    expression: Expression
    slope: Expression
    name: str
    top: float

    def margin(self, boxes: Ranges) -> Array:
        """Return per box a bound that proves the claim there where it is not negative, shape (n_boxes,)."""
        if self._jumps():
            return np.full(len(boxes[self.name][0]), -np.inf)
        slope, value = enclose(self.slope, boxes), enclose(self.expression, boxes)
        return np.where(slope.total & value.total, slope.low, -np.inf)

    def _jumps(self) -> bool:
        """Return whether there are jumps in `name`, which the derivative does not show."""
        steps = (
            node for node in nodes(self.expression) if isinstance(node, Apply) and node.operator == "step"
        )
        return any(self.name in variables(node) for node in steps)

    def decide(self, points: Mapping[str, Array]) -> Proof | None:
        """Return the outcome where points decide it: a pair refutes the claim, or one is not valid."""
        here = _enclose_points(self.expression, points)
        for share in STEPS:
            raised = {**points, self.name: points[self.name] + share * (self.top - points[self.name])}
            fall = here.low - _enclose_points(self.expression, raised).high
            if np.any(fall > 0):
                worst = int(np.nanargmax(fall))
                return Proof("refuted", (_point(points, worst), _point(raised, worst)))
        return None if np.all(evaluate(self.expression, points)[1]) else UNDECIDED


def _prove(claim: _SignClaim | _RisingClaim, ends: Box, max_boxes: int) -> Proof:
    """Return the outcome from sampled points, or from a bisection."""
    return claim.decide(_samples(ends)) or _bisect(claim, ends, max_boxes)


def _enclose_points(expression: Expression, points: Mapping[str, Array]) -> Interval:
    return enclose(expression, {name: (column, column) for name, column in points.items()})


def _point(points: Mapping[str, Array], index: int) -> dict[str, float]:
    return {name: float(column[index]) for name, column in points.items()}


def _samples(ends: Box) -> dict[str, Array]:
    """Return points of the box per variable: corners first, then random ones, the same in every run."""
    generator = np.random.default_rng(0)
    corners = list(islice(product(*ends.values()), MAX_CORNERS))
    return {
        name: np.concatenate([[corner[index] for corner in corners], _between(low, high, generator)])
        for index, (name, (low, high)) in enumerate(ends.items())
    }


def _between(low: float, high: float, generator: np.random.Generator) -> Array:
    """Return random numbers from low to high, half of them evenly in size where both have one sign."""
    shares = generator.uniform(size=SAMPLES)
    even = low + shares * (high - low)
    if low * high <= 0:
        return even
    sizes = np.sign(low) * np.exp(np.log(abs(low)) + shares * (np.log(abs(high)) - np.log(abs(low))))
    return np.clip(np.where(generator.uniform(size=SAMPLES) < 0.5, even, sizes), low, high)


def _bisect(claim: _SignClaim | _RisingClaim, ends: Box, max_boxes: int) -> Proof:
    """Return the outcome of halving the boxes on which the claim is open until none is left, or too many."""
    boxes = one_box(ends)
    examined = 0
    while True:
        margin = claim.margin(boxes)
        examined += len(margin)
        still_open = ~(margin >= 0)
        if not np.any(still_open):
            return Proof("proved")
        boxes = {name: (low[still_open], high[still_open]) for name, (low, high) in boxes.items()}
        decided = claim.decide({name: _middle(*sides) for name, sides in boxes.items()})
        if decided or examined > max_boxes or not boxes:
            return decided or UNDECIDED
        boxes = _halved(claim, boxes)


def _middle(low: Array, high: Array) -> Array:
    """Return a point between, at the geometric mean where both ends have one sign."""
    same = low * high > 0
    size = np.sqrt(np.abs(np.where(same, low, 1.0))) * np.sqrt(np.abs(np.where(same, high, 1.0)))
    return np.clip(np.where(same, np.sign(low) * size, low / 2 + high / 2), low, high)


def _halved(claim: _SignClaim | _RisingClaim, boxes: Ranges) -> Ranges:
    """Return both halves of each box, cut across the variable that leads nearest to a proof."""
    halves = [_cut(boxes, name) for name in boxes]
    gains = np.array([np.minimum(claim.margin(lower), claim.margin(upper)) for lower, upper in halves])
    widths = np.array([_relative_width(*sides) for sides in boxes.values()])
    # Among equal gains, as where nothing is bounded yet, the relatively widest side is cut.
    best = np.max(np.where(widths > 0, gains, -np.inf), axis=0)
    choice = np.argmax(np.where((gains >= best) & (widths > 0), widths, -1.0), axis=0)
    columns = np.arange(len(choice))

    def chosen(name: str, end: int) -> Array:
        """Return one end of a variable's range in the chosen lower halves, then in the upper ones."""
        sides = [np.array([half[side][name][end] for half in halves])[choice, columns] for side in (0, 1)]
        return np.concatenate(sides)

    return {name: (chosen(name, 0), chosen(name, 1)) for name in boxes}


def _cut(boxes: Ranges, name: str) -> tuple[Ranges, Ranges]:
    """Return the lower and the upper halves of all boxes across one variable."""
    low, high = boxes[name]
    middle = _middle(low, high)
    return {**boxes, name: (low, middle)}, {**boxes, name: (middle, high)}


def _relative_width(low: Array, high: Array) -> Array:
    return (high - low) / np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-300)
