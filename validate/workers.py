"""Run tasks in this process or in worker processes, and yield results as they are completed."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext, suppress
from itertools import islice
from multiprocessing.connection import wait as wait_for_end
from types import TracebackType
from typing import Any, TypeVar

from trainlaw.formulas.errors import TrainlawError

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
#: Signals that end a program: Ctrl-C, a request to stop, a closed terminal. Windows has no SIGHUP.
ENDING_SIGNALS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
# How often a task is sent again whose worker died.
MOST_REPEATS = 3


def run_tasks(
    function: Callable[..., Outcome],
    tasks: Iterable[Task],
    workers: int = 1,
    executor: Executor | None = None,
    *,
    shared: tuple[object, ...] = (),
) -> Generator[Outcome, None, None]:
    """Yield `function(task, *shared)` of each task on completion; in their order only with one worker.

    workers : number of simultaneous tasks; 1 without an executor runs them in this process. executor : used
    instead of new processes, such as that of a cluster, and not shut down. shared : arguments of all tasks,
    the same objects in every call, so that an executor can send them once. A task whose worker process dies
    is sent again; TrainlawError if that does not help. Exceptions of `function` are raised here.
    """
    if workers == 1 and executor is None:
        yield from (function(task, *shared) for task in tasks)
        return
    with WorkerPool(workers) if executor is None else nullcontext(executor) as pool:
        todo = iter(tasks)
        running = {pool.submit(function, task, *shared) for task in islice(todo, workers)}
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                # One in for each one out: tasks hold their data, so they are never all in memory.
                running |= {pool.submit(function, task, *shared) for task in islice(todo, len(done))}
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise TrainlawError(_DIED) from None
        finally:
            for future in running:
                future.cancel()


_DIED = "a worker process died, perhaps for lack of memory; use fewer workers"


class WorkerPool(Executor):
    """Spawned processes; a task whose process dies is sent to a new one.

    Each process is a separate pool, served by a thread, so that a death costs the work of one process. At
    the end of a `with` block nothing may be running; after an error, running tasks are given up.
    """

    def __init__(self, workers: int) -> None:
        """Make a pool of `workers` processes, each of which begins with `follow_parent`."""
        self._own = threading.local()
        self._pools: set[ProcessPoolExecutor] = set()
        self._children: set[Any] = set()
        self._lock = threading.Lock()
        self._closed = False
        # Threads pass their mask on: a new process must not end before it has set its handlers.
        self._threads = ThreadPoolExecutor(workers, "worker", initializer=_block_ending_signals)

    def submit(self, function: Callable[..., Outcome], /, *arguments: Any, **named: Any) -> "Future[Outcome]":
        """Return the future result of `function(*arguments, **named)` in one of the processes."""
        return self._threads.submit(self._run, function, arguments, named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, after their running tasks or, without `wait`, at once."""
        if not wait:
            self._end_processes()
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures or not wait)
        self._end_processes()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """End the processes; after an error at once."""
        self.shutdown(wait=error is None)
        return None

    def _run(self, function: Callable[..., Outcome], arguments: Any, named: Any) -> Outcome:
        for _ in range(1 + MOST_REPEATS):
            try:
                return self._send(function, arguments, named).result()
            except BrokenProcessPool:
                self._own.pool = None
        raise TrainlawError(_DIED)

    def _send(self, function: Callable[..., Outcome], arguments: Any, named: Any) -> "Future[Outcome]":
        # One process is started at a time: that shows which are ours.
        with self._lock:
            if self._closed:
                raise CancelledError
            if getattr(self._own, "pool", None) is not None:
                future: Future[Outcome] = self._own.pool.submit(function, *arguments, **named)
                return future
            before = set(multiprocessing.active_children())
            # Spawned, not forked: a fork of a process with running numba or BLAS threads can hang.
            context = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(1, context, follow_parent)
            future = pool.submit(function, *arguments, **named)
            self._own.pool = pool
            self._pools.add(pool)
            self._children |= set(multiprocessing.active_children()) - before
            return future

    def _end_processes(self) -> None:
        with self._lock:
            self._closed = True
        for child in self._children:
            child.kill()
        for pool in self._pools:
            # Before Python 3.11.5 a pool whose process died waits for a reader of what it still sends;
            # later ones close it themselves, perhaps at the same time.
            queue: Any = pool._call_queue  # type: ignore[attr-defined]
            if queue is not None and sys.version_info < (3, 11, 5):
                queue._reader.close()
            pool.shutdown(wait=True, cancel_futures=True)


def _block_ending_signals() -> None:
    # Windows has no masks.
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)


def follow_parent() -> None:
    """Ignore, in a worker, all signals that end a program; it ends with its parent, even a killed one."""
    # A half-finished fold must not count as one, so only the parent decides when a worker stops.
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for_end([sentinel])
    # No process is left to take a result, and an orphan would keep a core busy for the rest of its search.
    os._exit(1)


def given_up() -> bool:
    """Return whether this is a task on a cluster that nobody waits for any more."""
    if "distributed" not in sys.modules:
        return False
    distributed = sys.modules["distributed"]
    with suppress(ValueError, AttributeError):  # not on a worker
        worker = distributed.get_worker()
        task = worker.state.tasks.get(worker.get_current_task())
        return task is None or task.state not in ("executing", "long-running")
    return False
