"""Speed-up and overhead of a study on a dask cluster of this machine: `python -m benchmarks.cluster_speed`.

The same study of 17 folds, one per GPU group, runs in one worker process, and on clusters of one and two
workers of one thread. Next to the wall time stand seconds of processors, which a busy machine changes less:
of all processes, of the process that the user started (with the scheduler and the client), and of the busiest
worker. On two free cores the wall time is about that of the last two together. Needs /proc.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainlaw.app.text.tables import text_table

from benchmarks.interruptions import COMPARED, members

PLACES: Mapping[str, tuple[str, ...]] = {
    "1 process": ("--workers", "1"),
    "2 processes": ("--workers", "2"),
    "cluster, 1 worker": ("--cluster", "local:1"),
    "cluster, 2 workers": ("--cluster", "local:2"),
}
STUDY = ("fp32-2026", "--of", "free-runs", "--split", "gpu", "--seeds", "1", "--against", "null_compute")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAUSE_SECONDS = 0.2


def busy_seconds(process: int) -> float | None:
    """Return the seconds of a processor that a process and its finished children took; None if it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / _TICKS


def timed(folder: Path, options: Sequence[str]) -> tuple[float, dict[int, float], int, list[bytes]]:
    """Run a study; return its wall time, the busy seconds of each process, its own id, and its files."""
    command = [sys.executable, "-m", "trainlaw", "study", *STUDY, "--out", str(folder / "run"), *options]
    began, found = time.monotonic(), dict[int, float]()
    with (folder / "log.txt").open("w") as log:
        study = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        while study.poll() is None:
            for process in members(study.pid):
                seconds = busy_seconds(process)
                if seconds is not None:
                    found[process] = seconds
            time.sleep(_PAUSE_SECONDS)
    if study.returncode:
        raise SystemExit((folder / "log.txt").read_text()[-2000:])
    content = [(folder / "run" / name).read_bytes() for name in COMPARED]
    return time.monotonic() - began, found, study.pid, content


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line per place, the speed-up and the overhead; exit status 1 where bytes differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=5_000, help="formulas tried by each search")
    parser.add_argument("--places", nargs="+", choices=PLACES, default=tuple(PLACES))
    options = parser.parse_args(arguments)
    rows, seconds, contents = [], {}, []
    for name in options.places:
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder:
            wall, busy, own, content = timed(
                Path(folder), (*PLACES[name], "--evaluations", str(options.evaluations))
            )
        contents.append(content)
        workers = sorted((value for process, value in busy.items() if process != own), reverse=True)
        total, longest = sum(busy.values()), busy[own] + max(workers)
        seconds[name] = total, longest, wall
        rows.append(
            [
                name,
                *(f"{value:.1f}" for value in (load, wall, total, busy[own])),
                " ".join(f"{value:.1f}" for value in workers if value >= 0.5),
            ]
        )
        print(*rows[-1], sep=", ", file=sys.stderr, flush=True)
    print(text_table(["place", "load before", "wall, s", "busy, s", "main, s", "workers, s"], rows))
    for what, first, second in (
        ("speed-up, 2 workers of a cluster", "cluster, 1 worker", "cluster, 2 workers"),
        ("of a cluster against processes, 1", "cluster, 1 worker", "1 process"),
        ("of a cluster against processes, 2", "cluster, 2 workers", "2 processes"),
    ):
        if first in seconds and second in seconds:
            total, longest, wall = (a / b for a, b in zip(seconds[first], seconds[second], strict=True))
            print(f"{what}: busy {total:.2f}, main and busiest worker {longest:.2f}, wall {wall:.2f}")
    if any(content != contents[0] for content in contents):
        raise SystemExit("the files differ")
    print(f"the same bytes in {', '.join(COMPARED)}")


if __name__ == "__main__":
    main()
