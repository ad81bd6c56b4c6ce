"""Run tasks in this process or in worker processes, and yield results as they are completed."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from itertools import islice
from multiprocessing.connection import wait as wait_for_end
from threading import Thread
from typing import TypeVar

from trainlaw.formulas.errors import TrainlawError

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def run_tasks(
    function: Callable[[Task], Outcome],
    tasks: Iterable[Task],
    workers: int = 1,
    executor: Executor | None = None,
) -> Generator[Outcome, None, None]:
    """Yield `function(task)` of each task on completion; in the order of the tasks only with one worker.

    workers : number of simultaneous tasks; 1 without an executor runs them in this process. executor : used
    instead of new processes, such as that of a cluster, and not shut down. TrainlawError if a worker process
    dies; exceptions of `function` are raised here.
    """
    if workers == 1 and executor is None:
        yield from map(function, tasks)
        return
    with _own_processes(workers) if executor is None else nullcontext(executor) as pool:
        todo = iter(tasks)
        running = {pool.submit(function, task) for task in islice(todo, workers)}
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                # One in for each one out: tasks hold their data, so they are never all in memory.
                running |= {pool.submit(function, task) for task in islice(todo, len(done))}
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise TrainlawError(
                "a worker process died, perhaps for lack of memory; use fewer workers"
            ) from None
        finally:
            for future in running:
                future.cancel()


def follow_parent() -> None:
    """Ignore Ctrl-C in a worker, which ends with its parent process, even if that is killed."""
    # A half-finished fold must not count as one, so only the parent decides when a worker stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for_end([sentinel])
    # No process is left to take a result, and an orphan would keep a core busy for the rest of its search.
    os._exit(1)


@contextmanager
def _own_processes(workers: int) -> Iterator[Executor]:
    # Spawned, not forked: a fork of a process with running numba or BLAS threads can hang.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=follow_parent)
    finished = False
    try:
        yield pool
        finished = True
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
