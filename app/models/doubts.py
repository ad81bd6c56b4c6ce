"""Detect implausible times: wrong units, placeholders, contradictions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import TypeVar

import numpy as np
import pandas as pd
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, formula_named
from trainlaw.app.models.multi_gpu import exchange_seconds
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.datasets import RunTable
from trainlaw.datasets.hardware.gpus import built_in_gpus
from trainlaw.datasets.measurements.inspection import SERIES
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import InputError

# Of 146 tables in the built-in measurements (by source, GPU and precision), the median of 1 is off by more.
_MOST_OF_TABLE = 2.0
# A run this far from the formula, and from the other runs of the file by the factor for its size: 3 % of the
# tables above have such a run.
_MOST_OF_RUN = 2.0
# The formula is of GPUs in data sheets; of processors and of own GPUs it knows less.
_MOST_OF_STRANGE = 10.0
_MOST_OF_OTHERS = ((30, 2.5), (300, 3.0), (2_000, 4.0), (np.inf, 8.0))
# Where only the batch differs, the deviations from the formula agree: 1 run in 1,700 differs by more than 2.
_LEAST_OF_SERIES = 3
_MOST_OF_REPEATS = 1.6  # slowest over fastest of equal configurations; none of 124 built-in ones differs more
# Equal times on a GPU of configurations that differ this much by the formula stand for something else.
_MOST_OF_EQUAL = 2.0
# Two names are exchanged where every common row fits better once they change places, and the squared mean
# deviation (ln) between them shrinks by this much. Of 1,500 small tables drawn from the built-in ones, 1.5 %
# are asked about. Exchanges of times 1.5 to 1.8 times apart are found in 95 of 100 with a threshold of 0.15
# and in 93 with 0.25 (by single runs far from the formula alone: 26), of 1.35 to 1.5 in 89 and 78 (10).
_LEAST_GAIN = 0.2
_LEAST_OF_HEADINGS = 2  # rows that two headings of a pivot have in common
# Among many names some pair fits by chance: more rows and a greater gain are needed then.
_FEW_NAMES, _LEAST_OF_MANY, _LEAST_GAIN_OF_MANY = 12, 3, 0.5
# A larger batch takes longer: 21 of 1,910 built-in runs with another batch are shorter by this factor.
_LEAST_OF_LARGER = 0.8
_MOST_OF_BATCH = 3.0  # a run further from the formula is in another unit
_MOST_NAMES = 100  # a typed table has fewer; pairs of more cost time
_MOST_EXAMPLES = 3
_NOT_MEASURED = "99999999"  # 999 or 9999, where a script had no time
_LEAST_NINES, _MOST_OF_MARKS = 3, 1.3
_UNITS = {1e3: "ms read as s", 1e6: "us read as s", 1e-3: "s read as ms", 60.0: "s read as minutes"}
_NEAR_UNIT = 2.0


@dataclass(frozen=True)
class Doubt:
    """A reason why times may be wrong, as text, and the places of the runs, counted from 0.

    exchanged : column and two names of it that may have changed places.
    """

    text: str
    places: tuple[int, ...] = ()
    exchanged: tuple[str, str, str] | None = None


def law_seconds(runs: RunTable) -> np.ndarray:
    """Return the iteration times that the built-in formula gives, in s, (n_runs,); nan where it has none."""
    single = _single_gpu_seconds(runs)
    law = BUILT_IN_FORMULAS["built-in"]()
    return np.asarray(single + exchange_seconds(law, runs, formula_named("multi"), single))


def _single_gpu_seconds(runs: RunTable) -> np.ndarray:
    """Return the times on one GPU that the built-in formulas give, in s, (n_runs,)."""
    law = BUILT_IN_FORMULAS["built-in"]()
    seconds = formula_rows(law, runs).predict(law)
    trains = is_training(runs)
    if trains.all():
        return seconds
    forward = BUILT_IN_FORMULAS["forward"]()
    return np.where(trains, seconds, formula_rows(forward, runs).predict(forward))


def run_doubts(runs: RunTable, law_s: np.ndarray | None = None) -> tuple[Doubt, ...]:
    """Return what speaks against the times of runs; () for times that can be right.

    They are compared with the built-in formula, with each other where only the batch differs, with repeats,
    and with those of other names. law_s : times by the formula where they are known, in s, (n_runs,).
    """
    return (*pass_doubts(runs), *contradictions(runs, law_s))


def pass_doubts(runs: RunTable) -> tuple[Doubt, ...]:
    """Return a doubt for the times of forward passes alone, where there are any."""
    forward = np.flatnonzero(~is_training(runs))
    return (Doubt("times of the forward pass alone", tuple(forward.tolist())),) if len(forward) else ()


def contradictions(runs: RunTable, law_s: np.ndarray | None = None) -> tuple[Doubt, ...]:
    """Return the doubts of `run_doubts` but for that of forward passes; arguments as there."""
    law_s = law_seconds(runs) if law_s is None else law_s
    return (*time_doubts(runs, law_s), *exchange_doubts(runs, law_s))


def built_in_doubts(runs: RunTable) -> tuple[Doubt, ...]:
    """Return the doubts of a built-in table, measured so; of runs not pooled, none."""
    pooled = (runs.frame["pool"] != 0).to_numpy()
    law_s = np.full(len(runs), np.nan)
    law_s[pooled] = law_seconds(runs.where(pooled))
    return time_doubts(runs, law_s)


def time_doubts(runs: RunTable, law_s: np.ndarray) -> tuple[Doubt, ...]:
    """Return the contradictions but for those of exchanged names and batches."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(runs.seconds / law_s)
    known = np.isfinite(logs)
    most = _most_row_doubts(runs)
    whole = [*_table_doubt(logs[known & (most == _MOST_OF_RUN)], _MOST_OF_TABLE)]
    whole += _table_doubt(logs[known & (most > _MOST_OF_RUN)], _MOST_OF_STRANGE)
    rows = () if whole else _row_doubts(runs, logs, law_s)
    return (*repeat_doubts(runs), *whole, *rows)


def _most_row_doubts(runs: RunTable) -> np.ndarray:
    """Return the factor to the formula that each run may have, (n_runs,): more on processors and own GPUs."""
    known = {gpu.gpu for gpu in built_in_gpus().gpus if gpu.device == "GPU"}
    return np.where(runs.frame["gpu"].isin(list(known)).to_numpy(), _MOST_OF_RUN, _MOST_OF_STRANGE)


def is_training(runs: RunTable) -> np.ndarray:
    """Return whether each time contains the backward pass, bool, (n_runs,)."""
    return runs.frame["timed_parts"].astype(str).str.contains("backward").to_numpy(dtype=bool)


def time_doubt(runs: RunTable, seconds: float) -> str:
    """Return what speaks against a time of one configuration on one GPU, in s; "" where nothing does."""
    most = float(_most_row_doubts(runs).max())
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(seconds / _single_gpu_seconds(runs))
    found = _table_doubt(log_ratio[np.isfinite(log_ratio)], most, "the measured time is {} times that of")
    return next((doubt.text for doubt in found), "")


Table = TypeVar("Table", bound=MeasuredTable)


def check_timed_parts(runs: RunTable, forward: bool = False) -> None:
    """Raise InputError for times of the forward pass alone, or (forward) for times of anything else."""
    fit = is_training(runs) != forward
    if not fit.all():
        row = int(np.argmin(fit))
        wanted, others = ("forward passes", "with") if forward else ("training iterations", "without")
        raise InputError(
            f"{runs.name}: expected times of {wanted}, got timed_parts "
            f"{runs.frame['timed_parts'].iloc[row]} in row {row + 1}; leave out runs {others} a backward pass"
        )


def trusted(runs: Table, trust: bool = False, forward: bool | None = False) -> Table:
    """Return the runs; InputError where their times can hardly be right, unless the user trusts them.

    Times of the forward pass alone (forward: of all else; None: nothing) are refused in any case; other
    tables than runs are not compared.
    """
    if not isinstance(runs, RunTable):
        return runs
    if forward is not None:
        check_timed_parts(runs, forward)
    # Times of forward passes are compared by their formula, so that being one is no doubt.
    doubts = () if trust else contradictions(runs)
    if doubts:
        texts = "; ".join(doubt.text for doubt in doubts)
        raise InputError(f"{runs.name}: {texts}: correct the times, or --trust them as they are")
    return runs


def _table_doubt(
    logs: np.ndarray, most: float, said: str = "the times are {} times those of"
) -> Iterator[Doubt]:
    """Yield a doubt where half of the times are far from the formula; logs of measured over predicted."""
    middle = float(np.median(logs)) if len(logs) else 0.0
    if abs(middle) > log(most):
        factor = show_number(exp(middle), 2)
        likely = [text for ratio, text in _UNITS.items() if abs(middle - log(ratio)) < log(_NEAR_UNIT)]
        unit = f" ({likely[0]}?)" if likely else ""
        of_several = " (median)" if len(logs) > 1 else ""
        yield Doubt(f"{said.format(factor)} the built-in formula{of_several}{unit}")


def _row_doubts(runs: RunTable, logs: np.ndarray, law_s: np.ndarray) -> Iterator[Doubt]:
    """Yield a doubt for runs far from the formula and the other runs, and for times that stand for none."""
    others = next(factor for most, factor in _MOST_OF_OTHERS if len(logs) <= most)
    middle = np.nanmedian(logs) if np.isfinite(logs).any() else 0.0
    far = (np.abs(logs) > np.log(_most_row_doubts(runs))) & (np.abs(logs - middle) > log(others))
    series = pd.Series(logs).groupby(_numbered(_codes(runs, SERIES).values()))
    apart = np.abs(logs - series.transform("median").to_numpy()) > np.log(_most_row_doubts(runs))
    far |= apart & (series.transform("size") >= _LEAST_OF_SERIES).to_numpy()
    gpus = pd.factorize(runs.frame["gpu"])[0]
    equal = pd.Series(law_s).groupby(_numbered((gpus, pd.factorize(runs.seconds)[0])))
    marks = (equal.transform("max") > _MOST_OF_EQUAL * equal.transform("min")).to_numpy()
    off = np.abs(logs) > log(_MOST_OF_MARKS)
    far |= marks & off
    far[off] |= np.array([_is_mark(value) for value in runs.seconds[off]], dtype=bool)
    if far.any():
        places = np.flatnonzero(far)
        examples = "; ".join(
            f"row {place + 1}: {show_seconds(runs.seconds[place])}, the formula gives "
            f"{show_seconds(law_s[place])}"
            for place in places[:_MOST_EXAMPLES]
        )
        yield Doubt(f"times that can hardly be right ({examples})", tuple(places.tolist()))


def _is_mark(seconds: float) -> bool:
    """Return whether the digits of a time are nines, as a script writes that had none."""
    digits = f"{seconds:.6e}".partition("e")[0].replace(".", "").rstrip("0")
    return len(digits) >= _LEAST_NINES and digits in _NOT_MEASURED


def exchange_doubts(runs: RunTable, law_s: np.ndarray, headings: Sequence[str] = ()) -> Iterator[Doubt]:
    """Yield a doubt for two names of a column whose times fit the formula once they are exchanged.

    Without such names, batches are doubted of which a larger one takes less time.

    law_s : times by the formula in s, (n_runs,). headings : above the times where they are a pivot.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        law, logs = np.log(law_s), np.log(runs.seconds / law_s)
    # Of processors the formula does not know which network takes longer.
    compared = np.where(_most_row_doubts(runs) == _MOST_OF_RUN, logs, np.nan)
    setup = [name for name in (*SERIES, "batch_per_gpu") if name != "precision_stated"]
    codes = _codes(runs, setup)
    groups = _numbered(codes.values())
    firsts = np.unique(groups, return_index=True)[1]
    batches = np.log(runs.frame["batch_per_gpu"].to_numpy())
    logs_of, law_of = _medians(groups, compared), _medians(groups, law)
    per_image = law_of - batches[firsts]
    of_setup = [name for name in setup if name not in ("gpu", "precision")]
    of_cnn = [name for name in of_setup if name != "batch_per_gpu"]
    if pair := _exchanged_headings(headings, codes, compared, (law, law - batches)):
        one, other = (headings[place] for place in pair)
        yield Doubt(
            f"the times under {one} and {other} fit the formula once they are exchanged: are the headings?",
            pair,
        )
        return
    for column, names, expected, least in (
        ("cnn", of_cnn, law_of, 1),
        ("cnn", of_setup, law_of, _LEAST_OF_MANY),
        ("cnn", of_setup, per_image, _LEAST_OF_MANY),
        ("gpu", ["gpu"], law_of, 1),
        ("precision", ["precision"], law_of, 1),
        ("batch_per_gpu", ["batch_per_gpu"], law_of, 1),
    ):
        own = _numbered(codes[name][firsts] for name in names)
        others = _numbered(codes[name][firsts] for name in setup if name not in names)
        if pair := _exchanged(own, others, logs_of, expected, least):
            places = tuple(int(firsts[group]) for group in pair)
            one, other = (str(runs.frame[column].iloc[place]) for place in places)
            if one == other:
                continue
            text = f"the times of {one} and {other} fit the formula once they are exchanged: are the names?"
            yield Doubt(text, places, (column, one, other))
            return
    yield from _of_batches(runs, logs, _numbered(codes[name] for name in setup if name != "batch_per_gpu"))


def _codes(runs: RunTable, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return each of these columns as numbers of its values, (n_runs,)."""
    frame = runs.frame
    return {name: pd.factorize(frame[name], use_na_sentinel=False)[0] for name in names}


def _numbered(codes: Iterable[np.ndarray]) -> np.ndarray:
    """Return the number of the group of each run, (n,): runs of a group have equal codes in every column."""
    found = np.zeros(1, dtype=np.int64)
    for own in codes:
        # Most columns have one value.
        if found.size == 1 or own.any():
            found = np.unique(found * (own.max(initial=0) + 1) + own, return_inverse=True)[1]
    return found


def _medians(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the median of the values of each group that are known, nan for a group without any."""
    order = np.lexsort((values, groups))
    counts = np.bincount(groups, np.isfinite(values)).astype(int)
    begins = np.searchsorted(groups[order], np.arange(len(counts)))
    ordered = values[order]
    # Within a group, unknown values are sorted behind the others.
    middle = 0.5 * (ordered[begins + np.maximum(counts - 1, 0) // 2] + ordered[begins + counts // 2])
    return np.where(counts > 0, middle, np.nan)


def _exchanged_headings(
    headings: Sequence[str], codes: Mapping[str, np.ndarray], logs: np.ndarray, laws: Sequence[np.ndarray]
) -> tuple[int, ...]:
    """Return a run below each of two headings that say several things and look exchanged; () if none do.

    codes : of each column of the setup. logs : ln of measured over predicted. laws : ln of the times by the
    formula, and of those per image, since images/s may have changed places; all (n_runs,).
    """
    if not any(headings):
        return ()
    below = pd.factorize(np.array(headings, dtype=object))[0]
    varying = {name: own for name, own in codes.items() if own.any()}
    said = [name for name, own in varying.items() if _numbered((below, own)).max() == below.max(initial=0)]
    if len(said) < 2:
        return ()
    others = _numbered(own for name, own in varying.items() if name not in said)
    others = np.broadcast_to(others, below.shape)
    pairs = (_exchanged(below, others, logs, law, _LEAST_OF_HEADINGS) for law in laws)
    return next(filter(None, pairs), ())


def _of_batches(runs: RunTable, logs: np.ndarray, series: np.ndarray) -> Iterator[Doubt]:
    """Yield a doubt for runs that take less time than one of the same series with a smaller batch.

    series : number of all that makes up a run except its batch, (n_runs,).
    """
    batches = runs.frame["batch_per_gpu"].to_numpy()
    near = np.flatnonzero(np.abs(logs) < log(_MOST_OF_BATCH))
    setups = pd.MultiIndex.from_arrays([series[near], batches[near]], names=["series", "batch"])
    longest = pd.Series(runs.seconds[near], setups).groupby(["series", "batch"]).max()
    of_smaller = longest.groupby("series").cummax().groupby("series").shift()
    shorter = near[runs.seconds[near] < _LEAST_OF_LARGER * of_smaller.reindex(setups).to_numpy()]
    if len(shorter):
        run = runs.frame.iloc[shorter[0]]
        text = f"{run['cnn']}, batch {run['batch_per_gpu']}, on {run['gpu']} takes less time"
        yield Doubt(f"{text} than a smaller batch: are the batches right?", tuple(sorted(shorter.tolist())))


def _exchanged(
    names: np.ndarray, others: np.ndarray, logs: np.ndarray, law: np.ndarray, least: int
) -> tuple[int, ...]:
    """Return a setup of each of two names whose times look exchanged; () if none do.

    All arrays have one element per setup. names : its number. others : number of all else. logs : ln of
    measured over predicted. law : ln of the times by the formula. least : rows that the names have in common.
    """
    if min(names.max(initial=0), others.max(initial=0)) >= _MOST_NAMES:
        return ()
    few = names.max(initial=0) < _FEW_NAMES
    kept = names < _MOST_NAMES
    table = np.full((2, others.max(initial=0) + 1, names[kept].max(initial=0) + 1), np.nan)
    table[:, others[kept], names[kept]] = logs[kept], law[kept]
    # A row of one name has nothing in common with another one.
    table = table[:, np.isfinite(table[0]).sum(axis=1) > 1]
    misfit, lead = table[:, :, :, None] - table[:, :, None, :]
    common = np.isfinite(misfit) & np.isfinite(lead)
    rows = common.sum(axis=0)
    # Once exchanged, a deviation is that as it is and twice the lead by the formula.
    fits = (misfit > 0.0) & (np.abs(misfit + 2.0 * lead) < misfit)
    with np.errstate(invalid="ignore", divide="ignore"):
        misfit, lead = (np.where(common, values, 0.0).sum(axis=0) / rows for values in (misfit, lead))
    gain = misfit**2 - (misfit + 2.0 * lead) ** 2
    enough = (rows >= (least if few else _LEAST_OF_MANY)) & (
        gain > (_LEAST_GAIN if few else _LEAST_GAIN_OF_MANY)
    )
    gain = np.where(enough & (fits | ~common).all(axis=0), gain * rows, 0.0)
    if not gain.any():
        return ()
    pair = np.unravel_index(gain.argmax(), gain.shape)
    return tuple(int((names == name).argmax()) for name in pair)


def repeat_doubts(runs: RunTable, most: float = _MOST_OF_REPEATS) -> Iterator[Doubt]:
    """Yield a doubt for the configuration whose repeats differ most, where they contradict each other.

    most : factor between the slowest and the fastest from which on they do.
    """
    codes = _codes(runs, [*SERIES, "batch_per_gpu"])
    groups = pd.Series(runs.seconds).groupby(_numbered(codes.values()))
    ratio = (groups.transform("max") / groups.transform("min")).to_numpy()
    if len(ratio) and ratio.max() > most:
        worst = runs.frame.iloc[int(ratio.argmax())]
        places = tuple(np.flatnonzero(ratio > most).tolist())
        yield Doubt(
            f"repeats contradict each other: {worst['cnn']}, batch {worst['batch_per_gpu']}, on "
            f"{worst['gpu']}, the slowest {show_number(float(ratio.max()), 3)} times as long as the fastest",
            places,
        )
