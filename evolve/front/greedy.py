"""Controls that change one formula greedily: stepwise forward selection, and pruning of a given formula."""

from collections.abc import Iterator, Sequence

import numpy as np
from trainlaw.evolve.front.aimed import ranked
from trainlaw.evolve.front.archive import Archive
from trainlaw.evolve.front.genomes import BY_RULE, Genome, Power, fixed_exponent, genome_of, is_covered
from trainlaw.evolve.front.moves import Moves
from trainlaw.evolve.front.problem import Fitted, FrontProblem

# A step towards fewer constants may also be one that costs none: this many in succession at most.
_MOST_FREE_STEPS = 6


def forward(problem: FrontProblem, moves: Moves, promising: int | None = None) -> Archive:
    """Return the formulas of stepwise forward selection: of each step the best single addition.

    Each amount is added with a free weight and by its rule, alone and with the factors of its resource;
    each factor to one amount and to those of a resource, fitted and by its rule. Begins with the amount that
    is best alone; coverage is not asked of its first formulas. promising : how many additions a step tries,
    those that `ranked` puts first; all by default.
    """
    archive = Archive(moves.most)
    best: Fitted | None = None
    while best is None or best.genome.constants < moves.most:
        if best is None or promising is None:
            children = list(dict.fromkeys(_additions(best, problem)))
        else:
            children = list(dict.fromkeys(_promising(best, problem, promising)))
        tried = _fitted(children, best, problem)
        better = min(tried, key=lambda one: one.score, default=None)
        if better is None or (best is not None and not better.score < best.score):
            break
        best = better
        for one in tried:
            if moves.is_possible(one.genome):
                archive.add(one)
    return archive


def pruned(law: Genome, problem: FrontProblem, moves: Moves) -> Archive:
    """Return what is left of a formula when its parts go one by one, each time the least missed.

    A term or a factor goes, a weight becomes its rule, an exponent 1 or -1, two weights become one.
    """
    archive = Archive(max(moves.most, law.constants))
    best = problem.fit([law], [problem.start(law)], steps=60)[0]
    archive.add(best)
    free_steps = 0
    while best.genome.constants > 1:
        children = [
            one for one in dict.fromkeys(_removals(best.genome, problem)) if is_covered(one, problem.space)
        ]
        tried = [one for one in _fitted(children, best, problem) if np.isfinite(one.score)]
        for one in tried:
            archive.add(one)
        smaller = [one for one in tried if one.genome.constants < best.genome.constants]
        free = [one for one in tried if one.genome.constants == best.genome.constants]
        chosen = min(free, key=lambda one: one.score, default=None)
        if chosen is None or chosen.score >= best.score or free_steps >= _MOST_FREE_STEPS:
            chosen, free_steps = min(smaller, key=lambda one: one.score, default=None), 0
        else:
            free_steps += 1
        if chosen is None:
            break
        best = chosen
    return archive


def _fitted(children: Sequence[Genome], parent: Fitted | None, problem: FrontProblem) -> list[Fitted]:
    starts = [problem.start(child, parent) for child in children]
    return problem.fit(children, starts) if children else []


def _additions(best: Fitted | None, problem: FrontProblem) -> Iterator[Genome]:
    """Yield all genomes with one more amount or factor."""
    space = problem.space
    terms = {} if best is None else dict(best.genome.terms)
    powers = [] if best is None else list(best.genome.powers)
    for place in problem.supported.tolist():
        if place in terms:
            continue
        resource = space.amounts[place].resource
        alike = frozenset(other for other in terms if space.amounts[other].resource == resource)
        shared = [
            one._replace(amounts=one.amounts | {place}) if one.amounts & alike else one for one in powers
        ]
        for weight in (1 + max(terms.values(), default=0), BY_RULE):
            yield genome_of(terms | {place: weight}, powers, space)
            yield genome_of(terms | {place: weight}, shared, space)
    resources = {space.amounts[place].resource for place in terms}
    sets = [frozenset([place]) for place in terms]
    sets += [
        frozenset(place for place in terms if space.amounts[place].resource == name)
        for name in sorted(resources)
    ]
    for amounts in dict.fromkeys(sets):
        for factor in problem.usable:
            for is_free in (True, False):
                if is_free or fixed_exponent(space, factor) is not None:
                    yield genome_of(terms, [*powers, Power(factor, is_free, amounts)], space)


def _promising(best: Fitted, problem: FrontProblem, most: int) -> Iterator[Genome]:
    """Yield genomes with one of the additions that promise most, its constant fitted and by rule."""
    new = 1 + max(weight for _, weight in best.genome.terms)
    for addition in ranked(best, problem)[:most]:
        yield addition.added(best.genome, new, True, problem.space)
        if addition.factor is None or fixed_exponent(problem.space, addition.factor) is not None:
            yield addition.added(best.genome, BY_RULE, False, problem.space)


def _removals(genome: Genome, problem: FrontProblem) -> Iterator[Genome]:
    """Yield all genomes with one part less, or one constant less by a rule."""
    space, terms, powers = problem.space, dict(genome.terms), list(genome.powers)
    for place in terms:
        rest = {other: weight for other, weight in terms.items() if other != place}
        yield genome_of(rest, powers, space)
    for number, alike in enumerate(genome.weighted, 1):
        for other in (BY_RULE, *range(1, number)):
            yield genome_of(terms | dict.fromkeys(alike, other), powers, space)
    for i, power in enumerate(powers):
        yield genome_of(terms, powers[:i] + powers[i + 1 :], space)
        if power.is_free and fixed_exponent(space, power.factor) is not None:
            yield genome_of(terms, [*powers[:i], power._replace(is_free=False), *powers[i + 1 :]], space)
