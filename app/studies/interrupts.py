"""What Ctrl-C, a request to stop (SIGTERM) and a closed terminal (SIGHUP) do to a study."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from trainlaw.validate.workers import ENDING_SIGNALS


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt inside the block at the first of these signals, and ignore those that follow.

    One that is ignored already, as under `nohup`, stays so.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore these signals inside the block: results that took minutes are being put together and written."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
