"""Designs of runs, compared with the exact results of a linear model."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.validate.design import Design, Representation, standardised_slopes

NOISE = 0.2


@pytest.fixture
def slopes():
    generator = np.random.default_rng(5)
    return generator.normal(size=(6, 3)), generator.normal(size=(40, 3))


@pytest.fixture
def design(slopes):
    return Design(*standardised_slopes(*slopes, np.array([NOISE, -NOISE]))[1:])


def posterior(measured, candidates, rows, prior=1.0):
    """Covariance of the constants after measuring, by the textbook."""
    seen = np.vstack([measured, candidates[rows]])
    return np.linalg.inv(seen.T @ seen / NOISE**2 + np.eye(3) / prior**2)


def test_deviations_are_those_of_the_posterior(design, slopes):
    covariance = posterior(*slopes, [])
    expected = np.sqrt(np.einsum("ij,jk,ik->i", slopes[1], covariance, slopes[1]))
    assert design.noise == pytest.approx(NOISE)
    assert design.deviations == pytest.approx(expected)


@given(rows=st.lists(st.integers(0, 39), max_size=6, unique=True))
@settings(max_examples=30, deadline=None)
def test_variance_removed_by_a_set(rows):
    generator = np.random.default_rng(5)
    slopes = generator.normal(size=(6, 3)), generator.normal(size=(40, 3))
    design = Design(*standardised_slopes(*slopes, np.array([NOISE]))[1:])
    before, after = posterior(*slopes, []), posterior(*slopes, rows)
    means = [np.einsum("ij,jk,ik->i", slopes[1], part, slopes[1]).mean() for part in (before, after)]
    assert design.variance_removed(rows) == pytest.approx(1 - means[1] / means[0], abs=1e-9)


def test_greedy_takes_the_best_each_time(design):
    chosen = design.greedy(4)
    for number in range(4):
        before = chosen[:number]
        others = [row for row in range(40) if row not in before]
        assert chosen[number] == max(others, key=lambda row: design.variance_removed([*before, row]))


def test_twice_the_same_row_is_not_as_good_as_two():
    """Batch diversity: the second of two equal candidates is worth less than one of another kind."""
    design = Design(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.9]]), NOISE)
    assert sorted(design.greedy(2)) == [0, 2]


def test_a_good_fit_is_not_trusted_beyond_repeats():
    assert standardised_slopes(np.ones((2, 1)), np.ones((2, 1)), np.zeros(2))[2] == 0.05


def test_a_certain_formula_has_no_variance_to_remove():
    assert Design(np.zeros((3, 2)), NOISE).variance_removed([1]) == 0.0


def nearest_mean(measured, candidates, rows):
    """Mean squared distance of candidates to the nearest measured run, pair by pair."""
    known = [*measured, *candidates[list(rows)]]
    return np.mean([min(np.sum((row - other) ** 2) for other in known) for row in candidates])


@given(rows=st.lists(st.integers(0, 14), max_size=5, unique=True))
@settings(max_examples=30, deadline=None)
def test_share_that_a_set_represents(rows):
    generator = np.random.default_rng(6)
    measured, candidates = generator.normal(size=(3, 2)), generator.normal(size=(15, 2))
    expected = 1 - nearest_mean(measured, candidates, rows) / nearest_mean(measured, candidates, [])
    assert Representation.of(measured, candidates).share(rows) == pytest.approx(expected, abs=1e-12)


def test_swaps_are_no_worse_than_greedy_and_no_better_than_the_best():
    generator = np.random.default_rng(7)
    found = Representation.of(generator.normal(size=(2, 2)), generator.normal(size=(14, 2)))
    greedy = found.greedy(4)
    swapped = found.exchanged(greedy)
    best = max(found.share(rows) for rows in combinations(range(14), 4))
    assert found.share(greedy) <= found.share(swapped) <= best + 1e-12
    assert found.share(swapped) > 0.97 * best
    assert len(set(swapped)) == 4


def test_many_candidates_are_represented_by_some_of_them():
    generator = np.random.default_rng(8)
    found = Representation.of(generator.normal(size=(2, 2)), generator.normal(size=(2500, 2)))
    assert found.distances.shape == (2500, 1000)
    assert found.nearest.shape == (1000,)


def test_measured_runs_represent_themselves():
    found = Representation.of(np.eye(2), np.eye(2))
    assert found.share([0]) == 0.0


def test_greedy_takes_the_best_candidate_first_and_each_once():
    generator = np.random.default_rng(9)
    found = Representation.of(generator.normal(size=(2, 2)), generator.normal(size=(12, 2)))
    shares = [found.share([row]) for row in range(12)]
    assert found.greedy(1) == [int(np.argmax(shares))]
    second = [found.share([*found.greedy(1), row]) for row in range(12)]
    assert found.greedy(2)[1] == int(np.argmax(second))
    assert sorted(found.greedy(20)) == list(range(12))
    assert found.greedy(0) == []
