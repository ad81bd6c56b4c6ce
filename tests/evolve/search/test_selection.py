import random

import numpy as np
import pytest
from deap import base, tools
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.evolve.search import selection
from trainlaw.evolve.search.individuals import Fitness, Individual
from trainlaw.evolve.search.selection import epsilon_lexicase, survival_limits, survivors


def individual(score, complexity):
    return Individual([], Fitness(score, (), score, complexity))


def points(trees):
    return sorted((tree.score, tree.complexity) for tree in trees)


def test_the_tolerance_is_the_median_absolute_deviation():
    # Median 2, deviations 2, 1, 1, 0 and 8, whose median is 1: whoever is within 1 of the best stays.
    cases = np.array([[0.0], [1.0], [3.0], [2.0], [10.0]])
    picks = epsilon_lexicase(cases, 500, np.random.default_rng(0))
    assert set(picks.tolist()) == {0, 1}


def test_losses_that_are_not_finite_are_the_worst():
    cases = np.array([[np.inf, np.nan], [1.0, 1.0], [np.inf, np.inf], [1.5, 1.0]])
    assert set(epsilon_lexicase(cases, 100, np.random.default_rng(0)).tolist()) <= {1, 3}


def test_parents_of_one_case_are_drawn_too():
    assert epsilon_lexicase(np.array([[2.0]]), 3, np.random.default_rng(0)).tolist() == [0, 0, 0]


def filtered(cases, tolerance, order, pick):
    """The survivor of one draw, filter by filter."""
    alive = np.arange(cases.shape[0])
    for case in order:
        values = cases[alive, case]
        alive = alive[values <= values.min() + tolerance[case]]
    return alive[min(int(pick * alive.size), alive.size - 1)]


def test_each_draw_is_filtered_case_by_case():
    generator = np.random.default_rng(1)
    cases, tolerance = generator.lognormal(size=(40, 6)), np.full(6, 0.3)
    orders, picks = generator.permuted(np.tile(np.arange(6), (60, 1)), axis=1), generator.random(60)
    columns = np.ascontiguousarray(cases.T)
    found, ranked = np.zeros(60, np.int64), np.argsort(columns, axis=1)
    alive = np.zeros(40, np.bool_)
    selection._filter_draws.py_func(columns, ranked, tolerance, orders, picks, alive, found)
    expected = [filtered(cases, tolerance, *draw) for draw in zip(orders, picks, strict=True)]
    assert found.tolist() == expected
    assert len(set(expected)) > 10


def test_a_share_of_the_parents_may_be_anyone():
    cases = np.array([[0.0], [0.0], [9.0], [9.0], [9.0]])
    picks = epsilon_lexicase(cases, 2000, np.random.default_rng(0), 0.5)
    assert 0.25 < np.mean(picks > 1) < 0.35
    assert set(epsilon_lexicase(cases, 200, np.random.default_rng(0)).tolist()) == {0, 1}


def test_the_same_generator_picks_the_same_parents():
    cases = np.random.default_rng(1).uniform(size=(30, 5))
    first, second = (epsilon_lexicase(cases, 40, np.random.default_rng(2)) for _ in range(2))
    assert np.array_equal(first, second)


def test_survivors_are_not_dominated_and_not_alike():
    pool = [individual(*point) for point in ((1.0, 1), (0.5, 3), (0.5, 3), (0.9, 5), (0.1, 9))]
    assert points(survivors(pool, 3)) == [(0.1, 9), (0.5, 3), (1.0, 1)]


def test_of_those_alike_the_first_survives():
    pool = [individual(0.5, 3), individual(0.5, 3), individual(0.5 * (1.0 + 1e-12), 3), individual(0.5, 4)]
    assert survivors(pool, 9) == [pool[0], pool[3]]


def test_individuals_without_a_finite_score_never_survive():
    pool = [individual(np.inf, 1), individual(1.0, 2), individual(np.nan, 3)]
    assert points(survivors(pool, 3)) == [(1.0, 2)]
    assert survivors(pool[:1], 3) == []


def test_the_ends_of_the_last_front_survive():
    pool = [individual(float(10 - i), i + 1) for i in range(9)]
    kept = points(survivors(pool, 3))
    assert (10.0, 1) in kept and (2.0, 9) in kept


@given(seed=st.integers(0, 999), count=st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_whole_fronts_survive_as_in_deap(seed, count):
    generator = np.random.default_rng(seed)
    scores = generator.permutation(40) + generator.uniform(0.1, 0.9, 40)
    costs = generator.integers(1, 12, 40)
    pool = [individual(score, int(cost)) for score, cost in zip(scores, costs, strict=True)]
    kept = {id(tree) for tree in survivors(pool, count)}
    assert len(kept) == count

    class Fitness(base.Fitness):
        weights = (-1.0, -1.0)

    for tree in pool:
        tree.fitness = Fitness((tree.score, tree.complexity))
    for front in tools.sortNondominated(pool, len(pool)):
        inside = [id(tree) in kept for tree in front]
        if not all(inside):
            # Of the first front that does not fit whole, some survive; of later ones, none.
            assert sum(inside) == len(kept)
            break
        kept -= {id(tree) for tree in front}


@pytest.mark.parametrize("count", [3, 5])
def test_the_order_of_the_pool_is_kept(count):
    pool = [individual(float(score), score % 7 + 1) for score in random.Random(3).sample(range(50), 20)]
    places = [pool.index(tree) for tree in survivors(pool, count)]
    assert places == sorted(places)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 8)), min_size=12, max_size=40, unique=True))
def test_a_child_beyond_its_limit_does_not_survive_next_to_the_population(values):
    population = survivors([individual(float(score), cost) for score, cost in values], 10)
    limits = survival_limits(population, 10)(np.arange(0, 10))
    assert np.all(limits[1:] <= limits[:-1])
    for cost, limit in enumerate(limits.tolist()):
        if np.isfinite(limit):
            child = individual(limit + 0.5, cost)
            assert all(child is not tree for tree in survivors([*population, child], 10))


def test_anyone_survives_in_a_population_that_is_not_full():
    population = [individual(1.0, 1), individual(0.5, 2)]
    assert survival_limits(population, 3)(np.array([1, 5])).tolist() == [np.inf, np.inf]
    assert survival_limits(population, 2)(np.array([0, 1, 5])).tolist() == [np.inf, 1.0, 0.5]
