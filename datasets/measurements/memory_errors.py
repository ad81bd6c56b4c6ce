"""How far the estimate of a training step's memory is from what processes used, where sources print it."""

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.memory import step_memory
from trainlaw.datasets.measurements.runs import RunTable


def memory_ratios(table: RunTable, optimizer: str = "sgd") -> pd.DataFrame:
    """Return estimated over measured memory of the runs that state it, one row per such run.

    Columns: `gpu`, `cnn`, `precision`, `batch_per_gpu`, `data`, `measured_bytes`, `estimated_bytes` and
    `ratio`. Runs whose CNN has no counts are left out. `optimizer` is one of `OPTIMIZER_VALUES`.
    """
    frame = table.frame
    rows = []
    stated = frame[frame["memory_bytes"].notna() & (frame["pool_reason"] != _NO_COUNTS)]
    for run in stated.to_dict("records"):
        cnn = table.facts.cnn((str(run["cnn"]), int(run["input_size_px"]), int(run["n_classes"])))
        precision = "fp32" if run["precision"] == "unknown" else str(run["precision"])
        parameters, sample = cnn.counts["params"], cnn.memory_per_image
        step = step_memory(parameters, sample, int(run["batch_per_gpu"]), precision, optimizer)
        rows.append((*(run[name] for name in _KEYS), run["memory_bytes"], step.total))
    found = pd.DataFrame(rows, columns=[*_KEYS, "measured_bytes", "estimated_bytes"])
    return found.assign(ratio=found["estimated_bytes"] / found["measured_bytes"].astype(np.float64))


_NO_COUNTS = "the CNN has no counts"
_KEYS = ("gpu", "cnn", "precision", "batch_per_gpu", "data")
