"""The worker processes of a study, and what ends it: Ctrl-C, SIGTERM, and SIGHUP of a closed terminal."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from types import FrameType
from typing import TypedDict

from trainlaw.validate.workers import ENDING_SIGNALS, WorkerPool

_ALARMS = tuple(getattr(signal, name) for name in ("SIGALRM",) if hasattr(signal, name))  # not on Windows
# What is there must be put together and written in this time; batch systems kill soon after they ask to stop.
_SECONDS_TO_END = 3.0
# Each library with its own threads reads one of these when it is loaded.
_THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Place(TypedDict, total=False):
    """Where tasks run, as arguments of `run_tasks` and `run_study`; without entries in this process."""

    workers: int
    executor: Executor


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt inside the block at the first of these signals, and again if it lasts on.

    Further signals are ignored meanwhile. One that was ignored before, as under `nohup`, stays so.
    """
    heeded = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]

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


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore these signals inside the block, which must not be left half done."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (*ENDING_SIGNALS, *_ALARMS)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that are started inside the block use one thread each."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def process_place(workers: int) -> Iterator[Place]:
    """Give a place of spawned processes, each with one thread.

    When the block ends, for whatever reason, running tasks are given up and the processes end.
    """
    with one_thread_each():
        pool = WorkerPool(workers)
        try:
            yield Place(workers=workers, executor=pool)
        finally:
            # Half of it would leave processes for which this one would wait at its end.
            with uninterrupted():
                pool.shutdown(wait=False)
