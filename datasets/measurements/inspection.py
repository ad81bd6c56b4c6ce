"""Inspect a table before trusting it: coverage, suspicious runs, and the noise between sources."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.runs import LABELS, RunTable
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas.errors import check_name


def coverage(table: MeasuredTable) -> pd.DataFrame:
    """Return the coverage of a table: one row per GPU, one column per base CNN, kind of layer or target GPU.

    Parameters
    ----------
    table : RunTable, LayerTable or PairTable
        Measurements; for pairs the rows are the anchor GPUs.

    Returns
    -------
    DataFrame of str
        "rows (smallest-largest batch)" in each cell, "" where there are no rows.

    Examples
    --------

    >>> from trainlaw.datasets import load
    >>> coverage(load("fp32-2026")).loc["T4", "vgg16"]
    '23 (16-256)'
    """
    rows = _keys(table)
    cells = rows.groupby(["gpu", "column"])["batch"].agg(["size", "min", "max"])
    text = [
        f"{size} ({low})" if low == high else f"{size} ({low}-{high})"
        for size, low, high in cells.itertuples(index=False)
    ]
    return pd.Series(text, index=cells.index, dtype=object).unstack(fill_value="").rename_axis(None, axis=1)


def _keys(table: MeasuredTable) -> pd.DataFrame:
    """Return the GPU, the column and the batch of each row."""
    frame = table.frame
    if isinstance(table, RunTable):
        labels = table.labels()
        parts = (labels["gpu"], labels["cnn_base"], frame["batch_per_gpu"])
    elif "anchor_gpu" in frame:
        parts = (frame["anchor_gpu"], frame["target_gpu"], frame["batch_per_gpu"])
    else:
        parts = (frame["gpu"], frame["kind"] + " " + frame["phase"].astype(str), frame["batch"])
    names = ("gpu", "column", "batch")
    return pd.DataFrame({name: part.to_numpy() for name, part in zip(names, parts, strict=True)})


#: All that makes up a configuration except the batch.
SERIES = [
    "gpu",
    "cnn",
    "input_size_px",
    "n_classes",
    "n_gpus",
    "n_nodes",
    "link",
    "network",
    "peer_access",
    "algorithm",
    "precision",
    "precision_stated",
    "framework",
    "framework_version",
    "harness",
    "timed_parts",
    "source",
    "layout",
    "compilation",
    "stack",
    "tuned",
    "data",
]
# Repeats of one configuration differ by 0.2-3 %, software versions by up to 18 %.
MAX_SPREAD = 0.2
# Winograd's smallest tile, F(2x2, 3x3), saves 2.25 of the multiplications (Lavin and Gray, CVPR 2016).
MAX_RATE_OVER_PEAK = 2.25
# Slower than a ten-thousandth of the peak shows a wrong unit: ms for s is a factor of 1,000.
MIN_RATE_OVER_PEAK = 1e-4
# A larger batch can only be faster through noise.
MAX_SPEED_UP_BY_WORK = 0.05


@dataclass(frozen=True)
class Outlier:
    """One suspicious run: its row (from 1), the rule that it violates, the value and its limit."""

    row: int
    rule: str
    value: float
    limit: float
    text: str

    def __str__(self) -> str:
        """Return the finding as one line."""
        return f"row {self.row}: {self.text}"


def outliers(table: RunTable) -> list[Outlier]:
    """Return the suspicious runs of a table: too much spread, impossible rates, less time for more work.

    Parameters
    ----------
    table : RunTable
        Measured runs.

    Returns
    -------
    list of Outlier
        By row; a reason to check the runs, not a proof that they are wrong.

    Examples
    --------

    >>> from trainlaw.datasets import load
    >>> sorted({outlier.rule for outlier in outliers(load("multi"))})
    ['spread']
    """
    found = _spread(table) + _rate(table) + _less_time_for_more_work(table)
    return sorted(found, key=lambda outlier: (outlier.row, outlier.rule))


def _spread(table: RunTable) -> list[Outlier]:
    """Find repeats of one configuration that differ too much, within a row or between rows."""
    runs = table.frame
    same = runs.groupby([*SERIES, "batch_per_gpu"], dropna=False, sort=False)["time_s"]
    low = np.fmin(runs["time_min_s"], same.transform("min"))
    high = np.fmax(runs["time_max_s"], same.transform("max"))
    spread = ((high - low) / same.transform("median")).to_numpy()
    text = f"repeats differ by {{:.0f}} %, more than {100 * MAX_SPREAD:.0f} %"
    return _outliers(
        "spread", spread, spread > MAX_SPREAD, MAX_SPREAD, lambda share: text.format(100 * share)
    )


def _outliers(
    rule: str, values: np.ndarray, are_wrong: np.ndarray, limit: float, text: Callable[[float], str]
) -> list[Outlier]:
    rows = np.flatnonzero(are_wrong)
    return [Outlier(int(row) + 1, rule, float(values[row]), limit, text(values[row])) for row in rows]


def _rate(table: RunTable) -> list[Outlier]:
    """Find times that imply more operations per second than the peak of the GPU allows, or next to none."""
    # Only a run that is not pooled may be of a CNN without layers, and so without a rate.
    pooled = (table.frame["pool"] != 0).to_numpy()
    ratio = np.ones(len(table))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio[pooled] = table.where(pooled).features(["total_compute_s"]).to_numpy()[:, 0]
        ratio[pooled] /= table.seconds[pooled]

    def implied(side: str, limit: float) -> Callable[[float], str]:
        return lambda value: f"this time implies {value:.3g} of the peak rate, {side} than {limit:g}"

    most, least = MAX_RATE_OVER_PEAK, MIN_RATE_OVER_PEAK
    fast = _outliers("rate", ratio, ratio > most, most, implied("more", most))
    return fast + _outliers("rate", ratio, ratio < least, least, implied("less", least))


def over_smaller_batch(series: np.ndarray, batches: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return times, s, over the longest of a smaller batch in the same series, (n_runs,); nan without one."""
    setups = pd.MultiIndex.from_arrays([series, batches])
    longest = pd.Series(seconds, setups).groupby(level=[0, 1]).max().groupby(level=0).cummax()
    return np.asarray(seconds / longest.groupby(level=0).shift().reindex(setups).to_numpy())


def _less_time_for_more_work(table: RunTable) -> list[Outlier]:
    """Find larger batches that take less time than smaller ones, all else equal."""
    series = table.frame.groupby(SERIES, dropna=False, sort=False).ngroup().to_numpy()
    batches = table.frame["batch_per_gpu"].to_numpy()
    median = table.frame["time_s"].groupby([series, batches]).transform("median").to_numpy()
    ratio = over_smaller_batch(series, batches, median)
    limit = 1 - MAX_SPEED_UP_BY_WORK
    text = "this batch takes {:.0f} % of the time of a smaller one, all else equal"
    rule = "less time for more work"
    return _outliers(rule, ratio, ratio < limit, limit, lambda share: text.format(100 * share))


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
    "gpu",
    "cnn",
    "input_size_px",
    "n_classes",
    "batch_per_gpu",
    "n_gpus",
    "n_nodes",
    "precision",
    "layout",
)
_NOISE_COLUMNS = ("first", "second", "gpu", "same_parts", "log_ratio")


def dimension_labels(table: RunTable, names: Sequence[str]) -> pd.DataFrame:
    """Return the dimensions of these names as text, shape (n_runs, k); "unknown" where a cell is empty.

    Raises UnknownNameError for a name that is not in `DIMENSIONS`.
    """
    for name in names:
        check_name("dimension", name, DIMENSIONS)
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
    >>> int(coverage_by(load("fp32-2026"), ["gpu"]).loc["T4", "runs"])
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
    noise = {}
    for key, rows in groups.groups.items():
        pairs = _pairs(frame.loc[rows])
        sizes = [abs(ratio) for first, second, _, same, ratio in pairs if first != second and same]
        noise[key] = float(np.median(sizes)) if sizes else np.nan
    return found.assign(noise=[noise[key] for key in found.index])


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
    configurations: dict[tuple[object, ...], dict[tuple[str, str], list[float]]] = {}
    columns = [*_CONFIGURATION, "harness", "timed_parts", "time_s"]
    for *key, harness, parts, seconds in runs[columns].dropna().itertuples(index=False, name=None):
        programs = configurations.setdefault(tuple(key), {})
        programs.setdefault((str(harness), str(parts)), []).append(seconds)
    for (gpu, *_), programs in configurations.items():
        for first, second in combinations_with_replacement(sorted(programs), 2):
            if first == second:
                ratios = [np.log(later / earlier) for earlier, later in combinations(programs[first], 2)]
                yield from ((first[0], first[0], str(gpu), True, float(ratio)) for ratio in ratios)
            else:
                ratio = np.log(np.median(programs[second]) / np.median(programs[first]))
                yield first[0], second[0], str(gpu), first[1] == second[1], float(ratio)
