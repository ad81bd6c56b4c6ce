"""Doubts about measured times, a row of `doubts.toml` each: what refuses runs, and what warns of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb, exp, inf, log
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
from trainlaw.app.models.law_times import check_timed_parts, is_training, law_seconds, single_gpu_law_seconds
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.datasets import DATASETS, RunTable, built_in_gpus
from trainlaw.datasets.measurements.inspection import SERIES, over_smaller_batch
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, memory_needs
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import InputError
from trainlaw.formulas.files.toml_tables import toml_table

_ROWS = toml_table(__file__, "doubts.toml")
#: Factor to the formula, in the median, from which on times are refused, and longer times are warned of.
MOST_OF_RUN: float = _ROWS["table"]["limits"]["known"][1]
DOUBTFUL: float = _ROWS["whole"]["limits"]["known"][1]
# How the precision was stated does not change a time.
_CONFIGURATION = (*(name for name in SERIES if name != "precision_stated"), "batch_per_gpu")


@dataclass(frozen=True)
class Doubt:
    """A reason why times may be wrong: its row, as text, and the places of the runs, counted from 0."""

    name: str
    text: str
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """Runs next to the times of a formula, in arrays of shape (n_runs,).

    law_s : times by the formula in s, nan where it has none. logs : ln of measured over predicted times.
    known_logs : those on GPUs of the data sheets, else nan; strange_logs : on others, which may well be
    slower. most : ln of the factor to the formula that a run may have.
    """

    runs: RunTable
    law_s: np.ndarray
    logs: np.ndarray
    known_logs: np.ndarray
    strange_logs: np.ndarray
    most: np.ndarray

    @classmethod
    def of(cls, runs: RunTable, law_s: np.ndarray) -> Self:
        """Return the evidence of runs with these times by the formula."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(runs.seconds / law_s)
        gpus = [gpu.gpu for gpu in built_in_gpus().gpus if gpu.device == "GPU"]
        known = runs.frame["gpu"].isin(gpus).to_numpy()
        limits = _ROWS["table"]["limits"]
        most = np.log(np.where(known, limits["known"][1], limits["strange"][1]))
        return cls(runs, law_s, logs, np.where(known, logs, np.nan), np.where(known, np.nan, logs), most)

    def groups(self, names: Iterable[str] = _CONFIGURATION, but: Collection[str] = ()) -> np.ndarray:
        """Return the number of the group of each run, (n_runs,): runs of a group agree in these columns."""
        kept = [name for name in names if name not in but]
        return self.runs.frame.groupby(kept, dropna=False, sort=False).ngroup().to_numpy()

    def over_smaller(self, values: np.ndarray) -> np.ndarray:
        """Return values over those of the same with the next smaller batch, (n_runs,); nan without one."""
        batches = self.runs.frame["batch_per_gpu"].to_numpy(dtype=np.float64)
        return over_smaller_batch(self.groups(but=("batch_per_gpu",)), batches, values)


Limits = Mapping[str, Any]
#: The places of doubted runs, None for the table as a whole, and the words of the sentence.
Found = Iterator[tuple[np.ndarray | None, Mapping[str, Any]]]


def median(logs: np.ndarray, empty: float = 0.0) -> float:
    """Return the median of the finite numbers; empty : where there is none."""
    finite = logs[np.isfinite(logs)]
    return float(np.median(finite)) if len(finite) else empty


def _forward(evidence: Evidence, limits: Limits) -> Found:
    """Find times of the forward pass alone."""
    yield np.flatnonzero(~is_training(evidence.runs)), {}


def _repeats(evidence: Evidence, limits: Limits) -> Found:
    """Find repeats, which agree in the named columns, whose slowest takes far longer than the fastest."""
    groups = pd.Series(evidence.runs.seconds).groupby(evidence.groups(limits.get("names", _CONFIGURATION)))
    ratio = (groups.transform("max") / groups.transform("min")).to_numpy()
    factor = show_number(float(ratio.max(initial=0.0)), 3)
    yield np.flatnonzero(ratio > limits["most"]), {"run": int(np.argmax([*ratio, 0.0])), "factor": factor}


def _median(evidence: Evidence, limits: Limits) -> Found:
    """Find tables that are shorter or longer in their median than by these factors, and the unit."""
    for logs, kind in ((evidence.known_logs, "known"), (evidence.strange_logs, "strange")):
        middle, number = median(logs), np.isfinite(logs).sum()
        shorter, longer = limits.get(kind, (inf, inf))
        if not -log(shorter) <= middle <= log(longer):
            units = [text for ratio, text in _ROWS["table"]["units"] if abs(middle - log(ratio)) < log(2.0)]
            said = _ROWS["table"]["several" if number > 1 else "one"]
            yield None, {"factor": show_number(exp(middle), 2), "unit": "".join(units[:1]), **said}


def _runs(evidence: Evidence, limits: Limits) -> Found:
    """Find runs far from the formula and from the others, and times that stand for none."""
    logs, frame, law_s, seconds = evidence.logs, evidence.runs.frame, evidence.law_s, evidence.runs.seconds
    apart = np.where(np.abs(logs) > evidence.most, np.abs(logs - median(logs)), 0.0)
    most = log(next(factor for number, factor in limits["others"] if len(logs) <= number))
    far = apart > (most if (apart > most).sum() > 1 else log(limits["one"]))
    # A throughput may be that of all GPUs.
    far |= (frame["n_gpus"] > 1).to_numpy() & (apart > 0)
    alike = pd.Series(logs).groupby(evidence.groups(but=("batch_per_gpu",)))
    is_apart = np.abs(logs - alike.transform("median").to_numpy()) > evidence.most
    far |= is_apart & (alike.transform("size") >= limits["series"]).to_numpy()
    equal = pd.Series(law_s, frame.index).groupby([frame["gpu"], frame["time_s"]])
    is_mark = equal.transform("max") > limits["marks"][0] * equal.transform("min")
    is_mark |= frame["time_s"].map("{:.6e}".format).str.match(limits["nines"])
    # Times in exact proportion to the batch are one throughput.
    per_image = evidence.over_smaller(seconds / frame["batch_per_gpu"].to_numpy())
    is_mark |= np.abs(per_image - 1.0) < limits["proportional"]
    places = np.flatnonzero(far | (is_mark.to_numpy() & (np.abs(logs) > log(limits["marks"][1]))))
    texts = (
        f"row {place + 1}: {show_seconds(seconds[place])}, the formula gives {show_seconds(law_s[place])}"
        for place in places[: limits["examples"]]
    )
    yield places, {"examples": "; ".join(texts)}


def _batches(evidence: Evidence, limits: Limits) -> Found:
    """Find runs that take less time than one of the same series with a smaller batch."""
    near = np.abs(evidence.logs) < log(limits["most"])
    own = Evidence.of(evidence.runs.where(near), evidence.law_s[near])
    yield np.flatnonzero(near)[own.over_smaller(own.runs.seconds) < limits["least"]], {}


def _setup(evidence: Evidence, limits: Limits) -> Found:
    """Find a precision or a batch that the times fit better than their own."""
    chosen = np.flatnonzero(np.isfinite(evidence.known_logs))
    chosen = chosen[:: 1 + len(chosen) // limits["runs"]]
    frame, seconds = evidence.runs.frame.iloc[chosen].reset_index(drop=True), evidence.runs.seconds[chosen]
    batch, stated = frame["batch_per_gpu"], set(frame["precision"])
    others: dict[str, Mapping[str, Any]] = {
        "twice the batch": {"batch_per_gpu": 2 * batch},
        "half the batch": {"batch_per_gpu": (batch // 2).clip(lower=1)},
        **{name: {"precision": name} for name in limits["precisions"] if name not in stated},
    }
    found = [(limits["least"] + limits["per_run"] * len(chosen), "")]
    for name, columns in others.items() if len(chosen) else ():
        law_s = law_seconds(RunTable(evidence.runs.name, frame.assign(**columns), evidence.runs.facts))
        found.append((_gain(evidence.logs[chosen], np.log(seconds / law_s)), name))
    if name := max(found)[1]:
        yield None, {"setup": name}


def _exchanged(evidence: Evidence, limits: Limits) -> Found:
    """Find two names of a column that fit the times better once they are exchanged."""
    frame, found = evidence.runs.frame, [(0.0, "", "")]
    # Of processors the formula does not know which network takes longer.
    values = pd.DataFrame({"misfit": evidence.known_logs, "law": np.log(evidence.law_s)}, frame.index)
    for column, along in limits["columns"].items():
        names = frame[column].unique()
        if not 1 < len(names) <= limits["names"]:
            continue
        grouped = values.groupby([evidence.groups(but=(column, *along)), frame[column]]).median().unstack()
        misfits, laws = (grouped[name][names].to_numpy() for name in ("misfit", "law"))
        for pair in combinations(range(len(names)), 2):
            common = np.isfinite(misfits[:, pair]).all(axis=1)
            misfit, law = misfits[common][:, pair], laws[common][:, pair]
            most = limits["least"] + limits["per_run"] * misfit.size + log(comb(len(names), 2))
            gain = _gain(misfit, misfit + law - law[:, ::-1])
            found.append((gain - most, *(str(names[place]) for place in pair)))
    _, first, second = max(found)
    if first:
        yield None, {"first": first, "second": second}


def _gain(logs: np.ndarray, others: np.ndarray) -> float:
    """Return ln of the likelihood of other deviations from the formula over that of the present ones."""
    usual = _ROWS["setup"]["usual"]

    def likelihood(logs: np.ndarray) -> float:
        between = usual["machine"] ** 2 + usual["run"] ** 2 / logs.size
        within = float(logs.var()) * logs.size / usual["run"] ** 2
        return float(-0.5 * (within + (logs.mean() - usual["median"]) ** 2 / between))

    return likelihood(others) - likelihood(logs) if logs.size and np.isfinite(others).all() else 0.0


def _odd(evidence: Evidence, limits: Limits) -> Found:
    """Find runs that are twice off the formula, or off it where the others are not."""
    logs, cnns = evidence.known_logs, evidence.groups(["cnn"])

    def leads(logs: np.ndarray) -> np.ndarray:
        away = np.abs(logs - median(logs))
        most = max(log(limits["apart"]), limits["spreads"] * median(away))
        return np.asarray((away > most) & (np.isfinite(logs).sum() >= limits["least"]))

    # A run and the same with a smaller batch have the same CNN: where they differ, one of them is wrong.
    steps = np.abs(np.log(evidence.over_smaller(np.exp(logs)))) > log(limits["apart"])
    steps &= evidence.over_smaller(evidence.runs.frame["batch_per_gpu"].to_numpy(np.float64)) < limits["step"]
    by_cnn = pd.Series(logs).groupby(cnns).median().to_numpy()
    far = (np.abs(evidence.logs) > evidence.most) | leads(logs) | leads(by_cnn)[cnns] | steps
    worst = int(np.where(far, np.abs(evidence.logs), 0.0).argmax())
    yield np.flatnonzero(far), {"factor": show_number(exp(evidence.logs[worst]), 2), "run_number": worst + 1}


def _memory(evidence: Evidence, limits: Limits) -> Found:
    """Find batches that need more memory than their GPU has."""
    too_large = (memory_needs(evidence.runs)["fits"] == CANNOT_FIT).to_numpy()
    yield np.flatnonzero(too_large & is_training(evidence.runs)), {}


_MEASURES: Mapping[str, Callable[[Evidence, Limits], Found]] = {
    measure.__name__.removeprefix("_"): measure
    for measure in (_forward, _repeats, _median, _runs, _batches, _setup, _odd, _exchanged, _memory)
}


def row_doubts(name: str, evidence: Evidence, reader: str = "", **limits: object) -> Iterator[Doubt]:
    """Yield the doubts of a row of the table; reader : that has its own limits. limits : further ones."""
    row, setups = _ROWS[name], evidence.runs.frame[["gpu", "cnn", "batch_per_gpu"]]
    measure = _MEASURES[row.get("measure", name)]
    for found, words in measure(evidence, {**row.get("limits", {}), **row.get(reader, {}), **limits}):
        places = () if found is None else tuple(found.tolist())
        if found is None or places:
            run = setups.iloc[int(words.get("run", *places[:1] or (0,)))].to_dict()
            text = row["sentence"].format(**{**row, **run, "number": len(places), **words})
            yield Doubt(name, text, places)


def run_doubts(
    runs: RunTable, law_s: np.ndarray | None = None, but: Collection[str] = (), gravity: str = "refuses"
) -> tuple[Doubt, ...]:
    """Return what speaks against the times of runs; () for times that can be right.

    They are compared with the built-in formula, with each other where only the batch differs, and with
    repeats. law_s : times by the formula where they are known, in s, (n_runs,). but : names of rows of the
    table that are left out. gravity : of the rows.
    """
    if law_s is None:
        pooled = (runs.frame["pool"] != 0).to_numpy()
        law_s = np.full(len(runs), np.nan)
        law_s[pooled] = law_seconds(runs.where(pooled))
    evidence, found = Evidence.of(runs, law_s), list[Doubt]()
    for name, row in _ROWS.items():
        is_said = row.get("unless") in [doubt.name for doubt in found]
        if row["gravity"] == gravity and name not in but and not is_said:
            found += row_doubts(name, evidence)
    return tuple(found)


def remarks(runs: MeasuredTable, law_s: np.ndarray | None = None) -> tuple[str, ...]:
    """Return the warnings about runs; built-in tables and other tables than runs have none.

    law_s : times by the formula where they are known, in s, (n_runs,).
    """
    if not isinstance(runs, RunTable) or runs.name in DATASETS:
        return ()
    return tuple(doubt.text for doubt in run_doubts(runs, law_s, gravity="warns"))


def time_doubt(runs: RunTable, seconds: float) -> str:
    """Return what speaks against a time of one configuration on one GPU, in s; "" where nothing does."""
    given = RunTable(runs.name, runs.frame.assign(time_s=seconds), runs.facts)
    doubts = row_doubts("table", Evidence.of(given, single_gpu_law_seconds(runs)))
    return next((doubt.text for doubt in doubts), "")


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
    if not trust and (doubts := run_doubts(runs, but=("forward",))):
        texts = "; ".join(doubt.text for doubt in doubts)
        raise InputError(f"{runs.name}: {texts}: correct the times, or --trust them as they are")
    return runs
