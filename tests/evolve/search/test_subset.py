from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.evolve.search.subset import evolve_subsets

VALUES = np.random.default_rng(3).uniform(0, 1, 12)
COSTS = np.random.default_rng(4).uniform(0, 1, 12)


def worth(rows):
    """Neighbours are worth less together, so that the best set is not that of the best rows."""
    closeness = np.exp(-np.abs(np.subtract.outer(rows, rows)) / 2.0).sum()
    return float(VALUES[rows].sum() - 0.2 * closeness)


def both(rows):
    return worth(rows), -float(COSTS[rows].sum())


def dominates(first, second):
    return all(a >= b for a, b in zip(first, second, strict=True)) and first != second


def test_finds_the_best_of_all_sets():
    best = max(combinations(range(12), 4), key=lambda rows: worth(np.array(rows)))
    assert evolve_subsets(lambda rows: (worth(rows),), 12, 4)[0].rows == best


def test_finds_the_front_of_two_scores():
    scores = {rows: both(np.array(rows)) for rows in combinations(range(12), 2)}
    true = {
        rows for rows, own in scores.items() if not any(dominates(other, own) for other in scores.values())
    }
    found = evolve_subsets(both, 12, 2)
    assert {subset.rows for subset in found} == true
    assert [subset.scores for subset in found] == sorted((s.scores for s in found), reverse=True)


def test_the_best_first_score_of_a_start_is_never_lost():
    start = max(combinations(range(12), 6), key=lambda rows: worth(np.array(rows)))
    found = evolve_subsets(both, 12, 6, [start], generations=3, population=6)
    assert found[0].rows == start


def test_same_seed_same_sets():
    runs = [evolve_subsets(both, 12, 3, generations=5, random_seed=seed) for seed in (1, 1)]
    assert runs[0] == runs[1]


@given(size=st.integers(1, 12), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_sets_have_their_size_and_no_row_twice(size, seed):
    for subset in evolve_subsets(both, 12, size, population=8, generations=4, random_seed=seed):
        assert len(set(subset.rows)) == size
        assert list(subset.rows) == sorted(subset.rows)
        assert 0 <= subset.rows[0] and subset.rows[-1] < 12
        assert subset.scores == both(np.array(subset.rows))
