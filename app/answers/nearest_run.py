"""The measured run nearest to a configuration, and the time that the formula gives there."""

from collections.abc import Mapping
from math import nan
from typing import Any

import numpy as np
from trainlaw.app.models.scopes import formula_rows
from trainlaw.datasets import RunTable
from trainlaw.datasets.cnns.zoo import zoo_entry
from trainlaw.datasets.measurements.nearest import Measured, nearest_measured
from trainlaw.datasets.measurements.stacks import UNKNOWN
from trainlaw.formulas import Formula, UnknownNameError
from trainlaw.formulas.scopes import FORWARD

# More predictions are shown as a table, without lines of figures.
_MOST_SHOWN = 50
# The compilation of the measured runs.
_USUAL = ("eager", UNKNOWN)
_COMPARED = (
    "cnn",
    "input_size_px",
    "n_classes",
    "gpu",
    "batch_per_gpu",
    "precision",
    "n_gpus",
    "layout",
    "compilation",
    "tuned",
    "stack",
)


def nearest_run_columns(formula: Formula, runs: RunTable) -> dict[str, np.ndarray]:
    """Return what was measured nearest to each run, and the formula's time there, (n_runs,) by name.

    A run on one GPU is compared with those of the same image size and software that differ from it by the
    batch alone; of many runs, and of forward passes, nothing is returned.
    """
    if formula.scope == FORWARD or len(runs) > _MOST_SHOWN:
        return {}
    numbers, different = runs.joined.different(_COMPARED)
    near = [_measured_near(dict(zip(_COMPARED, run, strict=True))) for run in different]
    if not any(near):
        return {}
    found = [near[number] for number in numbers]
    asked = runs.column("batch_per_gpu").tolist()
    batches = [run.batch_per_gpu if run else batch for run, batch in zip(found, asked, strict=True)]
    there = runs.with_batches(batches)
    columns = {
        "nearest_batch": [run.batch_per_gpu if run else nan for run in found],
        "nearest_low_s": [run.low_s if run else nan for run in found],
        "nearest_high_s": [run.high_s if run else nan for run in found],
        "nearest_time_s": formula_rows(formula, there).predict(formula),
    }
    return {name: np.asarray(values, dtype=float) for name, values in columns.items()}


def _measured_near(run: Mapping[str, Any]) -> Measured | None:
    """Return the runs nearest to a row of a table of runs, given by its columns `_COMPARED`."""
    cnn, pixels, is_last = run["cnn"], run["input_size_px"], run["layout"] == "channels_last"
    stacks = ("channels_last" if is_last else "eager", UNKNOWN)
    if run["n_gpus"] > 1 or run["tuned"] or run["compilation"] not in _USUAL or run["stack"] not in stacks:
        return None
    try:
        usual = zoo_entry(cnn)
    except UnknownNameError:
        return None
    if run["n_classes"] != usual.n_classes:
        return None
    return nearest_measured(
        cnn,
        run["gpu"],
        run["batch_per_gpu"],
        run["precision"],
        is_channels_last=is_last,
        pixels=None if pixels == usual.input_size_px else pixels,
    )
