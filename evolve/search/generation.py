"""One generation of a search, as an algorithm of DEAP: operators in a toolbox, and a population."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np
from deap import base
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.selection import parents, survivors
from trainlaw.evolve.search.variation import Individual, mate, mutate
from trainlaw.formulas import InputError

# Probability that a child comes from two parents rather than from a mutation of one.
CROSSOVER = 0.4
# Retries for a child that violates the required structure.
MOST_ATTEMPTS = 8
OPERATORS = ("mate", "mutate", "select", "survive")


def generation(population: Sequence[Individual], toolbox: base.Toolbox, count: int) -> list[Individual]:
    """Return the next population of at most `count` trees.

    As pseudo-code, with the operators of the toolbox::

        parents = select(population, 2 * count)
        offspring = [mate(a, b) or mutate(a) for each pair a, b of parents]
        evaluated = evaluate(offspring, count)    # fits the constants of new structures, in batches
        population = survive(population + evaluated, count)
    """
    chosen = toolbox.select(population, 2 * count)
    pairs = zip(chosen[::2], chosen[1::2], strict=True)
    evaluated = toolbox.evaluate((vary(first, second, toolbox) for first, second in pairs), count)
    return survived(population, evaluated, toolbox, count)


def survived(
    population: Sequence[Individual], evaluated: Sequence[Individual], toolbox: base.Toolbox, count: int
) -> list[Individual]:
    """Return who survives; where no formula is valid on every row, the first ones."""
    pool = [*population, *evaluated]
    return list(toolbox.survive(pool, count)) or pool[:count]


def vary(first: Individual, second: Individual, toolbox: base.Toolbox) -> Individual:
    """Return a child of two parents, or a copy of the first where no attempt gives one that is allowed."""
    for attempt in range(1 + MOST_ATTEMPTS):
        child = Individual(list(first), affine=first.affine)
        if len(first) > 1 and len(second) > 1 and toolbox.random.random() < CROSSOVER:
            child = toolbox.mate(child, Individual(list(second)))[0]
        else:
            (child,) = toolbox.mutate(child)
        if len(child) > toolbox.max_nodes:
            child = Individual(list(first))
        # The last is drawn, but not taken: so the draws of searches that are stored stay as they were.
        if attempt < MOST_ATTEMPTS and toolbox.accepts(child):
            return child
    return Individual(list(first))


def make_toolbox(
    problem: Problem,
    random: Random,
    generator: np.random.Generator,
    evaluate: Callable[[Iterator[Individual], int], list[Individual]],
) -> base.Toolbox:
    """Return the operators of one island: those of the user, and the search's own for all others."""
    toolbox = base.Toolbox()
    toolbox.random, toolbox.max_nodes = random, problem.settings.node_limit
    toolbox.register("mate", mate, grammar=problem.grammar, random=random)
    toolbox.register("mutate", mutate, grammar=problem.grammar, random=random, targeting=problem.targeting)
    toolbox.register("select", parents, generator=generator, grouped=problem.grouped)
    toolbox.register("survive", survivors)
    toolbox.register("evaluate", evaluate)
    toolbox.register("accepts", problem.structure.accepts)
    known = {"grammar": problem.grammar, "pset": problem.grammar.primitive_set, "random": random}
    for name in OPERATORS:
        own = getattr(problem.toolbox, name, None)
        if own is not None:
            wanted = _open_parameters(own) & set(known)
            toolbox.register(name, own, **{key: known[key] for key in wanted})
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
