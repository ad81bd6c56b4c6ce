"""The logs of Lightning: the report of its simple profiler, and `metrics.csv`."""

import csv
import re

import numpy as np
from trainlaw.datasets.logs.training_log import TrainingLog, stated
from trainlaw.formulas.errors import InputError

MARK = re.compile(r"^\s*\|\s*Action\s*\|\s*Mean duration \(s\)", re.MULTILINE)
METRICS = re.compile(
    r"\A(?=[^\n]{0,9999}\bstep\b)(?=[^\n]{0,9999}(?:_step\b|_epoch\b|lr-|_per_sec\b|_time))[^\n]{0,9999}\bepoch\b"
)
_PROFILER, _LOGGER = "Lightning's simple profiler", "Lightning's metrics.csv"
_STEP, _NEXT = "run_training_batch", re.compile(r"train(?:ing)?_?(?:dataloader)?_next$|get_train_batch$")
_RATE, _IMAGES = (re.compile(rf"(?:^|[/|]){name}_per_sec$") for name in ("batches", "samples"))
_TIME = re.compile(
    r"(?:^|[/|_])(?:step|batch|iter|iteration)_(?:time|duration)(?:_(s|ms|sec|seconds))?(?:_step)?$"
)
_UNITS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3}
_LEAST_CALLS = 20  # of fewer, the start-up of the first makes a mean


def read(text: str) -> TrainingLog:
    """Return the training in a profiler's report: the mean over all batches, the first inside."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    named = {row[0]: row[1:3] for row in rows if len(row) >= 3}
    if _STEP not in named:
        return TrainingLog(_PROFILER, missing=f"the report has no row {_STEP}")
    seconds, calls = float(named[_STEP][0]), int(named[_STEP][1])
    if calls < _LEAST_CALLS:
        raise InputError(f"expected at least {_LEAST_CALLS} batches, got {calls}: the first is the start-up")
    waits = [float(row[0]) for name, row in named.items() if _NEXT.search(name)]
    wait = waits[0] if len(waits) == 1 else float("nan")
    whole = seconds + (0.0 if np.isnan(wait) else wait)
    notes = (f"the mean of {calls} batches, the start-up of the first inside",)
    return TrainingLog(
        _PROFILER, stated(framework="PyTorch"), np.array([whole]), np.array([wait]), notes=notes
    )


def read_metrics(text: str) -> TrainingLog:
    """Return the training in a `metrics.csv`, if it holds batches per second or times of steps."""
    rows = list(csv.DictReader(text.splitlines()))
    names = [name for name in (rows[0] if rows else ()) if name]
    rates = sorted((name for name in names if _RATE.search(name)), key=len)
    timed = [(name, match[1]) for name in names if (match := _TIME.search(name))]
    if not rates and len(timed) != 1:
        return TrainingLog(_LOGGER, missing="it holds steps and losses; train with a ThroughputMonitor")
    if not rates and not timed[0][1]:
        return TrainingLog(_LOGGER, missing=f"{timed[0][0]} has no unit; write _s or _ms behind its name")
    heading = rates[0] if rates else timed[0][0]
    numbers = np.array([float(row[heading]) for row in rows if row[heading]])[1:]
    if not len(numbers):
        raise InputError(f"expected two rows with {heading}, got one: the first holds the start-up")
    if not rates:
        return TrainingLog(_LOGGER, stated(framework="PyTorch"), numbers * _UNITS[timed[0][1]])
    images = [float(row.get(heading.replace("batches", "samples")) or "nan") for row in rows if row[heading]]
    batch = float(np.median(np.array(images[1:]) / numbers))
    facts = stated(batch_per_gpu=round(batch) if np.isfinite(batch) else 0, framework="PyTorch")
    return TrainingLog(_LOGGER, facts, 1.0 / numbers)
