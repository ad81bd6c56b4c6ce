"""Refine the best formulas of a search: every neighbour is tried until none is better.

Formulas are compared by the length of their code. A search draws its changes at random and may miss one of
the few that improve a good formula; here all of them are tried, from a handful of formulas.
"""

import math
from collections.abc import Iterable

from trainlaw.evolve.search.description import code_length
from trainlaw.evolve.search.individuals import Individual, forest_of
from trainlaw.evolve.search.islands import is_allowed, receive
from trainlaw.evolve.search.loop import REFINED_SHARE, SearchState, refines
from trainlaw.evolve.search.neighbours import neighbours
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.trees import structure_keys

# Formulas whose neighbours are tried in one round, and rounds.
WIDTH, MOST_ROUNDS = 16, 30
# Steps of a neighbour's fit, which begins with the constants of the formula itself.
NEIGHBOUR_STEPS = 10


def refine(state: SearchState, problem: Problem) -> list[Individual]:
    """Return the trees with the shortest codes, from those of `state` to where no neighbour is shorter.

    A round fits all neighbours of the shortest; the first island archives them. Where the rule of choice is
    another, nothing is tried and nothing is returned. An interrupt ends the rounds.
    """
    if not refines(problem):
        return []
    island = state.islands[0]
    held_out = problem.settings.held_out_selection and problem.grouped
    left = int(REFINED_SHARE * state.evaluations)
    archived = [tree for each in state.islands for tree in each.archive.values()]
    best = _shortest(archived, problem)
    seen = set(structure_keys(forest_of(best, problem.grammar)).tolist())
    known: set[int] = set()
    for _ in range(MOST_ROUNDS):
        children = _unseen((tree for tree in best if id(tree) not in known), seen, problem)[:left]
        known |= {id(tree) for tree in best}
        if not children or problem.machine.fits_end:
            break
        left -= len(children)
        try:
            fitted = problem.fit(children, NEIGHBOUR_STEPS, start=False)
        except KeyboardInterrupt:
            # What was found so far is a valid result.
            break
        best = _shortest([*best, *receive(island, problem, fitted, held_out)], problem)
    return best


def tree_length(tree: Individual, problem: Problem) -> float:
    """Return the length of a fitted tree's code, in nats, by its training loss."""
    names = sum(node.feature is not None for node in tree)
    numbers = [node.constant for node in tree if node.constant is not None]
    return code_length([tree.loss], tree.complexity, names, numbers, problem)


def _shortest(trees: Iterable[Individual], problem: Problem) -> list[Individual]:
    """Return the trees with the shortest codes, each of another complexity, so that they differ."""
    found: dict[int, tuple[float, Individual]] = {}
    for tree in trees:
        if math.isfinite(tree.loss) and problem.has_required(tree):
            length = tree_length(tree, problem)
            if tree.complexity not in found or length < found[tree.complexity][0]:
                found[tree.complexity] = length, tree
    return [tree for _, tree in sorted(found.values(), key=lambda pair: pair[0])[:WIDTH]]


def _unseen(trees: Iterable[Individual], seen: set[int], problem: Problem) -> list[Individual]:
    """Return the neighbours of new structures that the settings allow, and add the structures to `seen`."""
    found = [child for tree in trees for child in neighbours(tree, problem.grammar)]
    keys = structure_keys(forest_of(found, problem.grammar))
    chosen = []
    for key, tree in zip(keys.tolist(), found, strict=True):
        if key not in seen and is_allowed(tree, problem):
            seen.add(key)
            chosen.append(tree)
    return chosen
