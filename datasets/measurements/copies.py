"""Runs that would make a held-out error look small: copies under another GPU's name, the time as a label."""

import numpy as np
import pandas as pd
from trainlaw.datasets.files.faults import Fault
from trainlaw.datasets.files.storage import records

# All that makes up a configuration but the GPU and what was found out about it.
_CONFIGURATION = [
    "cnn", "input_size_px", "n_classes", "batch_per_gpu", "n_gpus", "n_nodes", "precision", "layout",
    "compilation", "timed_parts",
]  # fmt: skip
# Two GPUs may have one time in common; in 6,789 measured runs of the shipped tables no two have.
_LEAST_COPIES = 3
_LABELS = ("harness", "framework", "framework_version", "source", "data", "precision_stated", "pool_reason")
_OTHER_TIMES = ("host_launch_s", "single_gpu_time_s")


def copy_faults(runs: pd.DataFrame) -> list[Fault]:
    """Return a fault per GPU whose runs have, to the last digit, the times of another GPU.

    A pair is named from three equal times on, if they are half of its common configurations or more.
    """
    if runs["gpu"].nunique() < 2:
        return []
    names = ["gpu", *_CONFIGURATION, "time_s"]
    first = runs[names].assign(row=np.arange(len(runs)) + 1).drop_duplicates(names)
    equal = _pairs(first, [*_CONFIGURATION, "time_s"])
    counts = equal.groupby(["gpu_x", "gpu_y"]).agg(copies=("time_s", "nunique"), row=("row_y", "first"))
    counts = counts[counts["copies"] >= _LEAST_COPIES]
    if counts.empty:
        return []
    common = _pairs(first.drop_duplicates(["gpu", *_CONFIGURATION]), _CONFIGURATION)
    shared = common.groupby(["gpu_x", "gpu_y"]).size()
    found = counts.reset_index().assign(common=shared.reindex(counts.index, fill_value=0).to_numpy())
    return [
        Fault(
            row["row"], "time_s", None,
            f"measurements of {row['gpu_y']}: {row['copies']} times are, to the last digit, those of "
            f"{row['gpu_x']}; remove the copies",
        )
        for row in records(found[2 * found["copies"] >= found["common"]])
    ]  # fmt: skip


def _pairs(runs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return runs of two GPUs that agree in `keys`, each pair once: first the GPU that comes first."""
    alike = runs[runs.duplicated(keys, keep=False)]
    both = alike.merge(alike, on=keys)
    order = {gpu: place for place, gpu in enumerate(runs["gpu"].unique())}
    return both[both["gpu_x"].map(order) < both["gpu_y"].map(order)]


def target_faults(runs: pd.DataFrame) -> list[Fault]:
    """Return a fault per column that says the time again: a label or a feature would be the target."""
    if len(runs) < _LEAST_COPIES or runs["time_s"].nunique() < _LEAST_COPIES:
        return []
    several = runs["n_gpus"] > 1
    said = {name: pd.to_numeric(runs[name], errors="coerce") for name in _LABELS}
    said |= {name: runs[name] for name in _OTHER_TIMES}
    return [
        Fault(
            None,
            name,
            None,
            "something other than the time of each run, which is the target; remove the column",
        )
        for name, values in said.items()
        if np.isclose(values, runs["time_s"], rtol=1e-9, atol=0).all()
        and (name != "single_gpu_time_s" or several.any())
    ]
