import math

import numpy as np
import pytest
from trainlaw.validate.bootstrap import bootstrap_interval, drawn_rows, mean_interval, pair_interval


def test_groups_are_drawn_whole():
    groups = ["a", "b", "b", "c", "c", "c"]
    sizes = {"a": 1, "b": 2, "c": 3}
    for rows in drawn_rows(groups, 50, seed=1):
        counts = {name: np.sum(np.array(groups)[rows] == name) for name in sizes}
        assert all(counts[name] % sizes[name] == 0 for name in sizes)
        assert sum(counts[name] // sizes[name] for name in sizes) == 3


def test_interval_of_a_mean_has_the_width_of_the_normal_theory():
    values = np.random.default_rng(0).normal(5.0, 2.0, 400)
    _, low, high = mean_interval(values, level=0.9, resamples=2000)
    assert high - low == pytest.approx(2 * 1.645 * values.std() / 20, rel=0.1)


def test_same_seed_same_interval():
    values = np.random.default_rng(0).normal(size=20)
    intervals = [mean_interval(values, seed=seed) for seed in (1, 1, 2)]
    assert intervals[0] == intervals[1] != intervals[2]


def test_one_group_has_no_interval():
    assert all(math.isnan(bound) for bound in bootstrap_interval(np.sum, ["a", "a"]))


def test_a_pair_of_groups_counts_as_often_as_both_were_drawn():
    value, low, high = pair_interval([("a", "b"), ("a", "c"), ("b", "c")], [1.0, 0.0, 0.0])
    assert value == pytest.approx(1 / 3)
    # Drawing a twice and b once leaves only the first pair; a and c, or b and c, leave none of it.
    assert (low, high) == (0.0, 1.0)
    assert all(math.isnan(bound) for bound in pair_interval([], []))


def test_two_groups_have_an_interval():
    values = np.array([1.0, 3.0])
    assert bootstrap_interval(lambda rows: values[rows].mean(), ["a", "b"]) == (1.0, 3.0)
