from dataclasses import replace

import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.individuals import Fitness, Individual
from trainlaw.evolve.search.loop import migrate, report, run, start_state


def scored(score, complexity=1):
    return Individual([], Fitness(score, (), score, complexity))


def test_work_is_counted_over_all_islands(typed_with):
    state = start_state(typed_with(islands=3))
    assert state.evaluations == sum(island.evaluations for island in state.islands) > 60
    state.islands[1].generation = 7
    assert state.generation == 7


def test_the_front_joins_the_archives(typed_with):
    state = start_state(typed_with(islands=2))
    state.islands[0].archive = {("loss", 1): scored(3.0), ("loss", 5): scored(1.0)}
    state.islands[1].archive = {("loss", 1): scored(2.0), ("loss", 3): scored(2.5), ("loss", 7): scored(0.5)}
    assert [tree.loss for tree in state.front("loss")] == [2.0, 1.0, 0.5]
    assert state.front("score") == []


def test_the_best_visit_the_next_island_on_a_ring(typed_with):
    islands = start_state(typed_with(islands=3)).islands
    for number, island in enumerate(islands):
        island.population = [scored(10.0 * number + place) for place in range(40)]
    migrate(islands)
    visitors = [[tree.score for tree in island.population[40:]] for island in islands]
    # A twentieth of 40, from the island before; the first gets those of the last.
    assert visitors == [[20.0, 21.0], [0.0, 1.0], [10.0, 11.0]]


def test_small_islands_send_one(typed_with):
    islands = start_state(typed_with(islands=2)).islands
    for island in islands:
        island.population = [scored(2.0), scored(1.0)]
    migrate(islands)
    assert [len(island.population) for island in islands] == [3, 3]
    assert islands[0].population[2].score == 1.0


def test_a_budget_of_evaluations_is_spent_and_hardly_exceeded(typed_with):
    problem = typed_with(evaluations=300)
    state = run(start_state(problem), problem)
    assert 300 <= state.evaluations < 300 + 2 * problem.settings.population


def test_a_spent_state_stays_as_it_is(typed_with):
    problem = typed_with(evaluations=1)
    state = start_state(problem)
    assert run(state, problem) is state
    assert state.generation == 0


def test_seconds_end_a_search(typed_with):
    problem = typed_with(evaluations=None, limit_seconds=0.2)
    state = run(start_state(problem), problem)
    # Up to 40 % of the limit are kept for finishing.
    assert 0.12 <= state.seconds < 30.0


def test_progress_is_reported_after_every_generation(typed_with):
    problem = typed_with(evaluations=200)
    seen = []
    run(start_state(problem), problem, seen.append)
    assert [item.generation for item in seen] == list(range(1, len(seen) + 1))
    assert [item.best_loss for item in seen] == sorted((item.best_loss for item in seen), reverse=True)
    assert all(item.seconds_left >= 0.0 for item in seen)
    assert seen[-1].front_size > 1


def test_the_time_left_is_estimated_from_the_speed(typed_with):
    problem = typed_with(evaluations=1000)
    state = start_state(problem)
    state.seconds = 2.0
    for island in state.islands:
        island.evaluations = 250
    assert report(state, problem).seconds_left == pytest.approx(6.0)
    limited = replace(problem, settings=replace(problem.settings, limit_seconds=3.0))
    assert report(state, limited).seconds_left == pytest.approx(1.0)
    state.seconds = 4.0
    assert report(state, limited).seconds_left == 0.0


def test_interrupting_keeps_what_was_found(typed_rows, specs):
    columns, y, groups = typed_rows
    calls = []

    def interrupt(progress):
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    settings = SearchSettings(evaluations=10**9, population=40)
    estimator = FormulaRegressor(specs.features, specs.target, settings, progress=interrupt)
    estimator.fit(columns, y, groups)
    assert len(calls) == 3
    assert calls[0].seconds_left > 0.0
    assert len(estimator.front_) > 0
    assert estimator.interrupted_


def test_islands_exchange(typed_with, monkeypatch):
    monkeypatch.setattr("trainlaw.evolve.search.loop.MIGRATION_INTERVAL", 1)
    problem = typed_with(evaluations=300, islands=2)
    first, second = run(start_state(problem), problem).islands
    assert {id(tree) for tree in first.population} & {id(tree) for tree in second.population}
