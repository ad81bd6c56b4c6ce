"""Times of training iterations: warm-up, then repeats, each phase marked on the device's time line."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from trainlaw.datasets.profiler.clocks import Clock, check_clock
from trainlaw.datasets.profiler.repeats import StoppingRule, relative_interval

# Iterations that follow each other without waiting for the device, as in real training.
_BLOCK = 5


class TrainingStep(Protocol):
    """One training iteration in three phases, each of which may return before the device is done."""

    def forward(self) -> None:
        """Compute the loss of the batch."""

    def backward(self) -> None:
        """Compute the gradients."""

    def update(self) -> None:
        """Update the weights."""

    def finish(self) -> None:
        """Wait until the weights are updated, independently of the clock."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Times of the repeats of an iteration in seconds, each tuple one number per repeat."""

    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    update_s: tuple[float, ...]
    total_s: tuple[float, ...]
    warm_up: int = 0

    @property
    def median_s(self) -> float:
        """Median of the whole iteration, seconds."""
        return median(self.total_s)

    @property
    def interval(self) -> float:
        """Width of the 95 % interval of the median, as a share of it."""
        return relative_interval(self.total_s)


def _alone(value: float) -> float:
    return value


def time_iterations(
    step: TrainingStep,
    clock: Clock,
    rule: StoppingRule,
    agree: Callable[[float], float] = _alone,
    now: Callable[[], float] = time.perf_counter,
) -> Repeats:
    """Return the times of repeated iterations after a warm-up, both as long as `rule` requires.

    clock : marks on the device. agree : shares the number of the first process with all processes. now : wall
    clock, seconds. Raises ClockError if the clock disagrees with wall-clock time.
    """
    began = now()
    warming: list[float] = []
    spans: list[tuple[float, float]] = []
    while not agree(rule.is_warm(warming, now() - began)):
        warming += [phases[3] for phases in _block(step, clock, 1, now, spans)]
    size = int(agree(max(1, min(_BLOCK, int(rule.limit_seconds / 10 / max(median(warming), 1e-9))))))
    times: list[tuple[float, float, float, float]] = []
    while not agree(rule.is_enough([phases[3] for phases in times], now() - began)):
        times += _block(step, clock, size, now, spans)
    check_clock(spans)
    forward, backward, update, total = (tuple(column) for column in zip(*times, strict=True))
    return Repeats(forward, backward, update, total, len(warming))


def _block(
    step: TrainingStep, clock: Clock, size: int, now: Callable[[], float], spans: list[tuple[float, float]]
) -> list[tuple[float, float, float, float]]:
    """Return forward, backward, update and total seconds of `size` iterations; append to `spans`."""
    clock.finish()
    # The step itself waits here and below: a clock that does not wait cannot be used to check itself.
    step.finish()
    began = now()
    marks: list[Any] = [clock.mark()]
    for _ in range(size):
        for phase in (step.forward, step.backward, step.update):
            phase()
            marks.append(clock.mark())
    clock.finish()
    step.finish()
    spans.append((clock.seconds(marks[0], marks[-1]), now() - began))
    starts = range(0, 3 * size, 3)
    return [
        (
            clock.seconds(marks[i], marks[i + 1]),
            clock.seconds(marks[i + 1], marks[i + 2]),
            clock.seconds(marks[i + 2], marks[i + 3]),
            clock.seconds(marks[i], marks[i + 3]),
        )
        for i in starts
    ]
