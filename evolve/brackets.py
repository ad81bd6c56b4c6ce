"""Brackets: the parts of a template that evolve, each a sum of given terms times given factors.

A template such as `max(hole_device, hole_host) + hole_copy` fixes how parts of a formula combine. A bracket
defines the content of one hole: a sum of weighted amounts in the target's unit, where any part of the sum may
be multiplied by factors of pure numbers, each a power or an exponential with an exponent between two bounds.
There is no quotient and no product of two amounts, no pole and no negative term, so every formula is
positive, and falls or rises with a quantity as the bounds of the exponents say.

Each constant has a prior: the value that hardware and algorithms suggest. A constant that no row determines
keeps it.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.leaves import Leaf, Node, Operation, Rule, draw
from trainlaw.evolve.machine.arrays import CONSTANT, VARIABLE, WEIGHTED
from trainlaw.evolve.settings import POWER, WEIGHT_DEVIATION, Bracket, Factor
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import unknown_name

# Standard deviation of the prior of an exponent.
EXPONENT_DEVIATION = 0.3
# Least weight of a required term over the expected one.
LEAST_SHARE = 0.1
# Share of the factors of a bracket that a random first tree uses.
FIRST_FACTORS = 0.7


class BracketTypes(NamedTuple):
    """The types and nodes of one bracket in a grammar.

    total : type of its sums. factor : type of its factors. terms : weighted leaves. powers : the nodes of
    each factor, in prefix order. required : features that every tree keeps. overall : those
    whose factor multiplies all of the sum.
    """

    total: type
    factor: type
    terms: tuple[Leaf, ...]
    powers: tuple[tuple[Node, ...], ...]
    required: frozenset[str]
    overall: frozenset[str]
    add: Operation
    scale: Operation

    def nodes(self) -> Iterable[Node]:
        """Yield every node that the primitive set needs."""
        yield self.add
        yield from self.terms
        # Without a factor, nothing could be scaled.
        if self.powers:
            yield self.scale
        for power in self.powers:
            yield from power

    def grow(self, random: Random, most: int) -> list[Node]:
        """Return a random sum of some of the terms, times some of the factors: `most` constants at most."""
        kept = [leaf for leaf in self.terms if leaf.feature in self.required]
        others = [leaf for leaf in self.terms if leaf.feature not in self.required]
        least = 0 if kept else 1
        chosen = kept + random.sample(
            others, random.randint(least, max(least, min(len(others), most - len(kept))))
        )
        tree: list[Node] = [self.add] * (len(chosen) - 1) + [draw(leaf, random) for leaf in chosen]
        left = most - len(chosen)
        for power in self.powers:
            is_required = _feature(power) in self.required
            if is_required or (random.random() < FIRST_FACTORS and left > 0):
                tree, left = [self.scale, *tree, *power], left - 1
        return tree

    def whole(self) -> list[Node]:
        """Return the sum of all terms times all factors, at the expected constants."""
        return self._product(self.terms, self.powers)

    def least(self) -> list[Node]:
        """Return the sum of the required terms times the required factors; the first term if none is."""
        terms = [leaf for leaf in self.terms if leaf.feature in self.required] or list(self.terms[:1])
        return self._product(terms, [power for power in self.powers if _feature(power) in self.required])

    def _product(self, terms: Sequence[Leaf], powers: Sequence[tuple[Node, ...]]) -> list[Node]:
        tree: list[Node] = [self.add] * (len(terms) - 1) + list(terms)
        for power in powers:
            tree = [self.scale, *tree, *power]
        return tree


def bracket_types(
    bracket: Bracket, places: Mapping[str, int], columns: NDArray[np.float64], prior_weight: float
) -> BracketTypes:
    """Return the types and nodes of a bracket.

    places : index of each feature in `columns` (n_features, n_rows). prior_weight : weight of a squared
    deviation of one standard deviation, against the mean loss of the rows. A factor whose feature never
    changes is left out. Raises UnknownNameError for an unknown feature.
    """
    for name in (*(name for name, _ in bracket.terms), *(factor.feature for factor in bracket.factors)):
        if name not in places:
            raise unknown_name(f"feature of the bracket {bracket.hole!r}", name, places)
    total, factor = (type(f"{bracket.hole} {part}", (), {}) for part in ("sum", "factor"))
    terms = tuple(
        _term(name, expected, places[name], total, _rule(bracket, name, expected, prior_weight))
        for name, expected in bracket.terms
    )
    powers = tuple(
        _power(item, bracket.hole, places[item.feature], factor, prior_weight)
        for item in bracket.factors
        if np.ptp(columns[places[item.feature]]) > 0.0
    )
    overall = frozenset(bracket.required) & {_feature(power) for power in powers}
    return BracketTypes(
        total,
        factor,
        terms,
        powers,
        frozenset(bracket.required) & {leaf.feature or "" for leaf in terms} | overall,
        overall,
        Operation("add", [total, total], total),
        Operation("mul", [total, factor], total),
    )


def _feature(power: Sequence[Node]) -> str:
    """Return the feature of a factor."""
    return next(node.feature for node in power if isinstance(node, Leaf) and node.feature)


def _rule(bracket: Bracket, name: str, expected: float, prior_weight: float) -> Rule:
    """Return bounds and prior of a weight; work that is required never comes for nothing."""
    least = LEAST_SHARE * expected if name in bracket.required else 0.0
    pull = prior_weight / ((bracket.deviation or WEIGHT_DEVIATION) * expected) ** 2
    return Rule(least, np.inf, scaling=True, pull=pull, centre=expected)


def _term(name: str, expected: float, place: int, total: type, rule: Rule) -> Leaf:
    label = f"weighted_{name}"
    return Leaf(WEIGHTED + 256 * place, total, name, label, constant=expected, rule=rule, start=expected)


def _power(item: Factor, hole: str, place: int, factor: type, prior_weight: float) -> tuple[Node, ...]:
    """Return the nodes of one factor: an operation, the feature, the exponent."""
    rule = Rule(item.low, item.high, pull=prior_weight / EXPONENT_DEVIATION**2, centre=item.expected)
    label = f"{hole} {item.kind} of {item.feature}"
    base, exponent = (type(f"{label} {part}", (), {}) for part in ("base", "exponent"))
    if item.kind == POWER:
        return (
            Operation("pow", [base, exponent], factor),
            Leaf(VARIABLE + 256 * place, base, item.feature, f"{label} base"),
            Leaf(CONSTANT, exponent, None, label, constant=item.expected, rule=rule, start=item.expected),
        )
    return (
        Operation("exp", [exponent], factor),
        Leaf(
            WEIGHTED + 256 * place,
            exponent,
            item.feature,
            label,
            constant=item.expected,
            rule=rule,
            start=item.expected,
        ),
    )


def check_holes(brackets: Sequence[Bracket], holes: Iterable[str]) -> None:
    """Raise InputError where a hole of a template does not have one bracket, or a bracket no hole."""
    named, wanted = {bracket.hole for bracket in brackets}, set(holes)
    if len(named) < len(brackets):
        raise InputError("expected one bracket per hole, got two for the same hole")
    for kind, missing in (
        ("a bracket for the hole", wanted - named),
        ("a hole for the bracket", named - wanted),
    ):
        if missing:
            raise InputError(f"expected {kind} {sorted(missing)[0]!r} of the template, got none")
