"""Tasks on a dask cluster: one that runs already, or processes of this machine.

All scheduling is dask's: it sends a task again when its worker dies, and takes workers that come later. What
all tasks share is sent to the scheduler once.
"""

import logging
import platform
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib.metadata import version
from itertools import count
from threading import Lock
from typing import Any, TypeVar
from warnings import catch_warnings, filterwarnings

import numpy as np
import pandas as pd
from trainlaw.app.studies.processes import Place, one_thread_each, process_place
from trainlaw.formulas import InputError, TrainlawError
from trainlaw.formulas.errors import optional_package, shown
from trainlaw.validate.study import FoldTable

Outcome = TypeVar("Outcome")
# Tasks that wait at the scheduler: enough for new workers, and each is a few kilobytes.
_TASKS_IN_FLIGHT = 1_000
# A task's worker may die this often: on machines that are taken away, that says nothing about the task.
_DEATHS_ALLOWED = 10
_SECONDS_TO_CONNECT = 30.0
_SECONDS_TO_FIRST_WORKER = 60.0
# What a search computes may change with these; with their versions equal, so are the results.
_COMPARED = ("trainlaw", "numpy", "numba")
_LOST = ("CancelledError", "FutureCancelledError", "CommClosedError")
_GIVEN_UP = "the cluster gave up a task: does its scheduler still run? --resume continues"
_SECONDS_TO_RETURN = 5  # of a dead worker; then another one is started
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _DEATHS_ALLOWED,
    "distributed.deploy.lost-worker-timeout": f"{_SECONDS_TO_RETURN}s",
    # What workers that we start would do a hundred times a second takes time from the search.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
}
_MOST_LOCAL_WORKERS = 256
_LOCAL = "local:"
_FORMS = "tcp://HOST:PORT of a dask scheduler, or local:N"


@contextmanager
def task_place(cluster: str = "", workers: int = 0) -> Iterator[Place]:
    """Give where tasks run: processes of this machine, or a cluster.

    cluster : an address or `local:N` (see docs/clusters.md). workers : processes,
    without a cluster; 0 for this process. Raises InputError for another text or a cluster that does not
    answer, MissingDependencyError where dask is missing.
    """
    if cluster:
        with _executor(cluster) as executor:
            yield Place(workers=_TASKS_IN_FLIGHT, executor=executor)
    else:
        with process_place(workers) if workers else nullcontext(Place()) as place:
            yield place


@contextmanager
def _executor(cluster: str) -> Iterator["ClusterExecutor"]:
    with one_thread_each(), _client(cluster) as client:
        executor = ClusterExecutor(client)
        try:
            yield executor
        finally:
            executor.shutdown()


class ClusterExecutor(Executor):
    """Sends tasks to a dask cluster. Tables among the arguments are sent to the scheduler once.

    client : `distributed.Client`; it is left open.
    """

    def __init__(self, client: Any) -> None:
        """Keep the client."""
        self._client = client
        self._sent: dict[int, tuple[object, Any]] = {}
        self._lock = Lock()
        self._running: set[Future[Any]] = set()

    def submit(self, function: Callable[..., Outcome], /, *arguments: Any, **named: Any) -> "Future[Outcome]":
        """Return the future result of `function(*arguments, **named)` on one of the workers."""
        ours: Future[Outcome] = Future()
        tries = count()
        latest: list[Any] = []

        def send() -> None:
            sent = [self._once(argument) for argument in arguments]
            theirs = self._client.submit(with_versions, own_versions(), function, *sent, pure=False, **named)
            latest[:] = [theirs]
            theirs.add_done_callback(finished)

        def finished(theirs: Any) -> None:
            lost = self._forgotten(theirs) and not ours.cancelled() and next(tries) < _DEATHS_ALLOWED
            send() if lost else _pass_on(theirs, ours)

        def ended(future: "Future[Outcome]") -> None:
            self._running.discard(future)
            if future.cancelled():
                latest[0].cancel()

        send()
        self._running.add(ours)
        ours.add_done_callback(ended)
        return ours

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Give up what still runs; the client stays open."""
        for future in list(self._running):
            future.cancel()
        self._sent.clear()

    def _once(self, argument: object) -> object:
        if not isinstance(argument, FoldTable | pd.DataFrame | np.ndarray):
            return argument
        with self._lock:
            if id(argument) not in self._sent:
                # A task, not scattered data: it is done again where the only worker that had it died.
                with catch_warnings():
                    filterwarnings("ignore", "Sending large graph", UserWarning)
                    sent = self._client.submit(itself, argument, pure=False)
                # The argument is kept, so that no other gets its id.
                self._sent[id(argument)] = (argument, sent)
            return self._sent[id(argument)][1]

    def _forgotten(self, theirs: Any) -> bool:
        """Return whether a task failed for what it shares with others, which is then sent again.

        Each death of a worker that was to copy a table counts against the table, over the whole study and
        whatever ended the worker: in a long one, dask gives the table up.
        """
        if theirs.status != "error":
            return False
        given_up = getattr(theirs.exception(), "task", None)
        with self._lock:
            self._sent = {place: pair for place, pair in self._sent.items() if pair[1].key != given_up}
        # Of several tasks that share it, the first one has removed it.
        return str(given_up).startswith(f"{itself.__name__}-")


@cache
def own_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on, in this process."""
    return {"python": platform.python_version()} | {name: version(name) for name in _COMPARED}


def with_versions(expected: dict[str, str], function: Callable[..., Outcome], *arguments: Any) -> Outcome:
    """Return `function(*arguments)` on a worker; TrainlawError where its versions are not the expected ones.

    Workers may come at any time, so that every task compares them.
    """
    found = own_versions()
    for name, wanted in expected.items():
        if found[name] != wanted:
            raise TrainlawError(
                f"a worker of the cluster has {name} {found[name]}, here it is {wanted}: "
                "results would differ; install the same versions there"
            )
    return function(*arguments)


def check_workers(client: Any) -> None:
    """Wait for a worker; TrainlawError where none comes."""
    try:
        client.wait_for_workers(1, timeout=_SECONDS_TO_FIRST_WORKER)
    except TimeoutError:
        raise TrainlawError(
            f"the cluster has no worker after {_SECONDS_TO_FIRST_WORKER:g} s: start workers with trainlaw, "
            "then the same command continues"
        ) from None


def itself(argument: object) -> object:
    """Return the argument: as the result of a task, it is on a worker, and other tasks can share it."""
    return argument


def _pass_on(theirs: Any, ours: "Future[Any]") -> None:
    """Give the result or the error of a task on the cluster to the future that somebody waits for."""
    if not ours.set_running_or_notify_cancel():
        return
    try:
        ours.set_result(theirs.result())
    except Exception as error:  # whatever the task or the cluster raised belongs to whoever waits
        ours.set_exception(_named(error))
    except BaseException:  # dask's CancelledError is no Exception
        ours.set_exception(TrainlawError(_GIVEN_UP))


def _named(error: Exception) -> Exception:
    if type(error).__name__ in _LOST:
        return TrainlawError(_GIVEN_UP)
    if type(error).__name__ == "KilledWorker":
        return TrainlawError(
            f"a task ended its worker again and again, perhaps for lack of memory: {error.args[0]}"
        )
    return error


@contextmanager
def _client(cluster: str) -> Iterator[Any]:
    """Give a client of the cluster, which ends with the block where it was started here."""
    distributed = optional_package("distributed", "cluster")
    dask = optional_package("dask", "cluster")
    _silence(("distributed", "asyncio", "tornado"))
    with dask.config.set(_SETTINGS), _started(cluster, distributed) as address:
        try:
            client = distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
        # Of an address such as tls:// or ucx:// without its settings, distributed says so in any of these.
        except (OSError, TimeoutError, ValueError, TypeError, RuntimeError, ImportError) as error:
            raise InputError(
                f"--cluster {cluster}: expected a dask scheduler that answers: {error}"
            ) from None
        with client:
            check_workers(client)
            yield client


def _silence(roots: tuple[str, ...]) -> None:
    """Keep loggers from printing tracebacks: what a lost scheduler or worker means is said in one line."""
    # Some loggers of distributed have levels and handlers apart from those of their parents.
    for name in [*roots, *logging.root.manager.loggerDict]:
        if name.partition(".")[0] in roots:
            logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def _started(cluster: str, distributed: Any) -> Iterator[Any]:
    """Give the address of the cluster, or the cluster that the text asks to start."""
    if "://" in cluster:
        yield cluster
    elif cluster.startswith(_LOCAL):
        number = local_workers(cluster)
        optional_package("cryptography", "cluster")
        try:
            # With temporary certificates: other users of this machine can connect to its ports, too.
            local = distributed.LocalCluster(
                n_workers=number,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                security=True,
                silence_logs=logging.CRITICAL,
            )
        except (OSError, RuntimeError, TimeoutError) as error:
            raise TrainlawError(f"--cluster {cluster}: the scheduler did not start: {error}") from None
        with local:
            yield local
    else:
        raise InputError(f"--cluster: expected {_FORMS}; got {shown(cluster)}")


def local_workers(cluster: str) -> int:
    """Return N of `local:N`; InputError for what is no sensible number.

    >>> local_workers("local:4")
    4
    """
    text = cluster.removeprefix(_LOCAL)
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= _MOST_LOCAL_WORKERS):
        raise InputError(
            f"--cluster: expected local:N with N from 1 to {_MOST_LOCAL_WORKERS}, got {shown(cluster)}"
        )
    return int(text)
