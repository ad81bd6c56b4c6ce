"""Genomes: which amounts a formula adds, which weights they share, and which factors multiply which amounts.

What is fixed by rule costs no constant: a weight at its rule, an exponent at 1 or -1. What is free is one
constant each; amounts may share a weight, and a factor has one exponent for all amounts that it multiplies.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.front.space import Space
from trainlaw.evolve.settings import POWER
from trainlaw.formulas import Apply, Expression, parse_text

#: The weight of an amount that keeps its rule.
BY_RULE = 0


class Power(NamedTuple):
    """A factor in a genome.

    factor : place in the space. is_free : whether its exponent is fitted. amounts : what it multiplies.
    """

    factor: int
    is_free: bool
    amounts: frozenset[int]


class Genome(NamedTuple):
    """The structure of one formula, in one order for each structure.

    terms : place of each amount in the space, rising, with the number of its weight, `BY_RULE` or from 1 on
    in the order of first use. powers : sorted. The constants of a formula are the logarithms of its weights,
    in their order, then the free exponents in theirs.
    """

    terms: tuple[tuple[int, int], ...]
    powers: tuple[Power, ...]

    @property
    def weights(self) -> int:
        """Number of free weights."""
        return max([weight for _, weight in self.terms], default=0)

    @property
    def constants(self) -> int:
        """Number of fitted constants."""
        return self.weights + sum([power.is_free for power in self.powers])

    @property
    def amounts(self) -> tuple[int, ...]:
        """Places of the amounts, rising."""
        return tuple([amount for amount, _ in self.terms])

    @property
    def weighted(self) -> list[list[int]]:
        """The amounts that share each free weight."""
        found: list[list[int]] = [[] for _ in range(self.weights)]
        for amount, weight in self.terms:
            if weight != BY_RULE:
                found[weight - 1].append(amount)
        return found


def genome_of(terms: Mapping[int, int], powers: Iterable[Power], space: Space) -> Genome:
    """Return the genome of amounts with the numbers of their weights, without what a factor may not multiply.

    A power that is left without amounts goes; those of one factor that may be one are one.
    """
    joined: dict[tuple[int, bool], list[frozenset[int]]] = {}
    for factor, is_free, amounts in powers:
        allowed = space.multiplied[factor]
        kept = frozenset([place for place in amounts if place in terms and place in allowed])
        if kept and kept not in joined.setdefault((factor, is_free), []):
            joined[factor, is_free].append(kept)
    numbers: dict[int, int] = {BY_RULE: BY_RULE}
    ordered = tuple((place, numbers.setdefault(terms[place], len(numbers))) for place in sorted(terms))
    found = [Power(*key, amounts) for key, sets in joined.items() for amounts in sets]
    return Genome(ordered, tuple(sorted(found, key=lambda one: (one[:2], sorted(one.amounts)))))


def fixed_exponent(space: Space, factor: int) -> float | None:
    """Return the exponent of a factor that is free of charge: 1 or -1, as its bounds say; None: neither."""
    bounds = space.factors[factor]
    sign = 1.0 if bounds.expected > 0.0 else -1.0
    return sign if bounds.low <= sign <= bounds.high else None


def is_covered(genome: Genome, space: Space) -> bool:
    """Return whether each kind of layer is in some amount: work that exists costs time."""
    covered = frozenset[str]().union(*[space.amounts[place].covers for place in genome.amounts])
    return covered == space.kinds


def to_expression(genome: Genome, constants: NDArray[np.float64], space: Space) -> Expression:
    """Return the formula of a genome; constants : (n_constants,), as they are ordered in a genome.

    Amounts with the same factors are in one bracket, and in it those with the same weight in one sum.
    """
    sides = [
        _sum_of([term for term in genome.terms if space.sides[term[0]] == side], genome, constants, space)
        for side in range(3)
    ]
    faster = f"min({sides[1]}, {sides[2]})" if sides[1] and sides[2] else sides[1] or sides[2]
    return _around(parse_text(" + ".join(part for part in (faster, sides[0]) if part)), space)


def _sum_of(
    terms: Iterable[tuple[int, int]], genome: Genome, constants: NDArray[np.float64], space: Space
) -> str:
    """Return the sum of some terms of a genome as text, "" without any."""
    brackets: dict[tuple[int, ...], dict[tuple[int, float], list[str]]] = {}
    for amount, weight in terms:
        inside = tuple(i for i, power in enumerate(genome.powers) if amount in power.amounts)
        rule = space.amounts[amount].weight if weight == BY_RULE else 1.0
        sums = brackets.setdefault(inside, {})
        sums.setdefault((weight, rule), []).append(space.amounts[amount].feature)
    exponents, found = exponents_of(genome, constants, space), []
    for inside, sums in brackets.items():
        text = " + ".join(
            f"{_weight_of(number, rule, constants) * space.scale!r} * ({' + '.join(names)})".removeprefix(
                "1.0 * "
            )
            for (number, rule), names in sums.items()
        )
        powers = "".join(_power_text(space, genome.powers[i].factor, exponents[i]) for i in inside)
        found.append(f"({text}){powers}" if powers else text)
    return " + ".join(found)


def _weight_of(number: int, rule: float, constants: NDArray[np.float64]) -> float:
    """Return a weight: by rule, or the fitted one of that number."""
    return rule if number == BY_RULE else float(np.exp(constants[number - 1]))


def exponents_of(genome: Genome, constants: NDArray[np.float64], space: Space) -> list[float]:
    """Return the exponent of each power of a genome."""
    free = iter(constants[genome.weights :].tolist())
    return [next(free) if one.is_free else fixed_exponent(space, one.factor) or 0.0 for one in genome.powers]


def _power_text(space: Space, place: int, exponent: float) -> str:
    """Return a factor as it stands behind a term."""
    factor, sign = space.factors[place], "*" if exponent > 0.0 else "/"
    if exponent in (1.0, -1.0):
        return f" {sign} {factor.feature if factor.kind == POWER else f'exp({factor.feature})'}"
    if factor.kind == POWER:
        return f" * {factor.feature} ** {exponent!r}"
    return f" * exp({exponent!r} * {factor.feature})"


def _around(total: Expression, space: Space) -> Expression:
    """Return the whole formula around the sum of its terms."""
    if space.base is not None:
        total = Apply("add", (space.base, total))
    if space.floor is not None:
        total = Apply("max", (total, space.floor))
    return total if space.after is None else Apply("add", (total, space.after))
