"""Times of training iterations: clocks of devices, when to stop repeating, warm-up and repeats."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, inf, nan, sqrt
from statistics import median
from typing import TYPE_CHECKING, Any

from trainlaw.formulas.errors import TrainlawError

if TYPE_CHECKING:
    from trainlaw.datasets.profiler.torch_cnn import TorchStep

# Two-sided 95 % of the normal distribution: the order statistics of a median are binomial, p = 1/2.
_NORMAL_95 = 1.96
# The warm-up ends when medians of three iterations differ by at most 5 %, a few times the usual noise.
_WINDOW = 3
_SETTLED = 0.05


def median_interval(times: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median of `times`, distribution-free; (-inf, inf) below six.

    Its ends are order statistics, number (n + 1)/2 - 0.98 sqrt(n) from below and from above: Conover,
    Practical Nonparametric Statistics, section 3.2.

    >>> median_interval([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    (2, 9)
    """
    count = len(times)
    if count < 6:
        # Even the range of five values covers the median with a probability of only 93.75 %.
        return -inf, inf
    rank = floor((count + 1) / 2 - _NORMAL_95 * sqrt(count) / 2)
    ordered = sorted(times)
    return ordered[rank - 1], ordered[count - rank]


def relative_interval(times: Sequence[float]) -> float:
    """Return the width of the 95 % interval of the median, as a share of the median.

    >>> relative_interval([1.0] * 6)
    0.0
    """
    low, high = median_interval(times)
    return (high - low) / median(times) if times else inf


def is_settled(times: Sequence[float]) -> bool:
    """Return whether the last three times are, in the median, within 5 % of the three before them.

    >>> is_settled([9.0, 3.0, 2.0, 1.0, 1.0, 1.0]), is_settled([1.01, 1.0, 1.0, 1.0, 1.0, 1.0])
    (False, True)
    """
    if len(times) < 2 * _WINDOW:
        return False
    before, after = median(times[-2 * _WINDOW : -_WINDOW]), median(times[-_WINDOW:])
    return abs(before - after) <= _SETTLED * after


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When to stop repeating.

    `interval` is the target width of the 95 % interval of the median, as a share of the median;
    `limit_seconds` the longest time for warm-up and repeats after the first iteration, `least` and `most`
    bound the repeats.
    """

    interval: float = 0.02
    limit_seconds: float = 10.0
    least: int = 6
    most: int = 1000
    warm_up_share: float = 0.3
    most_warm_up: int = 50

    def is_warm(self, times: Sequence[float], elapsed_s: float) -> bool:
        """Return whether the warm-up iterations (seconds each) suffice; at least two are made."""
        if len(times) < 2:
            return False
        late = elapsed_s >= self.warm_up_share * self.limit_seconds
        return late or len(times) >= self.most_warm_up or is_settled(times)

    def is_enough(self, times: Sequence[float], elapsed_s: float) -> bool:
        """Return whether the repeats (seconds each) suffice; three are made however long they take."""
        if len(times) < 3:
            return False
        if elapsed_s >= self.limit_seconds or len(times) >= self.most:
            return True
        return len(times) >= self.least and relative_interval(times) <= self.interval


# Bounds for the share of wall-clock time, between two idle moments of the device, that marks must show: the
# rest is the time to submit the first call, and rounding.
_LEAST_SHARE = 0.8
_MOST_SHARE = 1.1
# Below this, in seconds, the work of the host between the marks dominates.
_LEAST_SECONDS = 1e-3


class ClockError(TrainlawError):
    """A clock does not show the time that the device takes."""


class Clock:
    """Marks on the time line of a device, here by the monotonic clock of the host: each waits for the device.

    `synchronize` waits for the device; on a CPU, where calls return when they are done, it does nothing.
    """

    def __init__(self, synchronize: Callable[[], None], now: Callable[[], float] = time.perf_counter) -> None:
        """Read `now`, seconds, after `synchronize`."""
        self._synchronize = synchronize
        self._now = now

    def mark(self) -> Any:
        """Return a mark at the end of the work submitted to the device so far."""
        self._synchronize()
        return self._now()

    def finish(self) -> None:
        """Wait until the device has finished all work."""
        self._synchronize()

    def seconds(self, earlier: Any, later: Any) -> float:
        """Return the seconds between two marks; only after `finish`."""
        return float(later - earlier)


class EventClock(Clock):
    """Events with timestamps by the device (CUDA events): marks do not block the host.

    `new_event` returns an object with `record()` and `elapsed_time(later)` in milliseconds, such as
    `torch.cuda.Event(enable_timing=True)`.
    """

    def __init__(self, new_event: Callable[[], Any], synchronize: Callable[[], None]) -> None:
        """Mark with such events."""
        super().__init__(synchronize)
        self._new_event = new_event

    def mark(self) -> Any:
        """Record an event after the work submitted to the device so far."""
        event = self._new_event()
        event.record()
        return event

    def seconds(self, earlier: Any, later: Any) -> float:
        """Return the seconds between two events."""
        return float(earlier.elapsed_time(later)) / 1000.0


def check_clock(spans: Sequence[tuple[float, float]]) -> None:
    """Raise ClockError if a clock disagrees with wall-clock time over the same work.

    spans : pairs of seconds, from the first to the last mark, and on the wall clock from before the first to
    after the last, the device idle at both ends. A clock that does not wait for the device always shows only
    the time of submitting the work; other programs disturb a few spans, so the median decides.
    """
    long = [(marked_s, wall_s) for marked_s, wall_s in spans if wall_s >= _LEAST_SECONDS]
    if not long:
        return
    share = median(marked_s / wall_s for marked_s, wall_s in long)
    if not _LEAST_SHARE <= share <= _MOST_SHARE:
        raise ClockError(
            f"the clock shows {share:.0%} of the time until the device is idle: "
            "it does not wait for the device"
        )


# Iterations that follow each other without waiting for the device, as in real training.
_BLOCK = 5


@dataclass(frozen=True, slots=True)
class Repeats:
    """Times of the repeats of an iteration in seconds, each tuple one number per repeat.

    `issue_s` : time in which the host issues forward and backward pass to an idle device, without waiting for
    it, one number per block of iterations; empty where calls return only when the device is done.
    """

    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    update_s: tuple[float, ...]
    total_s: tuple[float, ...]
    warm_up: int = 0
    issue_s: tuple[float, ...] = ()

    def host_launch_s(self, n_layers: float) -> float:
        """Time in seconds that the host needs per layer of `n_layers`; nan where it was not measured.

        >>> Repeats((), (), (), (), issue_s=(0.006, 0.007, 0.006)).host_launch_s(60)
        0.0001
        """
        return median(self.issue_s) / n_layers if self.issue_s else nan

    @property
    def median_s(self) -> float:
        """Median of the whole iteration, seconds."""
        return median(self.total_s)

    @property
    def interval(self) -> float:
        """Width of the 95 % interval of the median, as a share of it."""
        return relative_interval(self.total_s)


def time_iterations(
    step: "TorchStep", clock: Clock, rule: StoppingRule, now: Callable[[], float] = time.perf_counter
) -> Repeats:
    """Return the times of repeated iterations after a warm-up, both as long as `rule` requires.

    clock : marks on the device. now : wall clock, seconds. Raises ClockError if the two disagree.
    """
    spans: list[tuple[float, float]] = []
    issued: list[float] = []
    # In the first iteration libraries load and choose their kernels: up to 16 s on an H100, which would leave
    # nothing of the limit.
    warming = [phases[3] for phases in _block(step, clock, 1, now, spans, issued=[])]
    began = now()
    while not rule.is_warm(warming, now() - began):
        warming += [phases[3] for phases in _block(step, clock, 1, now, spans, issued=[])]
    size = max(1, min(_BLOCK, int(rule.limit_seconds / 10 / max(median(warming), 1e-9))))
    times: list[tuple[float, ...]] = []
    while not rule.is_enough([phases[3] for phases in times], now() - began):
        times += _block(step, clock, size, now, spans, issued=issued)
    check_clock(spans)
    forward, backward, update, total = (tuple(column) for column in zip(*times, strict=True))
    # A clock without events waits at each mark, so that the host's time contains that of the device.
    issue = tuple(issued) if isinstance(clock, EventClock) else ()
    return Repeats(forward, backward, update, total, len(warming), issue)


def _block(
    step: "TorchStep",
    clock: Clock,
    size: int,
    now: Callable[[], float],
    spans: list[tuple[float, float]],
    *,
    issued: list[float],
) -> list[tuple[float, ...]]:
    """Return forward, backward, update and total seconds of `size` iterations; extend both lists."""
    clock.finish()
    # The step itself waits here and below: a clock that does not wait cannot be used to check itself.
    step.finish()
    began = now()
    marks: list[Any] = [clock.mark()]
    for number in range(size):
        for phase in (step.forward, step.backward, step.update):
            # The update may read a number back from the device: the scaler of mixed precision does.
            if number == 0 and phase == step.update:
                issued.append(now() - began)
            phase()
            marks.append(clock.mark())
    clock.finish()
    step.finish()
    spans.append((clock.seconds(marks[0], marks[-1]), now() - began))
    phases = [clock.seconds(first, last) for first, last in pairwise(marks)]
    return [
        (*phases[start : start + 3], clock.seconds(marks[start], marks[start + 3]))
        for start in range(0, 3 * size, 3)
    ]
