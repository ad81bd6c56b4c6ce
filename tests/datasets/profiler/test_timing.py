"""A known delay is found where it is; a clock that does not wait for the device is refused."""

import math
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets.profiler.timing import (
    Clock,
    ClockError,
    EventClock,
    StoppingRule,
    is_settled,
    median_interval,
    relative_interval,
    time_iterations,
)

from ...rows import each_row
from .conftest import FakeStep

RULE = StoppingRule(limit_seconds=5.0)
DELAY_S = 0.020


def waiting(device):
    return Clock(device.synchronize, device.now)


def events(device):
    return EventClock(device.new_event, device.synchronize)


def planted(device):
    """A clock that reads the host's time without waiting: what must not pass."""
    return Clock(lambda: None, device.now)


@pytest.mark.parametrize("device_clock", [waiting, events])
@pytest.mark.parametrize("phase", ["forward_s", "backward_s", "update_s"])
def test_a_known_delay_is_found_in_its_phase_and_in_the_total(device, device_clock, phase):
    plain = time_iterations(FakeStep(device), device_clock(device), RULE, now=device.now)
    step = FakeStep(device)
    setattr(step, phase, getattr(step, phase) + DELAY_S)
    slow = time_iterations(step, device_clock(device), RULE, now=device.now)
    for name in ("forward_s", "backward_s", "update_s", "total_s"):
        found = median(getattr(slow, name)) - median(getattr(plain, name))
        wanted = DELAY_S if name in (phase, "total_s") else 0.0
        assert found == pytest.approx(wanted, abs=0.05 * DELAY_S)


def test_a_clock_that_does_not_wait_is_refused(device):
    with pytest.raises(ClockError, match="does not wait for the device"):
        time_iterations(FakeStep(device), planted(device), RULE, now=device.now)


def test_events_let_the_host_run_ahead_within_a_block(device):
    time_iterations(FakeStep(device), events(device), RULE, now=device.now)
    in_blocks = len(device.log)
    device.log.clear()
    time_iterations(FakeStep(device), waiting(device), RULE, now=device.now)
    assert in_blocks < len(device.log)


def test_phases_and_the_whole_add_up(device):
    repeats = time_iterations(FakeStep(device), waiting(device), RULE, now=device.now)
    sums = zip(repeats.forward_s, repeats.backward_s, repeats.update_s, strict=True)
    assert [sum(parts) for parts in sums] == pytest.approx(repeats.total_s)
    assert repeats.median_s == pytest.approx(0.032, rel=1e-3)
    assert repeats.interval < 0.02
    assert repeats.warm_up >= 2


def test_a_time_limit_ends_noisy_repeats(device):
    class Noisy(FakeStep):
        def forward(self):
            self.forward_s = 0.03 - self.forward_s
            super().forward()

    repeats = time_iterations(
        Noisy(device, forward_s=0.001), waiting(device), StoppingRule(limit_seconds=0.5), now=device.now
    )
    assert repeats.interval > 0.02
    assert device.host_s < 1.0


def test_the_first_iteration_is_outside_the_limit(device):
    """Libraries choose their kernels in it, which can take longer than all that follows."""

    class Starting(FakeStep):
        def forward(self):
            super().forward()
            self.forward_s = 0.001

    repeats = time_iterations(
        Starting(device, forward_s=10.0), waiting(device), StoppingRule(limit_seconds=1.0), now=device.now
    )
    assert repeats.warm_up >= 6
    assert len(repeats.total_s) >= 6


@each_row("count", range(6, 300))
def test_interval_covers_the_median_with_at_least_95_percent(count):
    low, high = median_interval(range(1, count + 1))
    inside = sum(math.comb(count, k) for k in range(low, high)) / 2**count
    # The normal distribution stands for the binomial one, so a half per cent may be missing.
    assert 0.945 <= inside <= 1.0
    assert low + high == count + 1


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


def test_the_host_is_timed_while_it_issues_to_an_idle_device(device):
    device.launch_s = 3e-4
    repeats = time_iterations(FakeStep(device), events(device), RULE, now=device.now)
    # Forward and backward are one launch each; the device works a hundred times longer.
    assert repeats.issue_s and repeats.issue_s == pytest.approx([6e-4] * len(repeats.issue_s))
    assert repeats.host_launch_s(3) == pytest.approx(2e-4)


def test_a_clock_that_waits_cannot_time_the_host(device):
    repeats = time_iterations(FakeStep(device), waiting(device), RULE, now=device.now)
    assert repeats.issue_s == () and math.isnan(repeats.host_launch_s(3))
