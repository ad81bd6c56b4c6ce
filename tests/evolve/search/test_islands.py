import gc
import math

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.individuals import Fitness, Individual, forest_of
from trainlaw.evolve.search.islands import (
    LEAST_IMPROVEMENT,
    MOST_BARREN,
    TRIES_PER_STRUCTURE,
    advance,
    front_of,
    is_spent,
    start_island,
    step,
)
from trainlaw.evolve.search.trees import complexities, from_expression, structure_keys, to_expression
from trainlaw.formulas import parse_text, to_text

from ...rows import each_row


def scored(loss, score=None):
    return Individual([], Fitness(loss, (), loss if score is None else score))


STEP = 1.0 - 0.6 * LEAST_IMPROVEMENT


@each_row(
    ("losses", "front"),
    [
        ([5.0, 4.0, 4.5, 1.0, 1.0], [5.0, 4.0, 1.0]),
        # A gain of exactly the limit is not enough; smaller ones add up against the last member.
        *(([1.0, 1.0 - gain * LEAST_IMPROVEMENT], [1.0]) for gain in (0.0, 0.5, 1.0)),
        ([1.0, 1.0 - 1.5 * LEAST_IMPROVEMENT], [1.0, 1.0 - 1.5 * LEAST_IMPROVEMENT]),
        ([1.0, STEP, STEP**2], [1.0, STEP**2]),
        ([1.0, 0.0, 0.0], [1.0, 0.0]),
        ([], []),
    ],
)
def test_the_front_falls_beyond_rounding(losses, front):
    archive = {("loss", number): scored(loss) for number, loss in enumerate(losses)}
    others = {("score", 0): scored(-1.0)}
    # From simple to complex, in whatever order they came.
    archive = dict(reversed(list(archive.items()))) | others
    assert [tree.loss for tree in front_of(archive, "loss")] == front


def test_a_step_changes_the_island_in_place(untyped_problem):
    island = start_island(untyped_problem, 0)
    before = island.population, island.random.getstate()
    assert advance(island, untyped_problem, 1) is island
    assert island.generation == 1
    assert island.evaluations > untyped_problem.settings.population // 2
    assert island.population is not before[0]
    assert island.random.getstate() != before[1]


def test_the_same_seed_is_the_same_island_and_another_number_is_not(typed_problem):
    first, again, other = (advance(start_island(typed_problem, n), typed_problem, 2) for n in (0, 0, 1))
    texts = [[to_text(to_expression(tree)) for tree in island.population] for island in (first, again, other)]
    assert texts[0] == texts[1] != texts[2]


def test_the_first_island_has_the_seeds(typed_with):
    seed = parse_text("2 * compute_s + memory_s")
    problem = typed_with(seeds=(seed,))
    key = structure_keys(forest_of([from_expression(seed, problem.grammar)], problem.grammar)).tolist()[0]
    assert start_island(problem, 0).tried[key] >= 1


def test_no_structure_is_fitted_more_often_than_allowed(typed_problem):
    island = advance(start_island(typed_problem, 0), typed_problem, 10)
    assert max(island.tried.values()) == TRIES_PER_STRUCTURE
    # Every fit is counted once, as an evaluation and as a try.
    assert sum(island.tried.values()) == island.evaluations


def test_the_archive_holds_the_best_of_each_complexity(typed_problem):
    island = advance(start_island(typed_problem, 0), typed_problem, 6)
    for (measure, complexity), tree in island.archive.items():
        known = complexities(forest_of([tree], typed_problem.grammar))[0]
        assert tree.complexity == complexity == known
        alike = [getattr(other, measure) for other in island.population if other.complexity == complexity]
        assert getattr(tree, measure) <= min(alike, default=math.inf)


def test_archived_losses_never_rise(typed_problem):
    island = start_island(typed_problem, 0)
    for _ in range(5):
        before = {place: getattr(tree, place[0]) for place, tree in island.archive.items()}
        step(island, typed_problem)
        assert all(getattr(island.archive[place], place[0]) <= loss for place, loss in before.items())


def test_the_population_has_at_most_its_size(typed_problem):
    island = advance(start_island(typed_problem, 0), typed_problem, 4)
    assert 4 <= len(island.population) <= typed_problem.settings.population


def test_trees_keep_within_the_limits_of_size(typed_with):
    problem = typed_with(max_nodes=9, max_constants=3)
    for tree in advance(start_island(problem, 0), problem, 6).population:
        assert len(tree) <= 9
        assert sum(node.constant is not None for node in tree) <= 3


def test_the_score_is_the_mean_of_the_held_out_losses_and_without_groups_the_loss(
    typed_problem, untyped_problem
):
    assert all(tree.score == tree.loss for tree in start_island(untyped_problem, 0).population)
    for tree in start_island(typed_problem, 0).population:
        assert tree.score == np.mean(tree.cases)
        assert tree.score != tree.loss


def test_children_that_cannot_survive_have_no_held_out_losses(typed_problem):
    island, seen = start_island(typed_problem, 0), []
    fit = typed_problem.machine.fit

    def watched(programs, rows, *, limits=None, **options):
        found = fit(programs, rows, limits=limits, **options)
        if limits is not None:
            plain = fit(programs, rows, **(options | {"held_out": False}))
            seen.append((limits, plain.losses, plain.cases.mean(axis=1), found.cases))
        return found

    typed_problem.machine.fit = watched
    advance(island, typed_problem, 6)
    limits, losses, means, cases = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    skipped = np.isfinite(losses) & (means >= limits)
    assert skipped.sum() > 10 and np.all(np.isinf(cases[skipped]))
    assert np.isfinite(cases[np.isfinite(losses) & ~skipped]).any(axis=1).mean() > 0.9


@each_row(
    ("settings", "count", "limit"),
    [
        # Its share of the evaluations; generations that found nothing new.
        ({"evaluations": 90, "islands": 3}, "evaluations", 30),
        ({"evaluations": None, "limit_seconds": 9.0}, "barren", MOST_BARREN),
    ],
)
def test_an_island_is_spent_at_its_limits(settings, count, limit, typed_with):
    problem = typed_with(**settings)
    island = start_island(problem, 0)
    for number in (limit - 1, limit):
        setattr(island, count, number)
        assert is_spent(island, problem) == (number == limit)
    assert advance(island, problem, 5).generation == 0


def test_a_generation_without_new_structures_is_barren(typed_problem):
    island = start_island(typed_problem, 0)

    class Everything(dict):
        def get(self, key, default):
            return TRIES_PER_STRUCTURE

    known, island.tried = island.tried, Everything()
    step(island, typed_problem)
    step(island, typed_problem)
    assert island.barren == 2 * typed_problem.settings.population
    island.tried = known
    step(island, typed_problem)
    assert island.barren == 0


def test_no_time_left_means_no_generation(typed_problem):
    assert advance(start_island(typed_problem, 0), typed_problem, 5, seconds=0.0).generation == 0


@pytest.mark.parametrize("running", [True, False])
def test_a_search_leaves_the_collector_of_cycles_as_it_was(typed_rows, specs, running):
    columns, y, groups = typed_rows
    estimator = FormulaRegressor(specs.features, specs.target, SearchSettings(evaluations=200, population=20))
    before = gc.isenabled()
    try:
        (gc.enable if running else gc.disable)()
        estimator.fit(columns, y, groups)
        assert gc.isenabled() is running
    finally:
        (gc.enable if before else gc.disable)()
