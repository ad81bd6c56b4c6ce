"""Progress on standard error: the work under way and the time left; in a pipe only a study reports it."""

import sys
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
    from trainlaw.app.studies.fits import OnFit

_ESTIMATING = "estimating the time left"


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
def shown_fits(hint: str = "") -> Iterator["OnFit | None"]:
    """Yield what shows, on a terminal, the fit that ended last and the time left; hint : what to say more."""
    if not sys.stderr.isatty():
        yield None
        return
    with _line() as show:
        show(f"{_ESTIMATING}{hint}")

        def on_fit(progress: StudyProgress) -> None:
            fit = f"{progress.split}, {title_of(progress.estimator)}"
            show(f"{fit}, {progress.done} of {progress.total} fits: {_left_text(progress)}{hint}")

        yield on_fit


def _left_text(progress: StudyProgress) -> str:
    return f"about {seconds_text(progress.remaining_seconds)} left"


@contextmanager
def shown_progress() -> Iterator["OnFit"]:
    """Yield what reports each fit of a study on a terminal, in a pipe each fold."""
    with shown_fits("; Ctrl-C stops and keeps what was found") as on_fit:
        yield on_fit or _report


def _report(progress: StudyProgress) -> None:
    if progress.estimator == OURS:
        done = f"{progress.done} of {progress.total} fits"
        print(f"{progress.split}: {done}, {_left_text(progress)}", file=sys.stderr)
