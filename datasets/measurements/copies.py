"""Detection of leaks: runs duplicated under a second GPU's name, and labels that equal the time."""

import numpy as np
import pandas as pd
from trainlaw.datasets.files.checks import MAX_FAULTS
from trainlaw.datasets.files.faults import Fault
from trainlaw.datasets.tables.joins import numbered

# Columns that define a configuration, apart from the GPU.
_CONFIGURATION = [
    "cnn",
    "input_size_px",
    "n_classes",
    "batch_per_gpu",
    "n_gpus",
    "n_nodes",
    "precision",
    "layout",
    "compilation",
    "timed_parts",
]
# Two GPUs may share one time by chance; in 6,789 measured runs of the shipped tables no pair does.
_LEAST_COPIES = 3
_MOST_PAIRS = 2_000_000  # about 100 MB as a frame
_FEW = 1_000  # rows that show most differences, before all are compared
_LABELS = ("harness", "framework", "framework_version", "source", "data", "precision_stated", "pool_reason")
_OTHER_TIMES = ("host_launch_s", "single_gpu_time_s")


def copy_faults(runs: pd.DataFrame) -> list[Fault]:
    """Return a fault per GPU whose runs have, to the last digit, the times of another GPU.

    A pair is named from three equal times on, if they are half of the different times that one of them has of
    common configurations.
    """
    gpu, names = pd.factorize(runs["gpu"])
    if len(names) < 2:
        return []
    coded = pd.DataFrame(
        {"gpu": gpu.astype(np.int32), "configuration": numbered(runs[key] for key in _CONFIGURATION)[0]}
    )
    coded = coded.assign(time_s=runs["time_s"].to_numpy(), row=np.arange(1, len(runs) + 1))
    first = coded.drop_duplicates(["gpu", "configuration", "time_s"])
    alike = first[first.duplicated(["configuration", "time_s"], keep=False)]
    if alike.empty:
        return []
    equal = _pairs(alike)
    counts = equal.groupby(["gpu_x", "gpu_y"]).agg(
        copies=("time_s", "nunique"), pairs=("time_s", "size"), row=("row_y", "first")
    )
    found = []
    for pair, copies, pairs, row in counts[counts["copies"] >= _LEAST_COPIES].itertuples(name=None):
        one, two = (first["configuration"][first["gpu"] == each] for each in pair)
        # Of many repeats in few digits, some are equal by chance.
        if 2 * pairs >= min(one.isin(two).sum(), two.isin(one).sum()):
            original, copy = (names[each] for each in pair)
            advice = f"{copies} times are, to the last digit, those of {original}; remove the copies"
            found.append(Fault(int(row), "time_s", None, f"measurements of {copy}: {advice}"))
        if len(found) == MAX_FAULTS:
            break
    return found


def _pairs(alike: pd.DataFrame) -> pd.DataFrame:
    """Return runs of two GPUs with the same configuration and time: first the GPU that comes first."""
    keys = ["configuration", "time_s"]
    # With all pairs of a hundred GPUs, a file of copies alone would fill the memory.
    is_much = int((alike.groupby(keys)["gpu"].size() ** 2).sum()) > _MOST_PAIRS
    both = (alike.drop_duplicates(keys) if is_much else alike).merge(alike, on=keys)
    return both[both["gpu_x"] < both["gpu_y"]]


def target_faults(runs: pd.DataFrame) -> list[Fault]:
    """Return a fault per column that repeats the time: a label or feature made of it would be the target."""
    if len(runs) < _LEAST_COPIES or runs["time_s"].nunique() < _LEAST_COPIES:
        return []
    several = bool((runs["n_gpus"] > 1).any())
    return [
        Fault(
            None,
            name,
            None,
            "something other than the time of each run, which is the target; remove the column",
        )
        for name in (*_LABELS, *_OTHER_TIMES)
        if (name != "single_gpu_time_s" or several)
        and _equals_time(runs[name].iloc[:_FEW], runs["time_s"].iloc[:_FEW])
        and _equals_time(runs[name], runs["time_s"])
    ]


def _equals_time(values: pd.Series, seconds: pd.Series) -> bool:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    return bool(np.isclose(numbers, seconds.to_numpy(), rtol=1e-9, atol=0).all())
