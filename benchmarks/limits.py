"""Time limits and peak memory of whole fits, by rows and features, each in its own process. Needs /proc."""

import json
import subprocess
import sys

# Rows, features and time limit in seconds.
CASES = (
    (1_000, 5, 5.0),
    (1_000, 134, 5.0),
    (1_000, 500, 5.0),
    (1_000, 2_000, 10.0),
    (100_000, 22, 5.0),
    (100_000, 134, 10.0),
    (1_000_000, 5, 10.0),
    (1_000_000, 22, 10.0),
)

_CHILD = """
import json, sys, time
from pathlib import Path
import numpy as np
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.regressor import compile_machine

rows, features, limit = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
compile_machine()
generator = np.random.default_rng(0)
X = generator.uniform(1.0, 2.0, (rows, features))
y = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + generator.normal(0.0, 0.1, rows)

def peak():
    # The peak of getrusage begins with that of the parent.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

before, began = peak(), time.monotonic()
settings = SearchSettings(limit_seconds=limit, evaluations=None, threads=2)
fitted = FormulaRegressor(settings=settings).fit(X, y)
print(json.dumps([time.monotonic() - began, fitted.evaluations_, X.nbytes / 2**20, before, peak()]))
"""


def limit_rows() -> list[dict[str, object]]:
    """Return per case the seconds of a fit, the formulas tried, and memory in MiB, the table's included."""
    table = []
    for rows, features, limit in CASES:
        arguments = [sys.executable, "-c", _CHILD, str(rows), str(features), str(limit)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        seconds, tried, size, before, peak = json.loads(done.stdout)
        table.append(
            {
                "rows": rows,
                "features": features,
                "limit, s": limit,
                "fit, s": seconds,
                "formulas tried": tried,
                "table, MiB": size,
                "peak of the process, MiB": peak,
                "growth in tables": (peak - before) / size,
            }
        )
    return table
