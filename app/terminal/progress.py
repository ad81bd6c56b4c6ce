"""Shows how far a study is: a bar with the time left on a terminal, plain lines elsewhere."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from trainlaw.app.studies.search import Signals
from trainlaw.app.studies.study import OURS, OnFit, OnStart, seconds_text
from trainlaw.validate import StudyProgress

_REFRESH_SECONDS = 0.3


@contextmanager
def shown_progress() -> Iterator[tuple[OnStart, OnFit]]:
    """Give the two callbacks of a study; what they show goes to standard error and ends with the block."""
    if sys.stderr.isatty():
        with _bar() as callbacks:
            yield callbacks
    else:
        yield _silent_start, _print_fold


def _silent_start(signals: Signals, total: int) -> None:
    print(f"trying {total:,} formulas", file=sys.stderr)


def _print_fold(progress: StudyProgress) -> None:
    if progress.estimator == OURS:
        left = seconds_text(progress.remaining_seconds)
        print(
            f"{progress.split}: searched and judged on what is held out; about {left} left", file=sys.stderr
        )


@contextmanager
def _bar() -> Iterator[tuple[OnStart, OnFit]]:
    # rich comes with typer, but only a terminal needs its tenth of a second.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
        TextColumn("left; Ctrl-C keeps what was found"),
    )
    ended = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("searching", total=None)

        def watch(signals: Signals) -> None:
            while not ended.wait(_REFRESH_SECONDS):
                bar.update(task, completed=signals.tried.value)

        def on_start(signals: Signals, total: int) -> None:
            bar.update(task, total=total)
            threading.Thread(target=watch, args=(signals,), daemon=True).start()

        def on_fit(progress: StudyProgress) -> None:
            bar.update(task, description=f"{progress.split}: {progress.estimator} done")

        try:
            yield on_start, on_fit
        finally:
            ended.set()
