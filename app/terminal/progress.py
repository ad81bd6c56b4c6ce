"""Progress on standard error: the work under way and the time left; in a pipe only a study reports it."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trainlaw.app.text.numbers import seconds_text
from trainlaw.app.text.steps import OnStep, unseen
from trainlaw.app.text.tables import terminal_width
from trainlaw.validate import StudyProgress
from trainlaw.validate.baselines import title_of
from trainlaw.validate.result import OURS

if TYPE_CHECKING:
    # `show` prints steps without the search engine, whose import takes as long as the rest of it.
    from trainlaw.app.studies.search import Signals
    from trainlaw.app.studies.searches import OnFit, OnStart

_REFRESH_SECONDS = 0.3  # fast enough to look alive, too slow to cost time
_LEAST_SHARE = 0.02  # of the work, before the time left is estimated
_ESTIMATING = "estimating the time left"


class TimeLeft:
    """The time left, from the work done since the first of it was seen: what compiles before does not count.

    clock : seconds, as `time.monotonic` gives them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: tuple[float, float] | None = None  # when the first work was seen, and how much it was

    def text(self, done: float, total: float) -> str:
        """Return the time left as text where `done` of `total` is done.

        >>> times = iter([100.0, 110.0])
        >>> left = TimeLeft(lambda: next(times))
        >>> left.text(0, 800), left.text(200, 800), left.text(400, 800)
        ('estimating the time left', 'estimating the time left', 'about 20 s left')
        """
        if done <= 0:
            return _ESTIMATING
        now = self._clock()
        if self._first is None:
            self._first = now, done
        began, before = self._first
        if done - before < _LEAST_SHARE * total:
            return _ESTIMATING
        return f"about {seconds_text((total - done) * (now - began) / (done - before))} left"


@contextmanager
def _line() -> Iterator[Callable[[str], None]]:
    """Yield what replaces the last line of a terminal, which is empty afterwards."""
    width = terminal_width() - 1
    try:
        yield lambda text: print(f"\r{text[:width]:<{width}}", end="", file=sys.stderr, flush=True)
    finally:
        print(f"\r{'':<{width}}\r", end="", file=sys.stderr, flush=True)


@contextmanager
def shown_steps() -> Iterator[OnStep]:
    """Yield what shows, on a terminal, the step under way and the time left."""
    if not sys.stderr.isatty():
        yield unseen
        return
    began = 0.0
    with _line() as show:

        def on_step(step: str, done: float) -> None:
            nonlocal began
            # What has no work before it begins a new estimate.
            began = began if done else time.monotonic()
            elapsed = time.monotonic() - began
            left = f"about {seconds_text(elapsed * (1 - done) / done)} left" if done else _ESTIMATING
            show(f"{step}: {left}")

        yield on_step


@contextmanager
def shown_fits() -> Iterator["OnFit | None"]:
    """Yield what shows, on a terminal, the fits of a formula that is only evaluated, and the time left."""
    if not sys.stderr.isatty():
        yield None
        return
    with _line() as show:
        show(f"reading the runs: {_ESTIMATING}")
        yield lambda progress: show(
            f"{progress.split}, {title_of(progress.estimator)}: "
            f"about {seconds_text(progress.remaining_seconds)} left"
        )


@contextmanager
def shown_progress() -> "Iterator[tuple[OnStart, OnFit]]":
    """Yield the callbacks of a study, which report progress on standard error within the block."""
    if sys.stderr.isatty():
        with _watched() as callbacks:
            yield callbacks
    else:
        yield _reported()


def _reported() -> "tuple[OnStart, OnFit]":
    left, started = TimeLeft(), list[tuple["Signals", int]]()

    def on_start(signals: "Signals", total: int) -> None:
        started.append((signals, total))
        print(f"evaluating {total:,} formulas", file=sys.stderr)

    def on_fit(progress: StudyProgress) -> None:
        signals, total = started[-1]
        text = left.text(signals.tried.value, total)
        if progress.estimator == OURS:
            print(f"{progress.split}: searched and evaluated; {text}", file=sys.stderr)

    return on_start, on_fit


@contextmanager
def _watched() -> "Iterator[tuple[OnStart, OnFit]]":
    ended, left = threading.Event(), TimeLeft()
    latest = "searching"
    with _line() as show:

        def watch(signals: "Signals", total: int) -> None:
            while not ended.wait(_REFRESH_SECONDS):
                tried = signals.tried.value
                done = f"{tried / total:.0%}".replace("%", " %")
                show(f"{latest}; {done}, {left.text(tried, total)}; Ctrl-C stops and keeps what was found")

        def on_start(signals: "Signals", total: int) -> None:
            threading.Thread(target=watch, args=(signals, total), daemon=True).start()

        def on_fit(progress: StudyProgress) -> None:
            nonlocal latest
            latest = f"{progress.split}: {progress.estimator} done"

        try:
            yield on_start, on_fit
        finally:
            ended.set()
