"""What a table of runs covers by any of its dimensions, and how far its sources differ on the same runs."""

from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.runs import LABELS, RunTable
from trainlaw.formulas.errors import unknown_name

DIMENSIONS = (
    *LABELS,
    "layout",
    "compilation",
    "data",
    "bench_year",
    "n_gpus",
    "input_size_px",
    "batch_per_gpu",
)
# Two runs are of one configuration when these agree.
_CONFIGURATION = (
    "gpu", "cnn", "input_size_px", "n_classes", "batch_per_gpu", "n_gpus", "n_nodes", "precision", "layout",
)  # fmt: skip
_NOISE_COLUMNS = ("first", "second", "gpu", "same_parts", "log_ratio")


def dimension_labels(table: RunTable, names: Sequence[str]) -> pd.DataFrame:
    """Return the dimensions of these names as text, shape (n_runs, k); "unknown" where a cell is empty.

    Raises UnknownNameError for a name that is not in `DIMENSIONS`.
    """
    for name in names:
        if name not in DIMENSIONS:
            raise unknown_name("dimension", name, DIMENSIONS)
    frame, labels = table.frame, table.labels() if set(names) & set(LABELS) else pd.DataFrame()
    columns = {name: labels[name] if name in labels else _texts(frame[name]) for name in names}
    return pd.DataFrame(columns, dtype=object)


def _texts(values: pd.Series) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(values):
        return values.astype(object)
    return values.map(lambda value: "unknown" if pd.isna(value) else f"{value:g}")


def coverage_by(table: RunTable, names: Sequence[str]) -> pd.DataFrame:
    """Return a row per combination of these dimensions that has runs, indexed by the dimensions.

    Columns: `runs`, `cnns`, `sources` (counts), `first_year`, `last_year` (nan where no year is stated) and
    `noise`, the median of |ln| of the ratios between runs of one configuration by different harnesses that
    time the same parts, nan where there are none.

    >>> from trainlaw.datasets import load
    >>> int(coverage_by(load("default"), ["gpu"]).loc["T4", "runs"])
    333
    """
    frame = table.frame.reset_index(drop=True)
    labels = dimension_labels(table, names)
    keys = [labels[name].rename(name) for name in names]
    groups = frame.groupby(keys if len(keys) > 1 else keys[0], sort=True)
    found = groups.agg(
        runs=("time_s", "size"),
        cnns=("cnn", "nunique"),
        sources=("source", "nunique"),
        first_year=("bench_year", "min"),
        last_year=("bench_year", "max"),
    )
    noise = {key: _median_noise(frame.loc[rows]) for key, rows in groups.groups.items()}
    return found.assign(noise=[noise[key] for key in found.index])


def _median_noise(runs: pd.DataFrame) -> float:
    pairs = [pair for pair in _pairs(runs) if pair[0] != pair[1] and pair[3]]
    return float(np.median([abs(float(pair[4])) for pair in pairs])) if pairs else np.nan


def noise_between_sources(table: RunTable) -> pd.DataFrame:
    """Return a row per pair of harnesses that measured the same configurations, the largest pairs first.

    Columns: `first`, `second` (harnesses; equal ones are repeats of one, such as another version),
    `same_parts` (whether both time the same parts of an iteration), `gpus`, `configurations` (counts),
    `median` and `p90` of |ln(second / first)|, and `ratio`, the median of second / first.
    A configuration is GPU, CNN, sizes, batch, number of GPUs, precision and layout.
    """
    pairs = pd.DataFrame(list(_pairs(table.frame)), columns=list(_NOISE_COLUMNS))
    if pairs.empty:
        columns = ("first", "second", "same_parts", "gpus", "configurations", "median", "p90", "ratio")
        return pd.DataFrame(columns=list(columns))
    pairs["size"] = pairs["log_ratio"].abs()
    groups = pairs.groupby(["first", "second", "same_parts"])
    found = groups.agg(
        gpus=("gpu", "nunique"),
        configurations=("size", "size"),
        median=("size", "median"),
        p90=("size", lambda sizes: sizes.quantile(0.9)),
        ratio=("log_ratio", lambda ratios: float(np.exp(ratios.median()))),
    )
    return found.reset_index().sort_values(
        "configurations", ascending=False, kind="stable", ignore_index=True
    )


def _pairs(runs: pd.DataFrame) -> Iterator[tuple[str, str, str, bool, float]]:
    """Yield harnesses, GPU, whether both time the same parts and ln(second / first), per configuration."""
    for _, rows in runs.groupby(list(_CONFIGURATION), sort=False):
        if len(rows) == 1:
            continue
        groups = rows.groupby(["harness", "timed_parts"], sort=True)
        programs = {(str(key[0]), str(key[1])): part["time_s"] for key, part in groups}
        gpu = str(rows["gpu"].iloc[0])
        for first, second in combinations_with_replacement(programs, 2):
            if first == second:
                ratios = [np.log(later / earlier) for earlier, later in combinations(programs[first], 2)]
                yield from ((first[0], first[0], gpu, True, float(ratio)) for ratio in ratios)
            else:
                ratio = np.log(programs[second].median() / programs[first].median())
                yield first[0], second[0], gpu, first[1] == second[1], float(ratio)
