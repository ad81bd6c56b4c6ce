"""Ctrl-C, a request to stop (SIGTERM) and a closed terminal (SIGHUP) during a study."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from trainlaw.validate.workers import ENDING_SIGNALS

_ALARMS = tuple(getattr(signal, name) for name in ("SIGALRM",) if hasattr(signal, name))  # not on Windows
# What is there must be put together and written in this time; batch systems kill soon after they ask to stop.
_SECONDS_TO_END = 3.0


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt inside the block at the first of these signals, and again if it lasts on.

    Further signals are ignored meanwhile. One that was ignored before, as under `nohup`, stays so.
    """
    heeded = _heeded(ENDING_SIGNALS)

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in heeded:
            signal.signal(each, signal.SIG_IGN)
        if _ALARMS and number not in _ALARMS:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_END)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (*heeded, *_ALARMS)}
    try:
        yield
    finally:
        if _ALARMS:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _heeded(numbers: tuple[signal.Signals, ...]) -> list[signal.Signals]:
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def postponed() -> Iterator[None]:
    """Let these signals act only at the end of the block, which must not be left half done."""
    seen: list[int] = []
    heeded = _heeded((*ENDING_SIGNALS, *_ALARMS))
    before = {number: signal.signal(number, lambda number, frame: seen.append(number)) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for first in seen[:1]:
            signal.raise_signal(first)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore these signals inside the block: results that took minutes are being put together."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
