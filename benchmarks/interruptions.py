r"""Interrupted studies: whatever ends one, no process is left, and the next run ends with the same bytes.

python -m benchmarks.interruptions [workers] [cluster] [load] [worker-deaths] [cluster-deaths] \
    [scheduler-deaths] [kills] [early-kills] [signals] [pairs]

Needs /proc. Every study is a small one, of a few seconds of a processor, on part of a built-in table.
`--count` says how many kills, signals, pairs or studies are tried, `--folder` where the studies stay.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path

from trainlaw.datasets import load

GPUS = ("GTX 1080 Ti", "T4", "P100-SXM2-16GB", "A40")
CNNS = ("resnet50", "vgg16", "alexnet_mx", "inception_v3", "resnet152")
OPTIONS = (
    "--of",
    "free-runs",
    "--folds",
    "3",
    "--seeds",
    "1",
    "--evaluations",
    "300",
    "--against",
    "null_compute,cf9",
)
COMPARED = ("formula.json", "errors.csv", "front.csv", "predictions.csv", "formula.xlsx", "report.html")
MOST_SECONDS = 5.0
MOST_KILLS = 5  # then a study may end
START_SECONDS = 5.0  # of a study or a worker
PAUSE_SECONDS = (4.0, 9.0)  # time for a new worker to start and to finish a task
BUSY_PROCESSES = 8
RESUMED_EVERY = 5  # how many studies are ended by a signal before one is also finished


def start(folder: Path, *options: str, out: Sequence[str] = ("--out", "run")) -> subprocess.Popen[bytes]:
    """Start a study of `folder`/runs.csv into `folder`/run, in a new session."""
    command = [sys.executable, "-m", "trainlaw", "study", "runs.csv", *out, *OPTIONS, *options]
    with (folder / "log.txt").open("a") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)


def members(session: int) -> list[int]:
    """Return the processes of a session that run; one that waits to be reaped does not."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, leader, *_ = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(leader) == session and state != "Z":
            found.append(int(path.parent.name))
    return found


def seconds_until_gone(session: int, most: float) -> float:
    """Return how long processes of the session still run; inf where it is longer than `most` seconds."""
    began = time.monotonic()
    while time.monotonic() - began < most:
        if not members(session):
            return time.monotonic() - began
        time.sleep(0.05)
    return float("inf")


def kept(folder: Path) -> int:
    """Return the number of finished results in the journals of `folder`."""
    return sum(len(path.read_bytes().splitlines()) - 1 for path in folder.glob(".run.*.journal"))


def files(folder: Path) -> list[bytes]:
    """Return the content of the files that must not depend on interruptions."""
    return [(folder / "run" / name).read_bytes() for name in COMPARED]


def finish(folder: Path, *options: str) -> float:
    """Run a study to its end; return the seconds taken."""
    began = time.monotonic()
    if start(folder, *options).wait() != 0:
        raise SystemExit(f"a study failed:\n{(folder / 'log.txt').read_text()[-2000:]}")
    return time.monotonic() - began


class Trials:
    """Folders with the same runs, and the files that an uninterrupted study of them writes."""

    def __init__(self, parent: Path) -> None:
        """Run the uninterrupted study."""
        self.parent, self.made = parent, 0
        self.passed, self.failed = 0, 0
        frame = load("fp32-2026").frame
        self.rows = frame[frame["gpu"].isin(GPUS) & frame["cnn"].isin(CNNS)]
        whole = self.folder()
        self.seconds = finish(whole)
        self.expected = files(whole)
        print(f"uninterrupted: {self.seconds:.1f} s", flush=True)

    def folder(self) -> Path:
        """Return a new folder with the runs."""
        self.made += 1
        folder = self.parent / f"study-{self.made}"
        folder.mkdir()
        self.rows.to_csv(folder / "runs.csv", index=False)
        return folder

    def count(self, passed: bool) -> None:
        """Count a trial that passed or failed."""
        self.passed += passed
        self.failed += not passed

    def report(self, folder: Path, what: str, passed: bool = True) -> None:
        """Say whether the study in `folder` wrote the same bytes and whatever else was `passed`."""
        same = (folder / "run" / COMPARED[0]).is_file() and files(folder) == self.expected
        self.count(same and passed)
        print(f"{what}: {'the same bytes' if same else 'OTHER BYTES'}", flush=True)


def try_workers(trials: Trials, count: int, generator: random.Random) -> None:
    """Compare 1 and 4 worker processes with the default, 2."""
    for workers in (1, 4):
        folder = trials.folder()
        seconds = finish(folder, "--workers", str(workers))
        trials.report(folder, f"{workers} workers, {seconds:.1f} s")


def try_cluster(trials: Trials, count: int, generator: random.Random) -> None:
    """Compare dask clusters of 1, 2 and 4 workers of this machine with local processes."""
    for workers in (1, 2, 4):
        folder = trials.folder()
        seconds = finish(folder, "--cluster", f"local:{workers}")
        trials.report(folder, f"cluster of {workers} workers, {seconds:.1f} s")


@contextmanager
def busy(processes: int):
    """Keep processors busy inside the block."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def try_load(trials: Trials, count: int, generator: random.Random) -> None:
    """Run a study next to eight busy processes."""
    folder = trials.folder()
    with busy(BUSY_PROCESSES):
        seconds = finish(folder)
    trials.report(folder, f"under load {BUSY_PROCESSES}, {seconds:.1f} s")


def workers_of(session: int) -> list[int]:
    """Return the worker processes of a session."""
    found = []
    for number in members(session):
        try:
            if b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes():
                found.append(number)
        except OSError:
            continue
    return found


def try_worker_deaths(trials: Trials, count: int, generator: random.Random) -> None:
    """Kill a random worker every few seconds until the study ends."""

    def pause(_: int) -> float:
        return generator.uniform(0.04, 0.08) * trials.seconds

    for _ in range(count):
        folder = trials.folder()
        kill_workers(trials, folder, start(folder), pause, generator)


def try_cluster_deaths(trials: Trials, count: int, generator: random.Random) -> None:
    """Kill random workers of a dask cluster: two in the first seconds, while they start, then others."""

    def pause(deaths: int) -> float:
        return generator.uniform(0.2, START_SECONDS / 2) if deaths < 2 else generator.uniform(*PAUSE_SECONDS)

    for _ in range(count):
        folder = trials.folder()
        kill_workers(trials, folder, start(folder, "--cluster", "local:2"), pause, generator)


def kill_workers(
    trials: Trials,
    folder: Path,
    process: subprocess.Popen[bytes],
    pause: Callable[[int], float],
    generator: random.Random,
) -> None:
    """Kill random workers until a study ends; pause : seconds before the next one, by how many died."""
    deaths, began, moments = 0, time.monotonic(), []
    while process.poll() is None:
        time.sleep(pause(deaths))
        workers = workers_of(process.pid)
        if workers and process.poll() is None:
            os.kill(generator.choice(workers), signal.SIGKILL)
            moments.append(f"{time.monotonic() - began:.1f}")
            deaths += 1
    what = f"{deaths} workers killed, after {', '.join(moments)} s"
    trials.report(folder, what, process.returncode == 0)


@contextmanager
def scheduler(folder: Path):
    """Start a dask scheduler with two workers; give its process and its address."""
    place = folder / "scheduler.json"
    common = [sys.executable, "-m"]
    commands = [
        ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        *2 * [["distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]],
    ]
    with (folder / "cluster.txt").open("a") as log:
        running = [
            subprocess.Popen([*common, *command, "--scheduler-file", str(place)], stdout=log, stderr=log)
            for command in commands
        ]
    try:
        while not place.is_file() or not place.read_text().endswith("}"):
            time.sleep(0.1)
        yield running[0], json.loads(place.read_text())["address"]
    finally:
        for process in running:
            process.kill()
            process.wait()


def try_scheduler_deaths(trials: Trials, count: int, generator: random.Random) -> None:
    """Kill the scheduler that a study uses: it must end with one line, and continue without a cluster."""
    done = 0
    while done < count:
        folder = trials.folder()
        with scheduler(folder) as (process, address):
            study = start(folder, "--cluster", address)
            time.sleep(START_SECONDS / 2 + generator.uniform(0.0, 1.0) * trials.seconds)
            process.kill()
            if study.wait() == 0:
                # It had all results and was writing, or had ended.
                continue
        done += 1
        lines = (folder / "log.txt").read_text().splitlines()
        said, kept_results = [line for line in lines if line.startswith("trainlaw: ")], kept(folder)
        one_line = len(said) == 1 and not any("Traceback" in line for line in lines)
        finish(folder, *(["--resume"] if list(folder.glob(".run.*.journal")) else []))
        what = f"scheduler {done} killed: exit {study.returncode}, {kept_results} results kept, {said}"
        trials.report(folder, what, one_line and study.returncode == 2)


def try_pairs(trials: Trials, count: int, generator: random.Random) -> None:
    """Start two studies at the same time, so that both want the next free folder: both must be complete."""
    for number in range(count):
        folder = trials.folder()
        both = [start(folder, out=()) for _ in range(2)]
        ended = [process.wait() for process in both]
        results = sorted(path.parent.name for path in folder.glob("*/formula.json"))
        equal = {b"".join((folder / name / item).read_bytes() for item in COMPARED) for name in results}
        passed = ended == [0, 0] and len(results) == 2 and equal == {b"".join(trials.expected)}
        trials.count(passed)
        what = f"pair {number + 1}: exit {ended}, {', '.join(results)}"
        print(f"{what}: {'complete' if passed else 'FAILED'}", flush=True)


def try_kills(trials: Trials, count: int, generator: random.Random) -> None:
    """Kill the study with all its processes at random moments, most studies several times, until it ends."""
    kill_studies(trials, count, lambda: generator.uniform(0.05, 0.95) * trials.seconds)


def try_early_kills(trials: Trials, count: int, generator: random.Random) -> None:
    """Kill the study with all its processes in its first five seconds."""
    kill_studies(trials, count, lambda: generator.uniform(0.0, START_SECONDS))


def kill_studies(trials: Trials, count: int, moment: Callable[[], float]) -> None:
    """Kill studies `count` times, each at most five times; moment : seconds after the start."""
    total = 0
    while total < count:
        folder, kills, longest, results = trials.folder(), 0, 0.0, []
        process = start(folder)
        while kills < MOST_KILLS and total < count:
            try:
                process.wait(moment())
                break
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                longest = max(longest, seconds_until_gone(process.pid, 60.0))
                results.append(kept(folder))
                kills, total = kills + 1, total + 1
                process = start(folder)
        process.wait()
        what = f"kill {total} of {count}: after {', '.join(map(str, results)) or 'no'} results, "
        what += f"gone in {longest:.1f} s"
        trials.report(folder, what, longest <= MOST_SECONDS)


def try_signals(trials: Trials, count: int, generator: random.Random) -> None:
    """End a study by each signal in turn at a random moment, then let it end."""
    kinds = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)
    for number in range(count):
        folder, kind = trials.folder(), kinds[number % len(kinds)]
        process = start(folder)
        moment = generator.uniform(0.05, 0.95) * trials.seconds
        time.sleep(moment)
        # To all processes, as a terminal or a batch system does, or to the study alone.
        (os.killpg if number // len(kinds) % 2 else os.kill)(process.pid, kind)
        process_began = time.monotonic()
        process.wait()
        gone = time.monotonic() - process_began + seconds_until_gone(process.pid, 60.0)
        results, partial = kept(folder), (folder / "run").is_dir()
        what = f"{kind.name} after {moment:.0f} s: gone in {gone:.1f} s, exit {process.returncode}, "
        what += f"{results} results kept{', partial folder' if partial else ''}"
        # Most of the time goes into these, and that kills do not change the bytes is another trial.
        if number % RESUMED_EVERY:
            trials.count(gone <= MOST_SECONDS)
            print(what, flush=True)
            continue
        if process.returncode != 0:
            finish(folder)
        trials.report(folder, what, gone <= MOST_SECONDS)


TRIALS: dict[str, Callable[[Trials, int, random.Random], None]] = {
    "workers": try_workers,
    "cluster": try_cluster,
    "load": try_load,
    "worker-deaths": try_worker_deaths,
    "cluster-deaths": try_cluster_deaths,
    "scheduler-deaths": try_scheduler_deaths,
    "kills": try_kills,
    "early-kills": try_early_kills,
    "signals": try_signals,
    "pairs": try_pairs,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run some kinds of trials and report every study; exit status 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trials", nargs="+", choices=TRIALS)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the studies stay; by default they are removed")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        trials = Trials(options.folder or Path(name))
        for trial in options.trials:
            before = trials.passed, trials.failed
            TRIALS[trial](trials, options.count, random.Random(options.seed))
            passed, failed = trials.passed - before[0], trials.failed - before[1]
            print(f"{trial}: {passed} of {passed + failed} as they should be", flush=True)
        if trials.failed:
            raise SystemExit(f"{trials.failed} studies failed")


if __name__ == "__main__":
    main()
