"""First formulas as sums of products of functions."""

from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.sums import first_sums
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec

FREE = SearchSettings(typed=False)


def problem_of(columns, y, settings=FREE):
    specs = [FeatureSpec(name, name, DIMENSIONLESS, "") for name in ("a", "b", "c", "y")]
    features = tuple(specs[: len(columns)])
    return make_problem(np.column_stack(columns), y, features, specs[-1], settings)


@pytest.fixture
def columns():
    a, b, c = np.random.default_rng(4).uniform(1.0, 4.0, (3, 200))
    return a, b, c


@pytest.mark.parametrize(
    "law",
    [
        lambda a, b, c: 2.5 * np.cos(2.0 * a) + b**2 / c,
        lambda a, b, c: b * np.exp(-0.4 * a) * np.cos(3.0 * a),
        lambda a, b, c: b * np.exp(-a / c),
        lambda a, b, c: 1.0 / (1.0 / a + 1.0 / b),
    ],
    ids=["wave and quotient", "damped wave", "in an exponential", "in a reciprocal"],
)
def test_laws_that_are_sums_of_products_are_found_at_once(law, columns):
    found = first_sums(problem_of(columns, law(*columns)))
    assert min(tree.loss for tree in found) < 1e-15


def test_they_begin_long_searches_without_units_only(columns, typed_problem):
    y = columns[0] * columns[1]
    for settings in (
        replace(FREE, evaluations=900),
        replace(FREE, operators=("add", "sub")),
        replace(FREE, loss="huber_log"),
        replace(FREE, nesting_limits=(("exp", "exp", 0),)),
    ):
        assert first_sums(problem_of(columns, y, settings)) == []
    assert first_sums(typed_problem) == []
    assert all(np.isfinite(tree.loss) for tree in first_sums(problem_of(columns[:1], y)))
