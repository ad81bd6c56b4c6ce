"""One population and its generations, which change the island in place."""

import gc
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.search.constraints import keeps_constraints
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.selection import epsilon_lexicase, survival_limits, survivors
from trainlaw.evolve.search.trees import (
    complexities,
    from_expression,
    held_constants,
    nodes_of,
    prune,
    structure_keys,
)
from trainlaw.evolve.search.variation import Individual, random_tree, simpler_trees, vary

# How often one structure may be fitted: other starting constants may lead to another minimum.
TRIES_PER_STRUCTURE = 2
# A generation's children are made and fitted in batches of these relative sizes, one being made while others
# are fitted. No fit runs while the first is made or the last is received, so these are small. Results do not
# depend on the batches.
BATCH_SIZES = (1, 2, 3, 2, 1)
# Maximum number of batches in flight while the next one is made.
MOST_WAITING = 1
# Without groups, the share of the parents that is drawn from all survivors.
SHARE_OF_ANYONE = 0.5
# During the search, a fit ends with a step that gains less than this share of the loss.
SEARCH_GAIN = 1e-4
# Held-out losses are not computed from this multiple of the largest loss that survives on.
HELD_OUT_MARGIN = 1.25
# After this many children in succession without a new structure the search space counts as exhausted.
MOST_BARREN = 1_000
# After this many generations without a better loss, an untyped search starts again and keeps what it found.
MOST_STALE = 40
# A loss is better by at least this share.
LEAST_PROGRESS = 0.02
# A loss below this share of the target's variance is rounding.
ROUNDING = 1e-22
# Retries for a child that violates the required structure.
MOST_ATTEMPTS = 8
# An archived individual beats simpler ones only by a smaller loss beyond rounding: by this share.
LEAST_IMPROVEMENT = 1e-4


@dataclass
class Island:
    """The state of one population, which `step` changes in place.

    archive : the best individual of each complexity, by score and by loss. tried : how often each structure
    was fitted. random : Python's generator, for variation. generator : numpy's, for selection.
    barren : children in succession without a new structure, counted by whole generations. best : least loss
    since the last restart. stale : generations since it fell. restarts : how often new trees replaced the
    population, or the archive joined it.
    """

    population: list[Individual]
    archive: dict[tuple[str, int], Individual]
    tried: dict[int, int]
    random: Random
    generator: np.random.Generator
    evaluations: int = 0
    generation: int = 0
    barren: int = 0
    best: float = math.inf
    stale: int = 0
    restarts: int = 0


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
    if settings.brackets:
        seeds += [problem.structure.whole(problem.grammar), problem.structure.least(problem.grammar)]
    if number == 0:
        seeds += _screened_trees(problem)
    first = [*seeds, *(_first_tree(problem, island.random) for _ in range(settings.population))]
    _admit(island, problem, iter([first]))
    return island


def _screened_trees(problem: Problem) -> list[Individual]:
    """Return the trees that screening found, of those that the settings allow."""
    found = (nodes_of(expression, problem.grammar.target, problem.grammar) for expression in problem.seeds)
    trees = [Individual(nodes) for nodes in found if nodes]
    return [tree for tree in trees if is_allowed(tree, problem)]


def _first_tree(problem: Problem, random: Random) -> Individual:
    """Return a tree for the first generation; after too many retries it may violate a limit."""
    structure = problem.structure
    for _ in range(MOST_ATTEMPTS):
        if structure.template:
            tree = structure.filled(problem.grammar, random)
        else:
            tree = random_tree(problem.grammar, problem.settings.node_limit, random)
        if structure.accepts(tree) and (not structure.brackets or _fits(tree, problem)):
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

    An untyped search is done once a formula leaves only rounding and its simpler neighbours were tried.
    """
    settings = problem.settings
    share = math.inf if settings.evaluations is None else settings.evaluations / settings.islands
    if island.evaluations >= share or island.barren >= MOST_BARREN:
        return True
    if settings.typed or problem.grouped or island.generation < 2 * settings.simplify_interval:
        return False
    return any(tree.loss < ROUNDING for tree in island.archive.values())


def step(island: Island, problem: Problem) -> None:
    """Advance the island in place by one generation: parents, children, fits, survivors."""
    before = island.evaluations
    with _collector_paused():
        picks = _parents(island, problem)
        _admit(island, problem, _children(island, problem, picks))
        island.generation += 1
        if island.generation % problem.settings.simplify_interval == 0:
            _admit(island, problem, iter([_simpler_front(island, problem)]))
    island.barren = island.barren + len(picks) // 2 if island.evaluations == before else 0
    if problem.affine and not problem.grouped:
        _restart_if_stale(island, problem)


def _restart_if_stale(island: Island, problem: Problem) -> None:
    """Begin with random trees again once the loss stagnates; once theirs does, too, add the archive to them.

    Newcomers compete among themselves first, and the archive keeps what was found. Source of the idea:
    Hornby, "ALPS: the age-layered population structure", 2006.
    """
    best = min((tree.loss for tree in island.population), default=math.inf)
    improved = best < (1.0 - LEAST_PROGRESS) * island.best
    island.stale = 0 if improved else island.stale + 1
    island.best = min(island.best, best)
    if island.stale < MOST_STALE:
        return
    island.stale, island.best = 0, math.inf
    island.restarts += 1
    if island.restarts % 2:
        island.population, island.tried = [], {}
        first = [_first_tree(problem, island.random) for _ in range(problem.settings.population)]
        _admit(island, problem, iter([first]))
    else:
        known = {id(tree): tree for tree in (*island.population, *island.archive.values())}
        island.population = survivors(list(known.values()), problem.settings.population)


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


def _parents(island: Island, problem: Problem) -> list[int]:
    """Return the indices of the parents of one generation, pair by pair.

    Groups as cases each select different parents. Cases of random rows all select the same ones, the largest
    trees; half of the parents are then drawn from all survivors.
    """
    count = 2 * problem.settings.population
    cases = np.array([individual.cases for individual in island.population])
    share = 0.0 if problem.grouped else SHARE_OF_ANYONE
    picks: list[int] = epsilon_lexicase(cases, count, island.generator, share).tolist()
    return picks


def _children(island: Island, problem: Problem, picks: list[int]) -> Iterator[list[Individual]]:
    """Yield the children of the selected parents, pair by pair, in batches."""
    parents, random = island.population, island.random
    pairs = list(zip(picks[::2], picks[1::2], strict=True))
    shares = np.cumsum([0, *BATCH_SIZES]) / sum(BATCH_SIZES)
    edges = (len(pairs) * shares).astype(int).tolist()
    for begin, end in pairwise(edges):
        yield [_child(parents[first], parents[second], problem, random) for first, second in pairs[begin:end]]


def _child(first: Individual, second: Individual, problem: Problem, random: Random) -> Individual:
    """Return a child within the required structure; after too many retries, a copy of the first parent."""
    child = vary(first, second, problem.grammar, problem.settings.node_limit, random)
    for _ in range(MOST_ATTEMPTS):
        if problem.structure.accepts(child):
            return child
        child = vary(first, second, problem.grammar, problem.settings.node_limit, random)
    return Individual(list(first))


def _admit(island: Island, problem: Problem, batches: Iterator[list[Individual]]) -> None:
    """Fit the new structures of each batch while the next is made; then select the survivors, in place."""
    settings = problem.settings
    held_out = settings.held_out_selection and problem.grouped
    pool = list(island.population)
    waiting: deque[Callable[[], list[Individual]]] = deque()
    for batch in batches:
        chosen = _select_new(island, problem, batch)
        if chosen:
            limits = _limits(island, problem, chosen) if held_out else None
            waiting.append(
                problem.start_fit(chosen, settings.fit_steps, SEARCH_GAIN, held_out=held_out, limits=limits)
            )
        if len(waiting) > MOST_WAITING:
            pool += receive(island, problem, waiting.popleft()(), held_out)
    for fitted in waiting:
        pool += receive(island, problem, fitted(), held_out)
    island.population = survivors(pool, settings.population) or pool[: settings.population]


def _limits(island: Island, problem: Problem, trees: list[Individual]) -> NDArray[np.float64]:
    """Return the training loss of each tree (n_trees,) from which on it cannot survive.

    Without a group, the mean loss is hardly ever smaller than with it, so that such trees need no held-out
    losses; a margin is left for fits that have not converged.
    """
    costs = complexities(trees, problem.affine)
    if problem.settings.held_out_measure != "mean":
        return np.full(costs.size, math.inf)
    return HELD_OUT_MARGIN * survival_limits(island.population, costs, problem.settings.population)


def _select_new(island: Island, problem: Problem, trees: list[Individual]) -> list[Individual]:
    """Return the trees with a structure that is worth a fit, and count the try."""
    if not trees:
        return []
    chosen = []
    for key, tree in zip(structure_keys(trees).tolist(), trees, strict=True):
        tries = island.tried.get(key, 0)
        if tries < TRIES_PER_STRUCTURE and _fits(tree, problem):
            island.tried[key] = tries + 1
            chosen.append(tree)
    return chosen


def is_allowed(tree: Individual, problem: Problem) -> bool:
    """Return whether the tree is small enough and has the required structure."""
    small = len(tree) <= problem.settings.node_limit and _fits(tree, problem)
    return small and problem.structure.accepts(tree)


def _fits(tree: Individual, problem: Problem) -> bool:
    """Return whether the tree has few enough constants, and each grouped one at most once."""
    # At most every second node is a leaf, and one more.
    if len(tree) // 2 + 1 <= problem.settings.max_constants and not problem.grammar.levels:
        return True
    held = held_constants(tree)
    if len(held) > problem.settings.max_constants:
        return False
    grouped = [node.name for node in held if isinstance(node.constant, tuple)]
    return len(grouped) == len(set(grouped))


def receive(island: Island, problem: Problem, fitted: list[Individual], held_out: bool) -> list[Individual]:
    """Return the fitted trees, pruned and scored, and archive the best."""
    # Those that were not reached in time have no cases.
    fitted = [tree for tree in fitted if tree.cases is not None]
    island.evaluations += len(fitted)
    tidy = []
    for full in fitted:
        tree = prune(full, problem.grammar) if full.untidy else full
        if tree is not full and not problem.structure.accepts(tree):
            tree = full
        # Pruning keeps the values, so that the losses need no new evaluation.
        tree.loss, tree.cases = full.loss, full.cases
        tidy.append(tree)
    costs = complexities(tidy, problem.affine).tolist()
    for tree, cost in zip(tidy, costs, strict=True):
        tree.complexity = cost
        tree.score = problem.joint_loss(tree.cases) if held_out else tree.loss
        _remember(island, tree, problem)
    return tidy


def _remember(island: Island, tree: Individual, problem: Problem) -> None:
    """Archive a tree that is the best of its complexity by score or by loss, if its constraints are proved.

    A proof is expensive, so it is tried only for these; a tree without one loses its rank.
    """
    if not math.isfinite(tree.loss):
        return
    places = [(measure, tree.complexity) for measure in ("score", "loss")]
    better = [
        place
        for place in places
        if place not in island.archive or getattr(tree, place[0]) < getattr(island.archive[place], place[0])
    ]
    if better and not keeps_constraints(tree, problem):
        tree.score = tree.loss = math.inf
        return
    for place in better:
        island.archive[place] = tree


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
