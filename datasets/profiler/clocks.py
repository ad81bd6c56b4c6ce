"""Device clocks: marks on the time line of a device, and a check that a clock waits for the device."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Protocol

from trainlaw.formulas.errors import TrainlawError

# Bounds for the share of wall-clock time, between two idle moments of the device, that marks must show.
_LEAST_SHARE = 0.8
_MOST_SHARE = 1.1
# Below this, in seconds, the work of the host between the marks dominates.
_LEAST_SECONDS = 1e-3


class ClockError(TrainlawError):
    """A clock does not show the time that the device takes."""


class Clock(Protocol):
    """Marks on the time line of a device."""

    def mark(self) -> Any:
        """Return a mark at the end of the work submitted to the device so far."""

    def finish(self) -> None:
        """Wait until the device has finished all work."""

    def seconds(self, earlier: Any, later: Any) -> float:
        """Return the seconds between two marks; only after `finish`."""


class WallClock:
    """The monotonic clock of the host; each mark waits until the device is idle.

    `synchronize` waits for the device; on a CPU, where calls return when they are done, it does nothing.
    """

    def __init__(self, synchronize: Callable[[], None], now: Callable[[], float] = time.perf_counter) -> None:
        """Read `now`, seconds, after `synchronize`."""
        self._synchronize = synchronize
        self._now = now

    def mark(self) -> float:
        """Wait for the device and return the time, seconds."""
        self._synchronize()
        return self._now()

    def finish(self) -> None:
        """Wait for the device."""
        self._synchronize()

    def seconds(self, earlier: float, later: float) -> float:
        """Return the seconds between two marks."""
        return later - earlier


class EventClock:
    """Events with timestamps by the device (CUDA events): marks do not block the host.

    `new_event` returns an object with `record()` and `elapsed_time(later)` in milliseconds, such as
    `torch.cuda.Event(enable_timing=True)`; `synchronize` waits for the device.
    """

    def __init__(self, new_event: Callable[[], Any], synchronize: Callable[[], None]) -> None:
        """Mark with such events."""
        self._new_event = new_event
        self._synchronize = synchronize

    def mark(self) -> Any:
        """Record an event after the work submitted to the device so far."""
        event = self._new_event()
        event.record()
        return event

    def finish(self) -> None:
        """Wait for the device, so that all events have timestamps."""
        self._synchronize()

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
