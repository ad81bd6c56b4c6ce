"""Start-up times next to their limits: the first import, the command line, the page.

python -m benchmarks.start_up            exits with status 1 if a limit is exceeded

User time is the least of three runs, which other processes hardly change. The page needs playwright and
Chromium; without them it is not measured.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_REPEATS = 3
_FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def user_seconds(*arguments: str) -> float:
    """Return the least user time of a Python process with these arguments, seconds."""
    seconds = []
    for _ in range(_REPEATS):
        before = os.times()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = os.times()
        seconds.append(after.children_user - before.children_user)
    return min(seconds)


def first_paint_seconds() -> float | None:
    """Return the time until the page of the built-in formula shows content, seconds; None if it cannot be."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  # optional
    except ImportError:
        return None
    if chromium is None:
        return None
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = Path(folder) / "page.html"
        command = [sys.executable, "-m", "trainlaw", "export", "--out", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        milliseconds = []
        for _ in range(_REPEATS):
            page = browser.new_page()
            page.goto(f"file://{path}")
            # The page's policy forbids the waiting of the browser itself, which evaluates text.
            while (painted := page.evaluate(_FIRST_PAINT)) is None:
                page.wait_for_timeout(50)
            milliseconds.append(painted)
            page.close()
        browser.close()
    return min(milliseconds) / 1e3


_PREDICT = ("-m", "trainlaw", "predict", "--cnn", "resnet50", "--batch", "64")
#: Name of each measurement, its command, and its limit in seconds.
MEASURES: tuple[tuple[str, Callable[[], float | None], float], ...] = (
    ("import trainlaw", lambda: user_seconds("-c", "import trainlaw"), 0.05),
    ("import trainlaw.formulas", lambda: user_seconds("-c", "import trainlaw.formulas"), 0.5),
    ("trainlaw --help", lambda: user_seconds("-m", "trainlaw", "--help"), 1.0),
    ("trainlaw predict", lambda: user_seconds(*_PREDICT, "--gpu", "T4"), 0.7),
    ("trainlaw predict --all-gpus", lambda: user_seconds(*_PREDICT, "--all-gpus"), 1.5),
    ("trainlaw show", lambda: user_seconds("-m", "trainlaw", "show"), 1.5),
    ("trainlaw plan", lambda: user_seconds("-m", "trainlaw", "plan", "--cnn", "resnet50"), 1.5),
    ("first paint of the page", first_paint_seconds, 1.0),
)


def main() -> None:
    """Print every measure next to its limit."""
    exceeded = False
    print(f"{'':28} {'measured':>10} {'limit':>8}")
    for title, measure, limit in MEASURES:
        seconds = measure()
        exceeded |= seconds is not None and seconds > limit
        shown = "not here" if seconds is None else f"{seconds:.2f} s"
        print(f"{title:28} {shown:>10} {limit:6.2f} s{'  EXCEEDED' if (seconds or 0) > limit else ''}")
    sys.exit(int(exceeded))


if __name__ == "__main__":
    main()
