"""Progress of a search as a bar in a notebook."""

import sys
import time
from collections.abc import Callable
from typing import Any

from trainlaw.evolve.search.loop import Progress

_SECONDS_BETWEEN = 0.3  # a page that is redrawn more often flickers


def notebook_progress() -> Callable[[Progress], None] | None:
    """Return a callback that shows a bar below the running cell; None outside notebooks.

    IPython is used only where it runs already.
    """
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    # The shell of a terminal has no kernel, and shows no HTML.
    if ipython is None or shell is None or getattr(shell, "kernel", None) is None:
        return None
    return _Bar(ipython.display)


class _Bar:
    def __init__(self, display: Any) -> None:
        """Keep IPython's module `display`; the bar appears with the first progress."""
        self._display, self._handle, self._shown = display, None, 0.0

    def __call__(self, progress: Progress) -> None:
        """Draw the bar again, unless that was just done."""
        ended = progress.seconds_left <= 0.0
        if time.monotonic() - self._shown < _SECONDS_BETWEEN and not ended:
            return
        self._shown = time.monotonic()
        page = self._display.HTML(bar_html(progress))
        if self._handle is None:
            self._handle = self._display.display(page, display_id=True)
        else:
            self._handle.update(page)


def bar_html(progress: Progress) -> str:
    """Return the bar: share of the time, formulas tried, time left, smallest loss so far.

    >>> print(bar_html(Progress(1200, 6, 3.0, 9.0, 0.05, 4)))
    <progress value="3.0" max="12.0"></progress> 1,200 formulas, about 9 s left, loss 0.05
    """
    total = progress.seconds + max(progress.seconds_left, 0.0)
    left = f"about {progress.seconds_left:.0f} s left" if progress.seconds_left > 0.0 else "finished"
    return (
        f'<progress value="{progress.seconds:.1f}" max="{total:.1f}"></progress> '
        f"{progress.evaluations:,} formulas, {left}, loss {progress.best_loss:.3g}"
    )
