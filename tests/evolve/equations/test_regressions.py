from itertools import combinations

import numpy as np
import pytest
from trainlaw.evolve.equations.regressions import PAIRS_AT_ONCE, best_subsets, coefficients

GENERATOR = np.random.default_rng(0)
TABLE = GENERATOR.standard_normal((12, 60))
ONES = np.ones((1, 60))


@pytest.mark.parametrize("count", [12, 2 * PAIRS_AT_ONCE + 3])
def test_compares_all_pairs(count):
    table, target = GENERATOR.standard_normal((count, 60)), GENERATOR.standard_normal(60)
    found = {chosen: left for chosen, left in best_subsets(table, target, ONES, 3, 2) if len(chosen) == 2}
    centred, left_of = target - target.mean(), table - table.mean(axis=1, keepdims=True)
    shares = {}
    for pair in combinations(range(count), 2):
        rows = left_of[list(pair)]
        along = rows @ centred
        shares[pair] = 1.0 - along @ np.linalg.solve(rows @ rows.T, along) / (centred @ centred)
    assert set(found) == set(sorted(shares, key=shares.get)[:3])
    for pair, left in found.items():
        np.testing.assert_allclose(left, shares[pair])


def test_finds_a_sum_of_four():
    target = 5.0 + TABLE[[1, 4, 7, 9]].T @ np.array([1.0, -2.0, 0.5, 3.0])
    best = best_subsets(TABLE, target, ONES, 1, 4)[-1]
    assert sorted(best[0]) == [1, 4, 7, 9]
    assert best[1] < 1e-14


def test_proportional_columns_are_no_pair():
    table = np.array([TABLE[0], 2.0 * TABLE[0]])
    assert all(len(chosen) == 1 for chosen, _ in best_subsets(table, TABLE[1], ONES, 5, 2))


def test_coefficients_of_columns_of_very_different_size():
    table = np.array([1e12 * TABLE[0], 1e-12 * TABLE[1]])
    found = coefficients(table, 3.0 * TABLE[0] + 2.0 * TABLE[1])
    np.testing.assert_allclose(found, [3e-12, 2e12], rtol=1e-10)
