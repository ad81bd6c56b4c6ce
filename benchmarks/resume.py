"""Resumed searches: a search that is killed at random moments must end as if it had not been interrupted.

python -m benchmarks.resume --kills 50

Each search runs in a separate process that writes checkpoints. The budget counts evaluations, so that every
run must end with the same formula, however often it is killed.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from trainlaw.evolve import FormulaRegressor, SearchSettings

from benchmarks.problems import make_performance_model

EVALUATIONS = 12_000


def search(checkpoint: Path, result: Path) -> None:
    """Run a search from its checkpoint, if any, to its end; write the texts of the front to `result`."""
    problem = make_performance_model("V100")
    settings = SearchSettings(
        evaluations=EVALUATIONS, population=150, islands=2, migration_interval=5,
        checkpoint=str(checkpoint), checkpoint_seconds=0.05,
    )  # fmt: skip
    estimator = FormulaRegressor(problem.features, problem.target, settings)
    estimator.fit(problem.train_x, problem.train_y, problem.groups)
    texts = [member.formula.text(None) for member in estimator.front_]
    result.write_text(json.dumps([estimator.formula_.text(None), *texts]))


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that searches in `folder`."""
    command = [sys.executable, "-m", "benchmarks.resume", "--search", str(folder)]
    return subprocess.Popen(command)


def finish(folder: Path) -> tuple[object, float]:
    """Return the result of an uninterrupted search, and the seconds taken."""
    began = time.monotonic()
    if start(folder).wait() != 0:
        raise SystemExit("a search failed")
    return json.loads((folder / "result.json").read_text()), time.monotonic() - began


def kill_and_resume(folder: Path, kills: int, longest: float, generator: random.Random) -> tuple[int, object]:
    """Kill a search until it ends by itself or was killed `kills` times, then let it end."""
    done = 0
    while done < kills:
        process = start(folder)
        try:
            process.wait(generator.uniform(0.0, longest))
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            done += 1
    if not (folder / "result.json").exists():
        finish(folder)
    return done, json.loads((folder / "result.json").read_text())


def main(arguments: Sequence[str] | None = None) -> None:
    """Kill as often as requested and report whether every search ended with the same front."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--search", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.search:
        search(options.search / "checkpoint.json", options.search / "result.json")
        return
    generator = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "whole").mkdir()
        expected, seconds = finish(Path(name) / "whole")
        print(f"uninterrupted: {seconds:.1f} s, front of {len(expected) - 1} formulas")
        killed = runs = 0
        while killed < options.kills:
            folder = Path(name) / f"run-{runs}"
            folder.mkdir()
            most = min(options.kills - killed, 10)
            done, found = kill_and_resume(folder, most, 1.2 * seconds, generator)
            killed, runs = killed + done, runs + 1
            same = found == expected
            print(f"search {runs}: killed {done} times, {'the same front' if same else 'ANOTHER FRONT'}")
            if not same:
                raise SystemExit(1)
    print(f"{killed} kills in {runs} searches: every one ended with the front of the uninterrupted search")


if __name__ == "__main__":
    main()
