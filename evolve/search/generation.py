"""One generation of a search, as an algorithm of DEAP: operators in a toolbox, and a population."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import Any

import numpy as np
from deap import base
from trainlaw.evolve.machine.moves import CROSSOVER, MOST_ATTEMPTS
from trainlaw.evolve.search.individuals import Forest, Individual, forest_of
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.selection import parents, survivors
from trainlaw.evolve.search.variation import mate, mutate, vary
from trainlaw.formulas import InputError

OPERATORS = ("mate", "mutate", "select", "survive")
#: Makes the children of the pairs of parents from one place to another.
Offspring = Callable[[int, int], Forest]


def generation(population: Sequence[Individual], toolbox: base.Toolbox, count: int) -> list[Individual]:
    """Return the next population of at most `count` trees.

    As pseudo-code, with the operators of the toolbox::

        parents = select(population, 2 * count)
        offspring = [mate(a, b) or mutate(a) for each pair a, b of parents]
        evaluated = evaluate(offspring, count)    # fits the constants of new structures, in batches
        population = survive(population + evaluated, count)
    """
    chosen = toolbox.select(population, 2 * count)
    evaluated = toolbox.evaluate(toolbox.vary(chosen), count)
    return survived(population, evaluated, toolbox, count)


def survived(
    population: Sequence[Individual], evaluated: Sequence[Individual], toolbox: base.Toolbox, count: int
) -> list[Individual]:
    """Return who survives; where no formula is valid on every row, the first ones."""
    pool = [*population, *evaluated]
    return list(toolbox.survive(pool, count)) or pool[:count]


def offspring(chosen: Sequence[Individual], problem: Problem, random: Random) -> Offspring:
    """Return the function that makes the children of parents, pair by pair, with the search's operators."""
    # Few parents are chosen many times.
    identities = np.fromiter(map(id, chosen), np.int64, len(chosen))
    _, firsts, places = np.unique(identities, return_index=True, return_inverse=True)
    known, pairs = forest_of([chosen[i] for i in firsts.tolist()], problem.grammar), places.reshape(-1, 2)
    # Each child draws from a state that only its place determines, so that batches do not matter.
    seeds = np.random.default_rng(random.getrandbits(64)).integers(2**63, size=len(pairs)).astype(np.uint64)

    def make(begin: int, end: int) -> Forest:
        return vary(
            known,
            pairs[begin:end],
            seeds[begin:end],
            most_nodes=problem.settings.node_limit,
            demands=problem.structure.demands,
        )

    return make


def own_offspring(chosen: Sequence[Individual], toolbox: base.Toolbox, problem: Problem) -> Offspring:
    """Return the function that makes the children of parents with operators of the user, one by one."""
    pairs = zip(chosen[::2], chosen[1::2], strict=True)

    def make(begin: int, end: int) -> Forest:
        children = [_child(*pair, toolbox, problem) for pair in islice(pairs, end - begin)]
        return forest_of(children, problem.grammar)

    return make


def _child(first: Individual, second: Individual, toolbox: base.Toolbox, problem: Problem) -> Individual:
    """Return a child of two parents, or a copy of the first where no attempt gives one that is allowed."""
    for _ in range(MOST_ATTEMPTS):
        child = Individual(list(first))
        if len(first) > 1 and len(second) > 1 and toolbox.random.random() < CROSSOVER:
            child = toolbox.mate(child, Individual(list(second)))[0]
        else:
            (child,) = toolbox.mutate(child)
        if len(child) > problem.settings.node_limit:
            break
        if problem.structure.accepts(child):
            return Individual(list(child))
    return Individual(list(first))


def make_toolbox(
    problem: Problem,
    random: Random,
    generator: np.random.Generator,
    evaluate: Callable[[Offspring, int], list[Individual]],
) -> base.Toolbox:
    """Return the operators of one island: those of the user, and those of the search for the others."""
    toolbox = base.Toolbox()
    toolbox.random = random
    toolbox.register("mate", mate, grammar=problem.grammar, random=random)
    toolbox.register("mutate", mutate, grammar=problem.grammar, random=random)
    toolbox.register("select", parents, generator=generator, grouped=problem.grouped)
    toolbox.register("survive", survivors)
    toolbox.register("evaluate", evaluate)
    toolbox.register("vary", offspring, problem=problem, random=random)
    if hasattr(problem.toolbox, "mate") or hasattr(problem.toolbox, "mutate"):
        toolbox.register("vary", own_offspring, toolbox=toolbox, problem=problem)
    known = {"grammar": problem.grammar, "pset": problem.grammar.primitive_set, "random": random}
    for name in OPERATORS:
        operator = getattr(problem.toolbox, name, None)
        if operator is not None:
            wanted = _open_parameters(operator) & set(known)
            toolbox.register(name, operator, **{key: known[key] for key in wanted})
    return toolbox


def check_toolbox(toolbox: Any) -> None:
    """Raise InputError unless a user's toolbox has some of the operators that a search calls."""
    if toolbox is not None and not any(hasattr(toolbox, name) for name in OPERATORS):
        raise InputError(f"expected a toolbox with some of {', '.join(OPERATORS)} registered, got none")


def _open_parameters(operator: Callable[..., Any]) -> set[str]:
    """Return the parameters of an operator that its registration leaves open."""
    given = operator.keywords if isinstance(operator, partial) else {}
    try:
        return set(inspect.signature(operator).parameters) - set(given)
    except ValueError:
        return set()
