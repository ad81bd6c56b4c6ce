"""The interval of a median has the coverage that it claims, and the rule stops when it should."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets.profiler.repeats import StoppingRule, is_settled, median_interval, relative_interval


@pytest.mark.parametrize("count", range(6, 300))
def test_interval_covers_the_median_with_at_least_95_percent(count):
    low, high = median_interval(range(1, count + 1))
    inside = sum(math.comb(count, k) for k in range(low, high)) / 2**count
    # The normal distribution stands for the binomial one, so a half per cent may be missing.
    assert 0.945 <= inside <= 1.0
    assert low + high == count + 1


def test_interval_of_random_times_holds_the_true_median():
    generator = random.Random(7)
    hits = 0
    for _ in range(2000):
        low, high = median_interval([generator.expovariate(1.0) for _ in range(25)])
        hits += low <= math.log(2) <= high
    assert 0.93 <= hits / 2000 <= 0.99


def test_fewer_than_six_times_have_no_interval():
    assert relative_interval([1.0] * 5) == math.inf
    assert relative_interval([]) == math.inf


@given(st.lists(st.floats(0.001, 1000), min_size=6, max_size=60))
def test_interval_lies_within_the_times(times):
    low, high = median_interval(times)
    assert min(times) <= low <= high <= max(times)


def test_warm_up_ends_when_times_settle():
    rule = StoppingRule(limit_seconds=100)
    falling = [5.0, 3.0, 2.0, 1.5, 1.2, 1.0]
    assert not rule.is_warm(falling, 1.0)
    assert rule.is_warm([*falling, 1.0, 1.0, 1.0, 1.01, 1.0, 1.0], 1.0)
    assert not is_settled(falling)


def test_warm_up_ends_at_its_share_of_the_limit():
    rule = StoppingRule(limit_seconds=10, warm_up_share=0.3)
    assert not rule.is_warm([9.0], 9.0)
    assert not rule.is_warm([5.0, 1.0], 2.9)
    assert rule.is_warm([5.0, 1.0], 3.0)
    assert rule.is_warm([float(k % 7) for k in range(50)], 0.1)


def test_repeats_end_when_the_interval_is_narrow_enough():
    rule = StoppingRule(interval=0.02, limit_seconds=10)
    assert rule.is_enough([1.0] * 6, 0.1)
    assert not rule.is_enough([1.0, 1.1] * 10, 0.1)
    assert not rule.is_enough([1.0] * 2, 99.0)
    assert rule.is_enough([1.0, 2.0, 3.0], 10.0)
    assert rule.is_enough([1.0, 2.0] * 500, 0.1)
