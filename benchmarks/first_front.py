"""Time from the start of a process to the first useful front, with and without compiled code on disk."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A front is useful below this mean training error of its best formula, percent.
USEFUL_PERCENT = 20.0

_CHILD = f"""
import sys, time
began = float(sys.argv[1])
import numpy as np
from trainlaw.app.studies.skeleton import RUN_SKELETON
from trainlaw.datasets import TARGET, feature_specs, load
from trainlaw.evolve import SearchSettings
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.loop import run, start_state
from trainlaw.evolve.search.trees import to_expression
from trainlaw.evolve.search.candidates import values_of

runs = load("fp32-2026")
X = runs.features(RUN_SKELETON.names).to_numpy()
groups = runs.labels()["gpu_group"].to_numpy(str)
settings = SearchSettings(evaluations=None, limit_seconds=120.0, threads=2)
problem = make_problem(X, runs.seconds, feature_specs(RUN_SKELETON.names), TARGET, settings, groups=groups)

class Useful(Exception):
    pass

state = start_state(problem)
print("first front", time.time() - began, time.process_time(), flush=True)

def look(progress):
    best = state.front("loss")[-1]
    values = values_of(to_expression(best), problem)[0]
    error = 100.0 * np.mean(np.abs(values / runs.seconds - 1.0))
    if error < {USEFUL_PERCENT}:
        print("useful front", time.time() - began, round(error, 1), progress.evaluations, flush=True)
        raise Useful

try:
    run(state, problem, look)
except Useful:
    pass
"""


def first_front_rows() -> list[dict[str, object]]:
    """Return seconds from the start of the process, with an empty and a full cache of compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        return [_timed(label, environment) for label in ("compiled in this run", "compiled before")]


def _timed(label: str, environment: dict[str, str]) -> dict[str, object]:
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(began)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = {line[:12].strip(): line[12:].split() for line in done.stdout.splitlines()}
    return {
        "code": label,
        "first front, s": float(lines["first front"][0]),
        "processor time until then, s": float(lines["first front"][1]),
        f"best formula below {USEFUL_PERCENT:g} % on the training rows, s": float(lines["useful front"][0]),
        "formulas tried by then": int(lines["useful front"][2]),
    }
