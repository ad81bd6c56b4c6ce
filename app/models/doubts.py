"""Detect implausible times: wrong units, placeholders, contradictions; and remark what only may be wrong."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, log
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from trainlaw.app.models.law_times import (
    check_timed_parts,
    is_training,
    law_seconds,
    single_gpu_law_seconds,
)
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.datasets import DATASETS, RunTable, built_in_gpus
from trainlaw.datasets.measurements.inspection import SERIES, over_smaller_batch
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, memory_needs
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import InputError

#: From this factor on, in the median, longer times are warned of, and shorter ones from the second: of 159
#: built-in groups of a source, a GPU, a precision and a layout, 9 % take as long or as short, of GPU groups
#: that the formula was fitted without 14 %. Runs take 1.05 times as long as by the formula in their median.
DOUBTFUL = 1.3
_DOUBTFUL_SHORT = 1.2
#: The usual causes of times that are wrong as a whole, most frequent first.
CAUSES = (
    "accumulated gradients, the batch of several GPUs, another image size, part of a GPU, a power limit, a "
    "laptop's GPU, or forward passes only"
)
#: Slowest over fastest of equal configurations; none of 124 built-in ones differs more.
_MOST_OF_REPEATS = 1.6
#: Of 146 tables in the built-in measurements (by source, GPU and precision), the median of 1 is off by more;
#: 3 % of them have a run as far from the formula, and from the other runs by the factor for their number.
MOST_OF_RUN = 2.0
# The formula is of GPUs in data sheets; of processors and of own GPUs it knows less.
_MOST_OF_STRANGE = 10.0
_MOST_OF_OTHERS = ((300, 3.0), (2_000, 4.0), (np.inf, 8.0))
# A single run that only the formula contradicts is remarked on up to this factor.
_MOST_OF_ONE = 5.0
# Where only the batch differs, the deviations from the formula agree: 1 run in 1,700 differs by more than 2.
_LEAST_OF_SERIES = 3
# Equal times on a GPU of configurations that differ this much by the formula stand for something else.
_MOST_OF_EQUAL = 2.0
# A run, or a CNN, is remarked on whose deviation from the formula is farther from the median of the table
# than a factor and a multiple of the median distance from it, and a run that is as far from the next smaller
# batch. Of 159 tables of built-in runs (by source, GPU, precision and layout), 4 % have no other doubt.
_LEAST_APART, _MOST_SPREADS, _MOST_STEP, _LEAST_COMPARED = 1.5, 5.2, 4.1, 4
# Two names are remarked as exchanged where the squared mean deviation (ln) between them shrinks by this much
# once they change places, in every common row. Of 1,500 small tables drawn from the built-in ones, 1.5 % are
# remarked on. Among more names some pair fits by chance, so they are not compared.
_LEAST_GAIN, _MOST_NAMES = 0.2, 12
# What may differ with a name.
_ALONG: Mapping[str, tuple[str, ...]] = {"cnn": ("input_size_px", "n_classes"), "precision": ("stack",)}
# A larger batch takes longer: 21 of 1,910 built-in runs with another batch are shorter by this factor.
_LEAST_OF_LARGER = 0.8
_MOST_OF_BATCH = 3.0  # a run further from the formula is in another unit
_MOST_EXAMPLES = 3
# Deviations from the formula, ln: of machines, of runs around their machine, and the median one.
_OF_MACHINE, _OF_RUN, _USUAL = 0.155, 0.162, 0.08
_PRECISIONS, _MOST_COMPARED = ("fp32", "tf32", "amp"), 100
# ln of a ratio of likelihoods, and more per run: of small tables of built-in runs, 2 % are remarked on.
_LEAST_EVIDENCE = (2.0, 0.1)
_NOT_MEASURED = "99999999"  # 999 or 9999, where a script had no time
_LEAST_NINES, _MOST_OF_MARKS = 3, 1.3
_UNITS = {1e3: "ms read as s", 1e6: "us read as s", 1e-3: "s read as ms", 60.0: "s read as minutes"}
_NEAR_UNIT = 2.0


@dataclass(frozen=True)
class Doubt:
    """A reason why times may be wrong, as text, and the places of the runs, counted from 0."""

    text: str
    places: tuple[int, ...] = ()


def run_doubts(runs: RunTable, law_s: np.ndarray | None = None, passes: bool = False) -> tuple[Doubt, ...]:
    """Return what speaks against the times of runs; () for times that can be right.

    They are compared with the built-in formula, with each other where only the batch differs, and with
    repeats. law_s : times by the formula where they are known, in s, (n_runs,). passes : whether times of the
    forward pass alone are no doubt.
    """
    law_s = law_seconds(runs) if law_s is None else law_s
    forward = () if passes else tuple(np.flatnonzero(~is_training(runs)).tolist())
    alone = [Doubt("times of the forward pass alone", forward)] if forward else []
    return (*alone, *time_doubts(runs, law_s), *_of_batches(runs, law_s))


def built_in_doubts(runs: RunTable) -> tuple[Doubt, ...]:
    """Return the doubts of a built-in table, measured so; of runs not pooled, none."""
    pooled = (runs.frame["pool"] != 0).to_numpy()
    law_s = np.full(len(runs), np.nan)
    law_s[pooled] = law_seconds(runs.where(pooled))
    return time_doubts(runs, law_s)


def time_doubts(runs: RunTable, law_s: np.ndarray) -> tuple[Doubt, ...]:
    """Return the doubts but for those of forward passes and batches."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(runs.seconds / law_s)
    known = np.isfinite(logs)
    most = _most_row_doubts(runs)
    whole = [*_table_doubt(logs[known & (most == MOST_OF_RUN)], MOST_OF_RUN)]
    whole += _table_doubt(logs[known & (most > MOST_OF_RUN)], _MOST_OF_STRANGE)
    rows = () if whole else _row_doubts(runs, logs, law_s)
    return (*repeat_doubts(runs), *whole, *rows)


def _most_row_doubts(runs: RunTable) -> np.ndarray:
    """Return the factor to the formula that each run may have, (n_runs,): more on processors and own GPUs."""
    return np.where(is_known_gpu(runs), MOST_OF_RUN, _MOST_OF_STRANGE)


def time_doubt(runs: RunTable, seconds: float) -> str:
    """Return what speaks against a time of one configuration on one GPU, in s; "" where nothing does."""
    most = float(_most_row_doubts(runs).max())
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(seconds / single_gpu_law_seconds(runs))
    found = _table_doubt(log_ratio[np.isfinite(log_ratio)], most, "the measured time is {} times that")
    return next((doubt.text for doubt in found), "")


Table = TypeVar("Table", bound=MeasuredTable)


def trusted(runs: Table, trust: bool = False, any_parts: bool = False) -> Table:
    """Return the runs; InputError where their times can hardly be right, unless the user trusts them.

    Times of the forward pass alone are refused in any case, unless any timed parts will do; other tables than
    runs are not compared.
    """
    if not isinstance(runs, RunTable):
        return runs
    if not any_parts:
        check_timed_parts(runs)
    # Times of forward passes are compared by their formula, so that being one is no doubt.
    doubts = () if trust else run_doubts(runs, passes=True)
    if doubts:
        texts = "; ".join(doubt.text for doubt in doubts)
        raise InputError(f"{runs.name}: {texts}: correct the times, or --trust them as they are")
    return runs


def _table_doubt(
    logs: np.ndarray, most: float, said: str = "the times are {} times those"
) -> Iterator[Doubt]:
    """Yield a doubt where half of the times are far from the formula; logs of measured over predicted."""
    middle = float(np.median(logs)) if len(logs) else 0.0
    if abs(middle) > log(most):
        likely = [text for ratio, text in _UNITS.items() if abs(middle - log(ratio)) < log(_NEAR_UNIT)]
        unit = f" ({likely[0]}?)" if likely else ""
        of_several = " (median)" if len(logs) > 1 else ""
        yield Doubt(f"{said.format(show_number(exp(middle), 2))} of the built-in formula{of_several}{unit}")


def _row_doubts(runs: RunTable, logs: np.ndarray, law_s: np.ndarray) -> Iterator[Doubt]:
    """Yield a doubt for runs far from the formula and the other runs, and for times that stand for none."""
    others = next(factor for most, factor in _MOST_OF_OTHERS if len(logs) <= most)
    middle = np.nanmedian(logs) if np.isfinite(logs).any() else 0.0
    apart = np.where(np.abs(logs) > np.log(_most_row_doubts(runs)), np.abs(logs - middle), 0.0)
    far = apart > log(others if (apart > log(others)).sum() > 1 else _MOST_OF_ONE)
    # A throughput may be that of all GPUs.
    far |= (runs.frame["n_gpus"] > 1).to_numpy() & (apart > 0) & (np.abs(logs) > log(MOST_OF_RUN))
    series = pd.Series(logs).groupby(numbered_groups(codes_of(runs, SERIES).values()))
    apart = np.abs(logs - series.transform("median").to_numpy()) > np.log(_most_row_doubts(runs))
    far |= apart & (series.transform("size") >= _LEAST_OF_SERIES).to_numpy()
    gpus = pd.factorize(runs.frame["gpu"])[0]
    equal = pd.Series(law_s).groupby(numbered_groups((gpus, pd.factorize(runs.seconds)[0])))
    marks = (equal.transform("max") > _MOST_OF_EQUAL * equal.transform("min")).to_numpy()
    off = np.abs(logs) > log(_MOST_OF_MARKS)
    far |= marks & off
    far[off] |= np.array([_is_mark(value) for value in runs.seconds[off]], dtype=bool)
    if far.any():
        seconds, places = runs.seconds, np.flatnonzero(far)
        examples = "; ".join(
            f"row {place + 1}: {show_seconds(seconds[place])}, the formula gives {show_seconds(law_s[place])}"
            for place in places[:_MOST_EXAMPLES]
        )
        yield Doubt(f"times that can hardly be right ({examples})", tuple(places.tolist()))


def _is_mark(seconds: float) -> bool:
    """Return whether the digits of a time are nines, as a script writes that had none."""
    digits = f"{seconds:.6e}".partition("e")[0].replace(".", "").rstrip("0")
    return len(digits) >= _LEAST_NINES and digits in _NOT_MEASURED


def remarks(runs: MeasuredTable, law_s: np.ndarray | None = None) -> tuple[str, ...]:
    """Return what only the built-in formula speaks for: times off as a whole, and names that look exchanged.

    law_s : times by the formula where they are known, in s, (n_runs,). Built-in tables and other tables than
    runs have no remarks.
    """
    if not isinstance(runs, RunTable) or runs.name in DATASETS:
        return ()
    law_s = law_seconds(runs) if law_s is None else law_s
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(runs.seconds / law_s)
    # The causes of a deviation as a whole are said with it.
    whole = deviation_doubt(runs, logs) or _other_setup(runs, logs)
    found = (whole, _odd_runs(runs, logs), _exchanged(runs, law_s, logs), _beyond_memory(runs))
    return tuple(filter(None, found))


def _odd_runs(runs: RunTable, logs: np.ndarray) -> str:
    """Return a remark on runs that are twice off the formula, or off it where the others are not, or "".

    logs : ln of measured over predicted, (n_runs,).
    """
    known = np.where(is_known_gpu(runs), logs, np.nan)
    cnns = pd.factorize(runs.frame["cnn"])[0]
    by_cnn = pd.Series(known).groupby(cnns).median().to_numpy()
    far = (np.abs(logs) > np.log(_most_row_doubts(runs))) | (_lead(known) > 1.0) | (_lead(by_cnn) > 1.0)[cnns]
    # A run and the same with a smaller batch have the same CNN: where they differ, one of them is wrong.
    names = [name for name in SERIES if name != "precision_stated"]
    series = np.broadcast_to(numbered_groups(codes_of(runs, names).values()), logs.shape)
    batches = runs.frame["batch_per_gpu"].to_numpy(dtype=np.float64)
    steps = np.abs(np.log(over_smaller_batch(series, batches, np.exp(known))))
    far |= (steps > log(_LEAST_APART)) & (over_smaller_batch(series, batches, batches) < _MOST_STEP)
    if not far.any():
        return ""
    worst = int(np.where(far, np.abs(logs), 0.0).argmax())
    factor = show_number(exp(logs[worst]), 2)
    text = f"off the formula by more than the others, or twice: {far.sum()} of the runs, most of all"
    return f"{text} run {worst + 1}, {factor} times the formula"


def _lead(logs: np.ndarray) -> np.ndarray:
    """Return how far deviations are from their median, (n,), over the most by which one of few differs."""
    if np.isfinite(logs).sum() < _LEAST_COMPARED:
        return np.zeros(len(logs))
    away = np.abs(logs - np.nanmedian(logs))
    return np.asarray(away / max(log(_LEAST_APART), _MOST_SPREADS * float(np.nanmedian(away))))


def _other_setup(runs: RunTable, logs: np.ndarray) -> str:
    """Return a remark on a precision or batch that the times fit better than their own, or "".

    logs : ln of measured over predicted, (n_runs,).
    """
    known = np.flatnonzero(np.isfinite(logs) & is_known_gpu(runs))
    known = known[:: 1 + len(known) // _MOST_COMPARED]
    frame, logs = runs.frame.iloc[known].reset_index(drop=True), logs[known]
    batch, precisions = frame["batch_per_gpu"], set(frame["precision"])
    others: dict[str, tuple[str, Any]] = {"twice the batch": ("batch_per_gpu", 2 * batch)}
    others["half the batch"] = "batch_per_gpu", (batch // 2).clip(lower=1)
    others |= {name: ("precision", name) for name in _PRECISIONS if name not in precisions}
    found = [(_LEAST_EVIDENCE[0] + _LEAST_EVIDENCE[1] * len(known), "")]
    for name, (column, values) in others.items() if len(known) else ():
        times = law_seconds(RunTable(runs.name, frame.assign(**{column: values}), runs.facts))
        misfits = np.log(runs.seconds[known] / times)
        if np.isfinite(misfits).all():
            text = f"the times fit the formula better with {name}: several GPUs, or another size or setting?"
            found.append((_likelihood(misfits) - _likelihood(logs), text))
    return max(found)[1]


def _likelihood(logs: np.ndarray) -> float:
    """Return ln of the likelihood of deviations from the formula, but for a constant."""
    mean, run = float(logs.mean()), _OF_RUN**2
    whole = (mean - _USUAL) ** 2 / (_OF_MACHINE**2 + run / len(logs))
    return -0.5 * (float(logs.var()) * len(logs) / run + whole)


def _beyond_memory(runs: RunTable) -> str:
    """Return a remark on the first batch that needs more memory than its GPU has, or ""."""
    large = np.flatnonzero((memory_needs(runs)["fits"] == CANNOT_FIT).to_numpy() & is_training(runs))
    if not len(large):
        return ""
    run = runs.frame.iloc[large[0]]
    setup = f"{run['cnn']}, batch {run['batch_per_gpu']},"
    return f"{setup} needs more memory than {run['gpu']} has ({len(large)} of the runs): is the batch right?"


def _exchanged(runs: RunTable, law_s: np.ndarray, logs: np.ndarray) -> str:
    """Return a remark on two names of a column whose times fit the formula once they are exchanged, or ""."""
    codes = codes_of(runs, [name for name in (*SERIES, "batch_per_gpu") if name != "precision_stated"])
    # Of processors the formula does not know which network takes longer.
    values = {"misfit": np.where(is_known_gpu(runs), logs, np.nan), "law": np.log(law_s)}
    found = [(0.0, "")]
    for column in ("cnn", "gpu", "precision", "batch_per_gpu"):
        if not 1 <= codes[column].max(initial=0) < _MOST_NAMES:
            continue
        kept = [name for name in codes if name not in (column, *_ALONG.get(column, ()))]
        rest = np.broadcast_to(numbered_groups(codes[name] for name in kept), logs.shape)
        grouped = pd.DataFrame(values).groupby([rest, codes[column]]).median()
        misfits, laws = (grouped[name].unstack().to_numpy() for name in values)
        for one, other in combinations(range(misfits.shape[1]), 2):
            misfit, lead = (table[:, one] - table[:, other] for table in (misfits, laws))
            common = np.isfinite(misfit) & np.isfinite(lead)
            # Once exchanged, a deviation is that as it is and twice the lead by the formula.
            misfit, lead = misfit[common], lead[common]
            fits = bool(len(misfit)) and bool((np.abs(misfit + 2.0 * lead) < np.abs(misfit)).all())
            gain = misfit.mean() ** 2 - (misfit + 2.0 * lead).mean() ** 2 if fits else 0.0
            if gain > _LEAST_GAIN:
                firsts = [int((codes[column] == place).argmax()) for place in (one, other)]
                first, second = runs.frame[column].iloc[firsts]
                text = f"the times of {first} and {second} fit the formula once they are exchanged"
                found.append((gain * len(misfit), text))
    return max(found)[1]


def _of_batches(runs: RunTable, law_s: np.ndarray) -> Iterator[Doubt]:
    """Yield a doubt for runs that take less time than one of the same series with a smaller batch.

    law_s : times by the formula in s, (n_runs,); runs far from it are in another unit.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.flatnonzero(np.abs(np.log(runs.seconds / law_s)) < log(_MOST_OF_BATCH))
    names = [name for name in SERIES if name not in ("precision_stated", "batch_per_gpu")]
    series = np.broadcast_to(numbered_groups(codes_of(runs, names).values()), law_s.shape)[near]
    batches = runs.frame["batch_per_gpu"].to_numpy()[near]
    shorter = near[over_smaller_batch(series, batches, runs.seconds[near]) < _LEAST_OF_LARGER]
    if len(shorter):
        run = runs.frame.iloc[shorter[0]]
        text = f"{run['cnn']}, batch {run['batch_per_gpu']}, on {run['gpu']} takes less time"
        yield Doubt(f"{text} than a smaller batch: are the batches right?", tuple(sorted(shorter.tolist())))


def is_known_gpu(runs: RunTable) -> np.ndarray:
    """Return whether each run is on a GPU of the data sheets, bool, (n_runs,).

    Of processors and of GPUs in files the formula knows less: they may well be slower.
    """
    known = [gpu.gpu for gpu in built_in_gpus().gpus if gpu.device == "GPU"]
    return runs.frame["gpu"].isin(known).to_numpy()


def deviation_doubt(runs: RunTable, logs: np.ndarray) -> str:
    """Return the warning about times that are off as a whole, "" where they are not.

    logs : ln of measured over predicted times, (n_runs,), nan where the formula has none.
    """
    logs = logs[is_known_gpu(runs) & np.isfinite(logs)]
    middle = float(np.median(logs)) if len(logs) else 0.0
    if -log(_DOUBTFUL_SHORT) < middle < log(DOUBTFUL):
        return ""
    factor = show_number(exp(middle), 2)
    return f"the times are {factor} times those of the formula (median); usual causes: {CAUSES}"


def codes_of(runs: RunTable, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return each of these columns as numbers of its values, (n_runs,)."""
    frame = runs.frame
    return {name: pd.factorize(frame[name], use_na_sentinel=False)[0] for name in names}


def numbered_groups(codes: Iterable[np.ndarray]) -> np.ndarray:
    """Return the number of the group of each run, (n,): runs of a group have equal codes in every column."""
    found = np.zeros(1, dtype=np.int64)
    for each in codes:
        # Most columns have one value.
        if found.size == 1 or each.any():
            found = np.unique(found * (each.max(initial=0) + 1) + each, return_inverse=True)[1]
    return found


def repeat_doubts(
    runs: RunTable, most: float = _MOST_OF_REPEATS, names: Sequence[str] = (*SERIES, "batch_per_gpu")
) -> Iterator[Doubt]:
    """Yield a doubt for the configuration whose repeats differ most, where they contradict each other.

    most : factor between the slowest and the fastest from which on they do. names : columns in which repeats
    are equal.
    """
    groups = pd.Series(runs.seconds).groupby(numbered_groups(codes_of(runs, names).values()))
    ratio = (groups.transform("max") / groups.transform("min")).to_numpy()
    if len(ratio) and ratio.max() > most:
        worst = runs.frame.iloc[int(ratio.argmax())]
        yield Doubt(
            f"repeats contradict each other: {worst['cnn']}, batch {worst['batch_per_gpu']}, on "
            f"{worst['gpu']}, the slowest {show_number(float(ratio.max()), 3)} times as long as the fastest",
            tuple(np.flatnonzero(ratio > most).tolist()),
        )
