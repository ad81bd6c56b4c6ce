"""One generation of a search, as an algorithm of DEAP: operators in a toolbox, and a population."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np
from deap import base
from numpy.typing import NDArray
from trainlaw.evolve.machine.moves import CROSSOVER, MOST_ATTEMPTS
from trainlaw.evolve.search.individuals import Forest, Individual, forest_of
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.selection import parents, survivors
from trainlaw.evolve.search.variation import mate, mutate, vary
from trainlaw.formulas import InputError

OPERATORS = ("mate", "mutate", "select", "survive")


def generation(population: Sequence[Individual], toolbox: base.Toolbox, count: int) -> list[Individual]:
    """Return the next population of at most `count` trees.

    As pseudo-code, with the operators of the toolbox::

        parents = select(population, 2 * count)
        offspring = [mate(a, b) or mutate(a) for each pair a, b of parents]
        evaluated = evaluate(offspring)    # fits the constants of new structures
        population = survive(population + evaluated, count)
    """
    chosen = toolbox.select(population, 2 * count)
    evaluated = toolbox.evaluate(toolbox.vary(chosen))
    return survived(population, evaluated, toolbox, count)


def survived(
    population: Sequence[Individual], evaluated: Sequence[Individual], toolbox: base.Toolbox, count: int
) -> list[Individual]:
    """Return who survives; where no formula is valid on every row, the first ones."""
    pool = [*population, *evaluated]
    return list(toolbox.survive(pool, count)) or pool[:count]


def offspring(chosen: Sequence[Individual], problem: Problem, random: Random) -> Forest:
    """Return the children of parents, pair by pair, by the search's operators.

    A child without the required structure is made again; where no attempt gives one, it is its first parent.
    """
    # Few parents are chosen many times.
    identities = np.fromiter(map(id, chosen), np.int64, len(chosen))
    _, firsts, places = np.unique(identities, return_index=True, return_inverse=True)
    known, pairs = forest_of([chosen[i] for i in firsts.tolist()], problem.grammar), places.reshape(-1, 2)
    limit = problem.settings.node_limit
    if not problem.structure.demands_any:
        return vary(known, pairs, _seeds(random, len(pairs)), most_nodes=limit)
    children, waiting = known.of(pairs[:, 0]).trees(), np.arange(len(pairs))
    for _ in range(MOST_ATTEMPTS):
        made = vary(known, pairs[waiting], _seeds(random, waiting.size), most_nodes=limit).trees()
        accepted = [problem.structure.accepts(child) for child in made]
        for place, child, is_accepted in zip(waiting.tolist(), made, accepted, strict=True):
            children[place] = child if is_accepted else children[place]
        waiting = waiting[~np.array(accepted, np.bool_)]
    return forest_of(children, problem.grammar)


def _seeds(random: Random, count: int) -> NDArray[np.uint64]:
    """Return a state of the random numbers of each child."""
    return np.random.default_rng(random.getrandbits(64)).integers(2**63, size=count).astype(np.uint64)


def own_offspring(chosen: Sequence[Individual], toolbox: base.Toolbox, problem: Problem) -> Forest:
    """Return the children of parents, pair by pair, by operators of the user."""
    pairs = zip(chosen[::2], chosen[1::2], strict=True)
    return forest_of([_child(*pair, toolbox, problem) for pair in pairs], problem.grammar)


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
    evaluate: Callable[[Forest], list[Individual]],
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
