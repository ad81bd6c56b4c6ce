import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainlaw.app.conformal import coverage_percent, interval_factor


def groups_with_own_errors(generator, n_groups):
    """Each group has an error of its own, as GPUs do, and its own number of runs."""
    sizes = generator.integers(5, 60, n_groups)
    groups = np.repeat(np.arange(n_groups), sizes)
    offsets = generator.normal(0, 0.3, n_groups)
    return groups, np.exp(offsets[groups] + generator.normal(0, 0.1, len(groups)))


def test_interval_covers_new_groups_as_often_as_it_says():
    generator = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        groups, ratios = groups_with_own_errors(generator, 21)
        new = groups == 20
        factor = interval_factor(ratios[~new], np.ones((~new).sum()), groups[~new])
        covered.append(np.mean(np.abs(np.log(ratios[new])) <= np.log(factor)))
    assert 0.88 <= np.mean(covered) <= 0.97


def test_pooling_runs_instead_would_be_too_narrow():
    """Why groups count the same: one group with many good runs must not make the interval narrow."""
    measured = np.concatenate([np.ones(1000), np.full(19, 2.0)])
    groups = np.concatenate([np.zeros(1000, int), np.arange(1, 20)])
    assert interval_factor(measured, np.ones(1019), groups) == pytest.approx(2.0)


@pytest.mark.parametrize(("n_groups", "exists"), [(8, False), (9, True), (17, True)])
def test_too_few_groups_give_no_interval(n_groups, exists):
    ones = np.ones(n_groups)
    assert (interval_factor(ones, ones, np.arange(n_groups)) is not None) == exists


def test_undefined_predictions_make_no_interval_narrower():
    predicted = np.ones(20)
    predicted[:5] = np.nan
    assert interval_factor(np.ones(20), predicted, np.arange(20)) is None
    predicted[:5] = -1.0
    assert interval_factor(np.ones(20), predicted, np.arange(20)) is None


@settings(max_examples=30)
@given(st.floats(0.5, 20.0), st.integers(0, 1000))
def test_factor_does_not_depend_on_the_unit(scale, seed):
    groups, ratios = groups_with_own_errors(np.random.default_rng(seed), 20)
    plain = interval_factor(ratios, np.ones(len(ratios)), groups)
    assert interval_factor(ratios * scale, np.full(len(ratios), scale), groups) == pytest.approx(plain)


def test_coverage_is_measured_on_other_groups():
    groups, ratios = groups_with_own_errors(np.random.default_rng(3), 30)
    assert 80 <= coverage_percent(ratios, np.ones(len(ratios)), groups) <= 98
    assert np.isnan(coverage_percent(np.ones(3), np.ones(3), np.arange(3)))
