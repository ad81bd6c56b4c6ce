"""A search as it runs: its progress and the front so far, in a notebook or a terminal."""

import html
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from trainlaw.evolve.search.loop import Progress

_SECONDS_BETWEEN = 0.3  # a page that is redrawn more often flickers
_MOST_ROWS, _MOST_LETTERS = 15, 100
_UP, _CLEAR = "\x1b[{}F", "\x1b[J"  # cursor to the start of the line so far above; from there on nothing


def notebook_progress() -> Callable[[Progress], None] | None:
    """Return a callback that shows bar and front below the running cell; None outside notebooks.

    IPython is used only where it runs already.
    """
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    # The shell of a terminal has no kernel, and shows no HTML.
    if ipython is None or shell is None or getattr(shell, "kernel", None) is None:
        return None
    display = ipython.display
    handles: list[Any] = []

    def draw(progress: Progress) -> None:
        page = display.HTML(bar_html(progress))
        if handles:
            handles[0].update(page)
        else:
            handles.append(display.display(page, display_id=True))

    return LiveFront(draw)


class LiveFront:
    """Shows the front of a search while it runs, as the `progress` of a `FormulaRegressor`.

    Parameters
    ----------
    draw : callable, optional
        Called with a `Progress` a few times a second and at the end; None prints the front on standard error,
        in a terminal over what was printed before.

    Examples
    --------
    >>> LiveFront(print)(Progress(1200, 6, 3.0, 0.0, 0.05, 4))
    Progress(evaluations=1200, generation=6, seconds=3.0, seconds_left=0.0, best_loss=0.05, front_size=4)
    """

    def __init__(self, draw: Callable[[Progress], None] | None = None) -> None:
        """Keep what draws."""
        self._draw, self._shown, self._lines = draw or self._print, -_SECONDS_BETWEEN, 0

    def __call__(self, progress: Progress) -> None:
        """Draw again, unless that was just done."""
        if time.monotonic() - self._shown >= _SECONDS_BETWEEN or progress.seconds_left <= 0.0:
            self._draw(progress)
            self._shown = time.monotonic()

    def _print(self, progress: Progress) -> None:
        """Print the front; a file or a pipe gets the last one only."""
        stream: TextIO = sys.stderr
        if not stream.isatty() and progress.seconds_left > 0.0:
            return
        lines = [progress_text(progress), *front_lines(progress)]
        again = _UP.format(self._lines) + _CLEAR if self._lines else ""
        stream.write(again + "\n".join(lines) + "\n")
        stream.flush()
        self._lines = len(lines) if stream.isatty() else 0


def progress_text(progress: Progress) -> str:
    """Return one line: formulas tried, time left, smallest loss so far.

    >>> progress_text(Progress(1200, 6, 3.0, 9.0, 0.05, 4))
    '1,200 formulas, about 9 s left, loss 0.05'
    """
    left = f"about {progress.seconds_left:.0f} s left" if progress.seconds_left > 0.0 else "finished"
    return f"{progress.evaluations:,} formulas, {left}, loss {progress.best_loss:.3g}"


def front_lines(progress: Progress) -> list[str]:
    """Return complexity, loss and formula of the front's best, one line each, with a heading."""
    rows = progress.front()[-_MOST_ROWS:]
    texts = [text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "..." for _, _, text in rows]
    lines = [f"{size:10d}  {loss:9.3g}  {text}" for (size, loss, _), text in zip(rows, texts, strict=True)]
    return ["complexity       loss  formula", *lines] if lines else []


def bar_html(progress: Progress) -> str:
    """Return the progress as a bar with its text, and the front so far.

    >>> print(bar_html(Progress(1200, 6, 3.0, 9.0, 0.05, 4)))
    <progress value="3.0" max="12.0"></progress> 1,200 formulas, about 9 s left, loss 0.05
    """
    total = progress.seconds + max(progress.seconds_left, 0.0)
    bar = f'<progress value="{progress.seconds:.1f}" max="{total:.1f}"></progress> {progress_text(progress)}'
    lines = front_lines(progress)
    return f"{bar}<pre>{html.escape(chr(10).join(lines))}</pre>" if lines else bar
