"""One population and its generations: state in, state out."""

import gc
import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from trainlaw.evolve.search.constraints import keeps_constraints
from trainlaw.evolve.search.problem import Problem, joint_loss
from trainlaw.evolve.search.selection import epsilon_lexicase, survivors
from trainlaw.evolve.search.simpler import simpler_trees
from trainlaw.evolve.search.trees import (
    complexities,
    from_expression,
    prune,
    structure_keys,
)
from trainlaw.evolve.search.variation import Individual, drawing_from, random_tree, vary

# How often one structure may be tried: its fit may end elsewhere from other starting constants.
TRIES_PER_STRUCTURE = 2
# A generation's children are fitted in so many batches: one is made while the last is fitted.
BATCHES = 4
# So many of them may be under way before the first is received.
MOST_WAITING = 2
# Without groups, so many of the parents are drawn from all who survived.
SHARE_OF_ANYONE = 0.5
# During the search a fit ends with a step that gains less than this share of the loss.
SEARCH_GAIN = 1e-4
# After so many generations without a new structure the search space counts as exhausted.
MOST_BARREN = 200
# A child that breaks the structure demanded is made anew at most so often.
MOST_ATTEMPTS = 8


@dataclass
class Island:
    """All that changes in one population during a search; `step` takes it one generation on.

    archive : the best individual of each complexity by score, and by loss. tried : how often each structure
    was fitted. random_state : of Python's generator, for the moves. generator : numpy's, for selection.
    barren : generations in a row that found no new structure.
    """

    population: list[Individual]
    archive: dict[tuple[str, int], Individual]
    tried: dict[int, int]
    random_state: Any
    generator: np.random.Generator
    evaluations: int = 0
    generation: int = 0
    barren: int = 0


def start_island(problem: Problem, number: int) -> Island:
    """The island before its first generation: seeds and random trees, fitted."""
    settings = problem.settings
    seed = settings.random_seed
    island = Island(
        [],
        {},
        {},
        random.Random(seed if number == 0 else f"{seed} {number}").getstate(),
        np.random.default_rng(seed if number == 0 else [seed, number]),
    )
    seeds = [from_expression(expression, problem.grammar) for expression in settings.seeds]
    with drawing_from(island.random_state) as current:
        newborn = [*seeds, *(_first_tree(problem) for _ in range(settings.population))]
        island.random_state = current()
    _admit(island, problem, iter([newborn]))
    return island


def _first_tree(problem: Problem) -> Individual:
    if problem.structure.template:
        return problem.structure.filled(problem.grammar)
    for _ in range(MOST_ATTEMPTS):
        tree = random_tree(problem.grammar, problem.settings.max_nodes)
        if problem.structure.accepts(tree):
            break
    return tree


def advance(island: Island, problem: Problem, generations: int, seconds: float = math.inf) -> Island:
    """The island some generations later; earlier where its share of the evaluations or the seconds end."""
    began = time.monotonic()
    for _ in range(generations):
        if is_spent(island, problem) or time.monotonic() - began >= seconds:
            break
        step(island, problem)
    return island


def is_spent(island: Island, problem: Problem) -> bool:
    """Whether the island has had its share of the evaluations, or finds nothing new."""
    settings = problem.settings
    share = math.inf if settings.evaluations is None else settings.evaluations / settings.islands
    return island.evaluations >= share or island.barren >= MOST_BARREN


def step(island: Island, problem: Problem) -> None:
    """One generation: parents, children, fit, survival."""
    before = island.evaluations
    with _collector_paused():
        picks = _parents(island, problem)
        with drawing_from(island.random_state) as current:
            _admit(island, problem, _children(island, problem, picks))
            island.random_state = current()
        island.generation += 1
        if island.generation % problem.settings.simplify_interval == 0:
            _admit(island, problem, iter([_simpler_front(island, problem)]))
    island.barren = island.barren + 1 if island.evaluations == before else 0


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Python's collector of reference cycles waits: trees have none, and looking for them costs a twentieth
    of a generation.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _parents(island: Island, problem: Problem) -> list[int]:
    """Places in the population of the parents of one generation, pair by pair.

    Groups are cases that each want their own parents. Where rows are only dealt into cases, all cases want
    the same ones, the largest: half of the parents are then anyone who survived.
    """
    count = 2 * problem.settings.population
    cases = np.array([individual.cases for individual in island.population])
    picks = epsilon_lexicase(cases, count, island.generator)
    if not problem.grouped:
        anyone = island.generator.integers(0, len(island.population), count)
        picks = np.where(island.generator.random(count) < SHARE_OF_ANYONE, anyone, picks)
    return picks.tolist()


def _children(island: Island, problem: Problem, picks: list[int]) -> Iterator[list[Individual]]:
    """The children of the parents picked, pair by pair, in batches."""
    parents = island.population
    pairs = list(zip(picks[::2], picks[1::2], strict=True))
    edges = np.linspace(0, len(pairs), BATCHES + 1).astype(int).tolist()
    for begin, end in pairwise(edges):
        yield [_child(parents[first], parents[second], problem) for first, second in pairs[begin:end]]


def _child(first: Individual, second: Individual, problem: Problem) -> Individual:
    child = vary(first, second, problem.grammar, problem.settings.max_nodes)
    if problem.structure.is_free:
        return child
    for _ in range(MOST_ATTEMPTS):
        if problem.structure.accepts(child):
            return child
        child = vary(first, second, problem.grammar, problem.settings.max_nodes)
    return Individual(list(first))


def _admit(island: Island, problem: Problem, batches: Iterator[list[Individual]]) -> None:
    """Fits the new structures among the newborn, batches while the next are made; then the pool competes."""
    settings = problem.settings
    held_out = settings.held_out_selection and problem.grouped
    pool = list(island.population)
    waiting: deque[Callable[[], list[Individual]]] = deque()
    for batch in batches:
        chosen = _select_new(island, problem, batch)
        if chosen:
            waiting.append(problem.start_fit(chosen, settings.fit_steps, SEARCH_GAIN, held_out=held_out))
        if len(waiting) > MOST_WAITING:
            pool += _received(island, problem, waiting.popleft()(), held_out)
    for fitted in waiting:
        pool += _received(island, problem, fitted(), held_out)
    island.population = survivors(pool, settings.population) or pool[: settings.population]


def _select_new(island: Island, problem: Problem, newborn: list[Individual]) -> list[Individual]:
    """The newborn with a structure that was not tried often and with few enough constants."""
    if not newborn:
        return []
    chosen = []
    for key, tree in zip(structure_keys(newborn).tolist(), newborn, strict=True):
        tries = island.tried.get(key, 0)
        if tries < TRIES_PER_STRUCTURE and _fits(tree, problem):
            island.tried[key] = tries + 1
            chosen.append(tree)
    return chosen


def _fits(tree: Individual, problem: Problem) -> bool:
    """Whether the tree has few enough constants, and each grouped one once."""
    held = [node for node in tree if node.constant is not None]
    if len(held) > problem.settings.max_constants:
        return False
    grouped = [node.name for node in held if isinstance(node.constant, tuple)]
    return len(grouped) == len(set(grouped))


def _received(island: Island, problem: Problem, fitted: list[Individual], held_out: bool) -> list[Individual]:
    """The fitted trees without what vanished, scored and remembered."""
    island.evaluations += len(fitted)
    tidy = []
    for full in fitted:
        tree = prune(full, problem.grammar) if full.untidy else full
        if tree is not full and not problem.structure.accepts(tree):
            tree = full
        tree.loss, tree.cases = full.loss, full.cases
        tidy.append(tree)
    costs = complexities(tidy, problem.affine).tolist()
    for tree, cost in zip(tidy, costs, strict=True):
        tree.complexity = cost
        tree.score = joint_loss(tree.cases, problem.settings.held_out_measure) if held_out else tree.loss
        _remember(island, tree, problem)
    return tidy


def _remember(island: Island, tree: Individual, problem: Problem) -> None:
    """Keeps the best of each complexity, once by score and once by loss; what breaks a constraint is lost."""
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
    """Simpler neighbours of archived individuals, about one population."""
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
    """Of the archive, the individuals that beat all simpler ones by "score" or "loss"."""
    best = math.inf
    front = []
    for place in sorted(place for place in archive if place[0] == measure):
        tree = archive[place]
        if getattr(tree, measure) < best * (1.0 - 1e-4):
            best = getattr(tree, measure)
            front.append(tree)
    return front
