import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from math import factorial, sqrt
from pathlib import Path

import pytest
from trainlaw.formulas import TrainlawError
from trainlaw.validate import workers
from trainlaw.validate.workers import WorkerPool, run_tasks


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_once(workers):
    # A partial of a named function travels, too.
    assert sorted(run_tasks(partial(pow, 2), range(7), workers)) == [2**n for n in range(7)]


def test_a_lent_executor_is_used_and_left_running():
    with ThreadPoolExecutor(2) as executor:
        assert sorted(run_tasks(factorial, range(5), 2, executor)) == [1, 1, 2, 6, 24]
        assert executor.submit(factorial, 3).result() == 6


def test_tasks_are_made_only_as_they_are_needed():
    made = []

    def tasks():
        for number in range(100):
            made.append(number)
            yield number

    with ThreadPoolExecutor(2) as executor:
        running = run_tasks(factorial, tasks(), 2, executor)
        next(running)
        assert len(made) <= 4
        running.close()


def test_an_error_in_a_process_is_raised_here():
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        list(run_tasks(sqrt, [1.0, -1.0, 4.0], 2))


def test_a_task_that_always_ends_its_worker_is_reported(monkeypatch):
    monkeypatch.setattr(workers, "MOST_REPEATS", 1)
    with pytest.raises(TrainlawError, match="worker process died"):
        list(run_tasks(os._exit, [3], workers=2))


# Kills its process at the first run; a spawned process need not import these tests.
DIES_ONCE = """
import os, pathlib, signal
path = pathlib.Path({path!r})
first = not path.exists()
path.open("a").write("x")
if first:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a signal of POSIX systems")
def test_a_task_whose_worker_is_killed_is_sent_again(tmp_path):
    before = set(multiprocessing.active_children())
    with WorkerPool(2) as pool:
        pool.submit(exec, DIES_ONCE.format(path=str(tmp_path / "task"))).result()
        assert (tmp_path / "task").read_text() == "xx"
    assert set(multiprocessing.active_children()) <= before


def end_at_once():
    """Stands for a worker that dies before it has read its task."""
    os._exit(1)


def test_a_worker_that_dies_before_it_reads_a_large_task_is_reported(monkeypatch):
    monkeypatch.setattr(workers, "follow_parent", end_at_once)
    with pytest.raises(TrainlawError, match="a worker process died"), WorkerPool(1) as pool:
        pool.submit(len, bytes(10_000_000)).result()


def test_a_pool_that_is_given_up_ends_its_processes_at_once():
    pool = WorkerPool(1)
    running, waiting = (pool.submit(time.sleep, 600.0) for _ in range(2))
    while not multiprocessing.active_children():
        time.sleep(0.01)
    pool.shutdown(wait=False)
    for future in (running, waiting):
        with pytest.raises(CancelledError):
            future.result(timeout=0)
    with pytest.raises(RuntimeError):
        pool.submit(os.getpid)


INTERRUPTED = """
import time
from trainlaw.validate import workers
from trainlaw.validate.workers import WorkerPool, run_tasks

if __name__ == "__main__":
    try:
        for done in run_tasks(time.sleep, [0.0, 600.0, 600.0], workers=2):
            print("first done", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_an_interrupt_ends_the_workers_at_once(start_process, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    process = start_process([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "first done\n"
    os.killpg(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=300)  # the tasks take 600 s
    assert rest == "interrupted\n"
    assert process.returncode == 0


ORPHANED = """
import multiprocessing, time
from trainlaw.validate import workers
from trainlaw.validate.workers import WorkerPool, run_tasks

if __name__ == "__main__":
    for done in run_tasks(time.sleep, [0.0, 600.0, 600.0], workers=2):
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="asks /proc which processes run")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_no_worker_outlives_a_parent_that_is_killed(name, start_process, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(ORPHANED)
    process = start_process([sys.executable, script], stdout=subprocess.PIPE, text=True)
    numbers = [int(text) for text in process.stdout.readline().split()]
    assert len(numbers) == 2
    process.send_signal(getattr(signal, name))
    process.wait()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and any(is_alive(pid) for pid in numbers):
        time.sleep(0.05)
    assert not any(is_alive(pid) for pid in numbers)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
