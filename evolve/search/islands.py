"""One population and its generations, which change the island in place."""

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random

import numpy as np
from deap import base, tools
from numpy.typing import NDArray
from trainlaw.evolve.machine.moves import MOST_ATTEMPTS
from trainlaw.evolve.search.generation import generation, make_toolbox, survived
from trainlaw.evolve.search.individuals import BEHIND, Fitness, Forest, Individual, forest_of
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.selection import survival_limits
from trainlaw.evolve.search.sums import first_sums
from trainlaw.evolve.search.trees import (
    complexities,
    from_expression,
    prune,
    structure_keys,
)
from trainlaw.evolve.search.variation import random_tree, simpler_trees

# How often one structure may be fitted: other starting constants may lead to another minimum.
TRIES_PER_STRUCTURE = 2
# Levenberg-Marquardt steps for each new individual: after five 91 % of new formulas are within 1 % of their
# best loss (docs/regressor.md).
FIT_STEPS = 5
# Generations between two backward eliminations, which try simpler neighbours of archived individuals.
SIMPLIFY_INTERVAL = 10
# During the search, a fit ends with a step that gains less than this share of the loss: the formulas offered
# are fitted again, to the end.
SEARCH_GAIN = 1e-4
# Held-out losses are not computed from this multiple of the largest loss that survives on: a fit of few steps
# may still fall by about a fifth.
HELD_OUT_MARGIN = 1.25
# After this many children in succession without a new structure, three generations, the search
# space counts as exhausted.
MOST_BARREN = 1_000
# A loss below this share of the target's variance is rounding: relative errors of 1e-11 add up from those of
# float64, 1e-16, over the nodes of a formula.
ROUNDING = 1e-22
# An archived individual beats simpler ones only by this share of the loss: fits of the search end there.
LEAST_IMPROVEMENT = SEARCH_GAIN


@dataclass
class Island:
    """The state of one population, which `step` changes in place.

    archive : the best individual of each complexity, by score and by loss. tried : how often each structure
    was fitted. random : Python's generator, for variation. generator : numpy's, for selection. logbook : a
    record per generation. barren : children in succession without a new structure, counted by whole
    generations.
    """

    population: list[Individual]
    archive: dict[tuple[str, int], Individual]
    tried: dict[int, int]
    random: Random
    generator: np.random.Generator
    logbook: tools.Logbook = field(default_factory=tools.Logbook)
    evaluations: int = 0
    generation: int = 0
    barren: int = 0


def start_island(problem: Problem, number: int) -> Island:
    """Return the island before its first generation: seeds and random trees, fitted."""
    settings = problem.settings
    seed = settings.random_seed
    island = Island(
        [],
        {},
        {},
        Random(seed if number == 0 else f"{seed} {number}"),
        np.random.default_rng(seed if number == 0 else [seed, number]),
    )
    seeds = [from_expression(expression, problem.grammar) for expression in settings.seeds]
    # The others get them by migration, after they have looked elsewhere.
    sums = first_sums(problem) if number == 0 else []
    random = [_first_tree(problem, island.random) for _ in range(settings.population)]
    _admit(island, problem, [*seeds, *sums, *random])
    return island


def _first_tree(problem: Problem, random: Random) -> Individual:
    """Return a tree for the first generation; after too many retries it may violate a limit."""
    structure = problem.structure
    for _ in range(MOST_ATTEMPTS):
        if structure.template:
            tree = structure.filled(random)
        else:
            tree = random_tree(problem.grammar, problem.settings.node_limit, random)
        if structure.accepts(tree):
            break
    return tree


def advance(island: Island, problem: Problem, generations: int, seconds: float = math.inf) -> Island:
    """Advance the island in place by some generations, fewer if its share of the budget ends; return it."""
    end = time.monotonic() + seconds
    with problem.machine.until(end):
        for _ in range(generations):
            if is_spent(island, problem) or time.monotonic() >= end:
                break
            step(island, problem)
    return island


def is_spent(island: Island, problem: Problem) -> bool:
    """Return whether the island has used its share of the evaluations, finds nothing new, or is done.

    It is done once a formula leaves only rounding and its simpler neighbours were tried.
    """
    settings = problem.settings
    share = math.inf if settings.evaluations is None else settings.evaluations / problem.island_count
    if island.evaluations >= share or island.barren >= MOST_BARREN:
        return True
    if island.generation < 2 * SIMPLIFY_INTERVAL:
        return False
    return any(tree.loss < ROUNDING for tree in island.archive.values())


def step(island: Island, problem: Problem) -> None:
    """Advance the island in place by one generation, and at times try simpler neighbours of its best."""
    before, count = island.evaluations, problem.settings.population
    with _collector_paused():
        island.population = generation(island.population, _toolbox(island, problem), count)
        island.generation += 1
        if island.generation % SIMPLIFY_INTERVAL == 0:
            _admit(island, problem, _simpler_front(island, problem))
    island.barren = island.barren + count if island.evaluations == before else 0
    losses = [tree.loss for tree in island.population]
    island.logbook.record(
        gen=island.generation,
        nevals=island.evaluations - before,
        best=min(losses, default=math.inf),
        median=float(np.median(losses)) if losses else math.inf,
        size=len(losses),
    )


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause Python's garbage collector: trees have no cycles, and looking for them takes 5 % of the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _toolbox(island: Island, problem: Problem) -> base.Toolbox:
    evaluate = partial(_evaluate, island=island, problem=problem)
    return make_toolbox(problem, island.random, island.generator, evaluate)


def _admit(island: Island, problem: Problem, trees: Sequence[Individual]) -> None:
    """Evaluate trees, then select the survivors among them and the population, in place."""
    toolbox = _toolbox(island, problem)
    evaluated = toolbox.evaluate(forest_of(trees, problem.grammar))
    island.population = survived(island.population, evaluated, toolbox, problem.settings.population)


def _evaluate(forest: Forest, *, island: Island, problem: Problem) -> list[Individual]:
    """Return those of the trees with a new structure, fitted."""
    chosen = _select_new(island, problem, forest)
    if not chosen.amount:
        return []
    limits_of = _limits(island, problem)
    limits = limits_of(complexities(chosen)) if limits_of else None
    fitted = problem.fit_forest(chosen, FIT_STEPS, SEARCH_GAIN, held_out=problem.grouped, limits=limits)
    return receive(island, problem, fitted)


def _limits(island: Island, problem: Problem) -> Callable[[NDArray[np.int64]], NDArray[np.float64]] | None:
    """Return the function from complexities to the training losses from which on trees cannot survive.

    Without a group, the mean loss is hardly ever smaller than with it, so that such trees need no held-out
    losses; a margin is left for fits that have not converged. Without held-out losses, such trees are
    dropped. None where there is no such limit, as where the user selects.
    """
    if problem.toolbox is not None:
        return None
    limits = survival_limits(island.population, problem.settings.population)
    return (lambda costs: HELD_OUT_MARGIN * limits(costs)) if problem.grouped else limits


def _select_new(island: Island, problem: Problem, forest: Forest) -> Forest:
    """Return the trees with a structure that is worth a fit, and count the try."""
    new = []
    fits = (forest.per_tree(forest.holds) <= problem.settings.max_constants).tolist()
    for place, key in enumerate(structure_keys(forest).tolist()):
        tries = island.tried.get(key, 0)
        if tries < TRIES_PER_STRUCTURE and fits[place]:
            island.tried[key] = tries + 1
            new.append(place)
    return forest.of(np.array(new, np.int64))


def receive(island: Island, problem: Problem, fitted: list[Individual]) -> list[Individual]:
    """Return the fitted trees, pruned and scored, and archive the best."""
    island.evaluations += sum(tree.cases is not None or tree is BEHIND for tree in fitted)
    tidy = []
    for full in (tree for tree in fitted if tree.cases is not None):
        tree = prune(full, problem.grammar) if full.untidy else full
        tidy.append(tree if tree is full or problem.structure.accepts(tree) else full)
    costs = complexities(forest_of(tidy, problem.grammar)).tolist()
    for tree, cost in zip(tidy, costs, strict=True):
        held_out = float(np.mean(tree.cases)) if problem.grouped else tree.loss
        score = held_out if math.isfinite(held_out) else math.inf
        tree.fitness = Fitness(tree.loss, tree.cases, score, cost)
        for measure in ("score", "loss") if math.isfinite(tree.loss) else ():
            best = island.archive.get((measure, cost))
            if best is None or getattr(tree, measure) < getattr(best, measure):
                island.archive[measure, cost] = tree
    return tidy


def _simpler_front(island: Island, problem: Problem) -> list[Individual]:
    """Return simpler neighbours of archived individuals, at most as many as the population."""
    settings = problem.settings
    found = [
        simpler
        for tree in front_of(island.archive, "score")
        for simpler in simpler_trees(tree, problem.grammar)
        if problem.structure.accepts(simpler)
    ]
    if len(found) > settings.population:
        chosen = island.generator.choice(len(found), settings.population, replace=False)
        found = [found[i] for i in sorted(chosen.tolist())]
    return found


def front_of(archive: dict[tuple[str, int], Individual], measure: str) -> list[Individual]:
    """Return the archived individuals that beat all simpler ones by `measure`, "score" or "loss"."""
    best = math.inf
    front = []
    for place in sorted(place for place in archive if place[0] == measure):
        tree = archive[place]
        if getattr(tree, measure) < best * (1.0 - LEAST_IMPROVEMENT):
            best = getattr(tree, measure)
            front.append(tree)
    return front
