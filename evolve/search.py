"""The search itself: state in, state out, one generation at a time."""

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from trainlaw.evolve.problem import Problem, case_mean
from trainlaw.evolve.selection import epsilon_lexicase, survivors
from trainlaw.evolve.simpler import simpler_trees
from trainlaw.evolve.trees import complexities, encode, from_expression, prune, structure_keys
from trainlaw.evolve.variation import Individual, drawing_from, random_tree, vary

# How often one structure may be tried: its fit may end elsewhere from other starting constants.
TRIES_PER_STRUCTURE = 2


@dataclass(frozen=True)
class Progress:
    """What a progress callback is told: work done, seconds spent and left (estimated), best loss, front
    size.
    """

    evaluations: int
    generation: int
    seconds: float
    seconds_left: float
    best_loss: float
    front_size: int


@dataclass
class SearchState:
    """All that changes during a search; `step` takes one and gives the next.

    islands : one population each. archive : the best individual of each complexity by score, and by loss.
    tried : how often each structure was fitted. random_state : of Python's generator, for DEAP and the moves.
    generator : numpy's, for selection.
    """

    islands: list[list[Individual]]
    archive: dict[tuple[str, int], Individual]
    tried: dict[int, int]
    random_state: Any
    generator: np.random.Generator
    evaluations: int = 0
    generation: int = 0
    seconds: float = 0.0


def start_state(problem: Problem) -> SearchState:
    """The state before the first generation: seeds and random trees, fitted."""
    settings = problem.settings
    seeded = random.Random(settings.random_seed)
    state = SearchState(
        [[] for _ in range(settings.islands)],
        {},
        {},
        seeded.getstate(),
        np.random.default_rng(settings.random_seed),
    )
    seeds = [from_expression(seed, problem.grammar) for seed in settings.seeds]
    with drawing_from(state.random_state) as current:
        newborn = [
            [*seeds, *(random_tree(problem.grammar, settings.max_nodes) for _ in range(settings.population))]
            for _ in range(settings.islands)
        ]
        state.random_state = current()
    _admit(state, problem, newborn)
    return state


def step(state: SearchState, problem: Problem) -> SearchState:
    """One generation of every island: parents, children, fit, survival; migration at its interval."""
    settings = problem.settings
    newborn = []
    for population in state.islands:
        cases = np.array([individual.cases for individual in population])
        picks = epsilon_lexicase(cases, 2 * settings.population, state.generator).tolist()
        with drawing_from(state.random_state) as current:
            newborn.append(
                [
                    vary(population[first], population[second], problem.grammar, settings.max_nodes)
                    for first, second in zip(picks[::2], picks[1::2], strict=True)
                ]
            )
            state.random_state = current()
    _admit(state, problem, newborn)
    state.generation += 1
    if state.generation % settings.simplify_interval == 0:
        _admit(state, problem, _simpler_front(state, problem))
    if settings.islands > 1 and state.generation % settings.migration_interval == 0:
        _migrate(state)
    return state


def _admit(state: SearchState, problem: Problem, newborn: list[list[Individual]]) -> None:
    """Fits the new structures among the newborn and lets each island's pool compete."""
    chosen, homes = _select_new(state, problem, newborn)
    if not chosen:
        return
    settings = problem.settings
    held_out = settings.held_out_selection and problem.grouped
    fitted, _ = problem.fit(chosen, settings.fit_steps, held_out=held_out)
    state.evaluations += len(fitted)
    tidy = [prune(tree) for tree in fitted]
    for tree, full in zip(tidy, fitted, strict=True):
        tree.loss, tree.cases = full.loss, full.cases
    programs = encode(tidy, problem.affine)
    for tree, cost in zip(tidy, complexities(programs).tolist(), strict=True):
        tree.complexity = cost
        tree.score = case_mean(tree.cases) if held_out else tree.loss
        tree.fitness.values = (tree.score, cost)
        _remember(state, tree)
    for number, population in enumerate(state.islands):
        pool = population + [tree for tree, home in zip(tidy, homes, strict=True) if home == number]
        state.islands[number] = survivors(pool, settings.population) or pool[: settings.population]


def _select_new(
    state: SearchState, problem: Problem, newborn: list[list[Individual]]
) -> tuple[list[Individual], list[int]]:
    """The newborn with a structure that was not tried often, few enough constants, and their islands."""
    flat = [(tree, home) for home, trees in enumerate(newborn) for tree in trees]
    keys = structure_keys(encode([tree for tree, _ in flat], affine=False)).tolist()
    chosen, homes = [], []
    for key, (tree, home) in zip(keys, flat, strict=True):
        tries = state.tried.get(key, 0)
        held = sum(node.constant is not None for node in tree)
        if tries < TRIES_PER_STRUCTURE and held <= problem.settings.max_constants:
            state.tried[key] = tries + 1
            chosen.append(tree)
            homes.append(home)
    return chosen, homes


def _simpler_front(state: SearchState, problem: Problem) -> list[list[Individual]]:
    """Simpler neighbours of archived individuals, about one population, dealt to the islands in turn."""
    settings = problem.settings
    homes: list[list[Individual]] = [[] for _ in state.islands]
    found = [simpler for tree in front_of(state, "score") for simpler in simpler_trees(tree, problem.grammar)]
    if len(found) > settings.population:
        chosen = state.generator.choice(len(found), settings.population, replace=False)
        found = [found[i] for i in sorted(chosen.tolist())]
    for position, tree in enumerate(found):
        homes[position % len(homes)].append(tree)
    return homes


def front_of(state: SearchState, measure: str) -> list[Individual]:
    """Of the archive, the individuals that beat all simpler ones by "score" or "loss"."""
    best = math.inf
    front = []
    for place in sorted(place for place in state.archive if place[0] == measure):
        tree = state.archive[place]
        if getattr(tree, measure) < best * (1.0 - 1e-4):
            best = getattr(tree, measure)
            front.append(tree)
    return front


def _remember(state: SearchState, tree: Individual) -> None:
    """Keeps the best of each complexity, once by score and once by loss."""
    if not math.isfinite(tree.loss):
        return
    for measure in ("score", "loss"):
        place = (measure, tree.complexity)
        best = state.archive.get(place)
        if best is None or getattr(tree, measure) < getattr(best, measure):
            state.archive[place] = tree


def _migrate(state: SearchState) -> None:
    """The best of each island's front visit the next island on a ring."""
    visitors = [
        sorted(population, key=lambda tree: tree.score)[: max(1, len(population) // 20)]
        for population in state.islands
    ]
    for number, population in enumerate(state.islands):
        population.extend(visitors[number - 1])


def run(
    state: SearchState,
    problem: Problem,
    on_progress: Callable[[Progress], None] | None = None,
    save: Callable[[SearchState], None] | None = None,
) -> SearchState:
    """Generations until the budget is spent or the user interrupts; returns the state it ends with.

    `save` is called between generations every `checkpoint_seconds` and at the end.
    """
    settings = problem.settings
    began = time.monotonic() - state.seconds
    saved = time.monotonic()
    try:
        while not _is_spent(state, problem):
            before = state.evaluations
            state = step(state, problem)
            state.seconds = time.monotonic() - began
            if on_progress is not None:
                on_progress(report(state, problem))
            if save is not None and time.monotonic() - saved > settings.checkpoint_seconds:
                save(state)
                saved = time.monotonic()
            if state.evaluations == before and state.generation > 10_000:
                break
    except KeyboardInterrupt:
        return state
    if save is not None:
        save(state)
    return state


def _is_spent(state: SearchState, problem: Problem) -> bool:
    settings = problem.settings
    over = settings.evaluations is not None and state.evaluations >= settings.evaluations
    late = settings.limit_seconds is not None and state.seconds >= settings.limit_seconds
    return over or late


def report(state: SearchState, problem: Problem) -> Progress:
    """Progress of a state, the time left estimated from the speed so far."""
    settings = problem.settings
    left = math.inf
    if settings.evaluations is not None and state.evaluations:
        left = state.seconds * (settings.evaluations / state.evaluations - 1.0)
    if settings.limit_seconds is not None:
        left = min(left, settings.limit_seconds - state.seconds)
    losses = [tree.loss for tree in state.archive.values()]
    sizes = {complexity for _, complexity in state.archive}
    return Progress(
        state.evaluations,
        state.generation,
        state.seconds,
        max(left, 0.0),
        min(losses, default=math.inf),
        len(sizes),
    )
