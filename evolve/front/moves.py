"""Random moves of genomes: random genomes, one change of a genome, and a crossover by resources."""

from collections.abc import Callable, Mapping
from itertools import count

import numpy as np
from trainlaw.evolve.front.aimed import Addition
from trainlaw.evolve.front.genomes import BY_RULE, Genome, Power, fixed_exponent, genome_of, is_covered
from trainlaw.evolve.front.machine import MOST_POWERS, MOST_TERMS
from trainlaw.evolve.front.problem import FrontProblem

Random = np.random.Generator
Terms = dict[int, int]
# Amounts and factors of a random genome.
_FIRST_AMOUNTS, _FIRST_FACTORS = (3, 15), (0, 8)
# How a weight is drawn: by its rule, shared with others, or free.
_BY_RULE, _SHARED = 0.3, 0.55
# How often a new factor has a free exponent where it may have a fixed one.
_FREE = 0.6
# What a factor multiplies: one amount, those of a resource, all, else any of them.
_ONE, _RESOURCE, _ALL = 0.25, 0.75, 0.85


class Moves:
    """Draws genomes of one problem. All chances were chosen by trial, and matter little one by one.

    problem : what the rows support. random : the generator of the search. most : constants at most.
    """

    def __init__(self, problem: FrontProblem, random: Random, most: int) -> None:
        """Keep what genomes are drawn from."""
        self.problem, self.space, self.random, self.most = problem, problem.space, random, most
        self._supported = problem.supported.tolist()
        self._alike = self._neighbours()
        self._kinds: tuple[tuple[float, Callable[[Terms, list[Power]], bool]], ...] = (
            (0.20, self._add),
            (0.30, self._drop),
            (0.45, self._replace),
            (0.62, self._reweigh),
            (0.76, self._multiply),
            (0.84, self._divide),
            (0.90, self._free_or_fix),
            (1.00, self._regroup),
        )

    def is_possible(self, genome: Genome) -> bool:
        """Return whether the genome has few enough constants and parts, and covers each kind of layer."""
        fits = len(genome.terms) <= MOST_TERMS and len(genome.powers) <= MOST_POWERS
        return fits and 1 <= genome.constants <= self.most and is_covered(genome, self.space)

    def drawn(self) -> Genome:
        """Return a random genome that is possible: as wide as what moves can reach."""
        while True:
            terms: Terms = {}
            ruled = self.random.random()
            for _ in range(self.random.integers(*_FIRST_AMOUNTS)):
                by_rule = self.random.random() < ruled
                terms[self._one_of(self._supported)] = BY_RULE if by_rule else self._weight(terms)
            powers = [self._power(terms) for _ in range(self.random.integers(*_FIRST_FACTORS))]
            genome = genome_of(terms, powers if self.problem.usable else [], self.space)
            if self.is_possible(genome):
                return genome

    def mutated(self, genome: Genome) -> Genome:
        """Return the genome after one random change that changes something."""
        for _ in count():
            terms, powers = dict(genome.terms), list(genome.powers)
            chance = self.random.random()
            if next(move for most, move in self._kinds if chance < most)(terms, powers) and terms:
                changed = genome_of(terms, powers, self.space)
                if changed != genome:
                    return changed
        raise AssertionError

    def crossed(self, one: Genome, other: Genome) -> Genome:
        """Return the amounts of some resources of one genome, the rest of the other, with their factors."""
        resource = {place: self.space.amounts[place].resource for place in (*one.amounts, *other.amounts)}
        taken = {name for name in sorted(set(resource.values())) if self.random.random() < 0.5}
        apart = 1 + max(weight for _, weight in one.terms)
        terms = {place: weight for place, weight in one.terms if resource[place] in taken}
        rest = {
            place: weight and weight + apart for place, weight in other.terms if resource[place] not in taken
        }
        joined: dict[tuple[int, bool], set[int]] = {}
        for kept, powers in ((terms, one.powers), (rest, other.powers)):
            for power in powers:
                joined.setdefault(power[:2], set()).update(power.amounts & kept.keys())
        shared = [Power(*key, frozenset(amounts)) for key, amounts in joined.items()]
        return genome_of(terms | rest, shared, self.space)

    def extended(self, genome: Genome, addition: Addition) -> Genome:
        """Return the genome with an addition, its constant free, shared, or by rule."""
        terms, is_free = dict(genome.terms), addition.factor is not None and self._is_free(addition.factor)
        weight = 1 + max(terms.values())
        if addition.amount is not None and self.random.random() >= 0.5:
            weight = self._weight(terms)
        return addition.added(genome, weight, is_free, self.space)

    def _neighbours(self) -> Mapping[int, list[list[int]]]:
        """Return for each amount those of the same work, and those of the same resource."""
        known = [(place, self.space.amounts[place]) for place in self._supported]
        return {
            place: [
                [other for other, two in known if two.work == one.work and other != place],
                [other for other, two in known if two.resource == one.resource and other != place],
            ]
            for place, one in known
        }

    def _one_of(self, places: list[int]) -> int:
        return int(places[self.random.integers(len(places))])

    def _weight(self, terms: Terms) -> int:
        chance, numbers = self.random.random(), sorted(set(terms.values()) - {BY_RULE})
        if chance < _BY_RULE:
            return BY_RULE
        if chance < _SHARED and numbers:
            return self._one_of(numbers)
        return 1 + max(numbers, default=0)

    def _is_free(self, factor: int) -> bool:
        return fixed_exponent(self.space, factor) is None or bool(self.random.random() < _FREE)

    def _power(self, terms: Terms) -> Power:
        if not self.problem.usable:
            return Power(0, False, frozenset())
        factor = self._one_of(list(self.problem.usable))
        return Power(factor, self._is_free(factor), self._some(terms))

    def _some(self, terms: Terms) -> frozenset[int]:
        amounts, chance = sorted(terms), self.random.random()
        if chance < _ONE:
            return frozenset([self._one_of(amounts)])
        if chance < _RESOURCE:
            resource = self.space.amounts[self._one_of(amounts)].resource
            return frozenset(place for place in amounts if self.space.amounts[place].resource == resource)
        size = len(amounts) if chance < _ALL else self.random.integers(1, len(amounts) + 1)
        return frozenset(self.random.choice(amounts, size, replace=False).tolist())

    # Each move changes terms and powers in place, and returns whether it could.
    def _add(self, terms: Terms, powers: list[Power]) -> bool:
        new = self._one_of(self._supported)
        if new in terms:
            return False
        terms[new] = self._weight(terms)
        resource = self.space.amounts[new].resource
        for i, power in enumerate(powers):
            # The factors of a resource mostly hold for all of its amounts.
            alike = any(self.space.amounts[place].resource == resource for place in power.amounts)
            if alike and self.random.random() < 0.7:
                powers[i] = power._replace(amounts=power.amounts | {new})
        return True

    def _drop(self, terms: Terms, powers: list[Power]) -> bool:
        del terms[self._one_of(sorted(terms))]
        return True

    def _replace(self, terms: Terms, powers: list[Power]) -> bool:
        old = self._one_of(sorted(terms))
        same_work, same_resource = self._alike.get(old, [[], []])
        pool = same_work if self.random.random() < 0.4 else same_resource
        new = self._one_of(pool) if pool else old
        if new in terms:
            return False
        terms[new] = terms.pop(old)
        for i, power in enumerate(powers):
            if old in power.amounts:
                powers[i] = power._replace(amounts=power.amounts - {old} | {new})
        return True

    def _reweigh(self, terms: Terms, powers: list[Power]) -> bool:
        place = self._one_of(sorted(terms))
        old, new, chance = terms[place], self._weight(terms), self.random.random()
        # Half of the time all amounts of a weight go together: to their rules, or to another weight.
        together = [other for other, weight in terms.items() if weight == old and old != BY_RULE]
        terms.update(dict.fromkeys(together if chance < 0.5 and new <= max(terms.values()) else [place], new))
        return True

    def _multiply(self, terms: Terms, powers: list[Power]) -> bool:
        powers.append(self._power(terms))
        return bool(self.problem.usable)

    def _divide(self, terms: Terms, powers: list[Power]) -> bool:
        if powers:
            powers.pop(self.random.integers(len(powers)))
        return True

    def _free_or_fix(self, terms: Terms, powers: list[Power]) -> bool:
        choices = [
            i for i, power in enumerate(powers) if fixed_exponent(self.space, power.factor) is not None
        ]
        if choices:
            i = self._one_of(choices)
            powers[i] = powers[i]._replace(is_free=not powers[i].is_free)
        return bool(choices)

    def _regroup(self, terms: Terms, powers: list[Power]) -> bool:
        if not powers:
            return False
        i = int(self.random.integers(len(powers)))
        one = self._one_of(sorted(terms))
        amounts = self._some(terms) if self.random.random() < 0.5 else powers[i].amounts ^ {one}
        powers[i] = powers[i]._replace(amounts=amounts)
        return True
