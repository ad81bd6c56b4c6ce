"""The held-out errors of a study as they outlive it: a table for `errors.csv`, JSON inside the formula."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.datasets import RunTable
from trainlaw.datasets.tables.joins import numbered
from trainlaw.formulas import Formula
from trainlaw.validate.class_intervals import ClassIntervals
from trainlaw.validate.conformal import LEAST_UNITS, SHARE_WITHIN, ConformalInterval, conformal_coverage
from trainlaw.validate.levels import LevelError, held_out_part
from trainlaw.validate.metrics import by_group, macro, mape_percent
from trainlaw.validate.result import MEASURED, StudyResult
from trainlaw.validate.result import OURS as OURS  # noqa: PLC0414 (exported again)
from trainlaw.validate.result import SEED as SEED  # noqa: PLC0414
from trainlaw.validate.support import SOURCES
from trainlaw.validate.time_factors import STACK_FEATURES

LEVEL = 0.9  # share of the runs on a new GPU that an interval is to contain
OVERALL = "all"
BY_GPU = "gpu_group"
BY_CNN = "cnn_base"
#: Further labels whose groups get their own errors, where a study has them.
ALSO_BY = ("source", "precision", "generation", "layout", "stack", "batch", "algorithm", "nodes")
#: Levels whose errors a formula keeps, next to those by GPU group and architecture.
KEPT = ("precision", "generation", "layout")
MACRO = "macro_gpu_group_mape_percent"
# Metrics of a summary that are shown, in percent; errors.csv has all.
METRIC_TITLES: Mapping[str, str] = {
    MACRO: "mean over GPU groups",
    "macro_cnn_base_mape_percent": "mean over architectures",
    "mape_percent": "mean over runs",
    "median_ape_percent": "median over runs",
    "within_10_percent": "runs within 10 %",
    "within_25_percent": "runs within 25 %",
    "within_50_percent": "runs within 50 %",
    "faster_gpu_percent": "faster of two GPUs picked",
}
OTHERS = "any other"  # class of runs outside all others
#: GPUs of this vendor are one class; on others a stack adds words to a precision of 16 bits.
OWN_CLASS = "AMD"
STACK_WORDS: Mapping[str, str] = {"channels_last": ", channels last", "fused": ", fused"}
UNKNOWN_STACK = "16 bits, stack unknown"
#: Measured precisions whose convolutions depend on the stack.
OF_STACKS = ("amp", "fp16")
MAIN_VENDOR = "NVIDIA"  # whose runs have a class by precision and stack
#: The 90 % point of an architecture's errors over their mean, as exponent of 1 + the mean, and the error in
# percent that one without held-out runs counts as: chosen by coverage (docs/decisions/0008).
SPREAD_OF_ERRORS, UNKNOWN_ARCHITECTURE = 1.3, 22
#: Share of a new generation's errors that are assumed to lie within: where another GPU of it has training
# runs, and where none has. Chosen by coverage, too.
KNOWN_SHARE_WITHIN, NEW_SHARE_WITHIN = 0.75, 0.7
#: Key of the share of resamples of the GPU groups in which each term is chosen.
CHOSEN_AGAIN = "chosen_again"
_RESAMPLES = 200  # of the bootstrap; its ends then move by a tenth of their distance
_KEYS = ["level", "name", "estimator", "n_rows"]
_SERIES_AND_NUMBER = re.compile(r"[^-]*?\w*\d\w*")
_DECIMALS = 9  # of a percentage: what is written must not depend on the last bit of a sum


@dataclass(frozen=True)
class ErrorLine:
    """Mean absolute percentage errors of one architecture or GPU group, by estimator.

    `rows` counts its runs; `members` are the GPUs of the group or the variants of the architecture. `low` and
    `high` are the ends of the 90 % interval of the evolved formula's error; nan where unknown. `seeds` are
    the errors of single searches where the formula's error is the mean of several.
    """

    name: str
    rows: int
    errors: Mapping[str, float]
    members: tuple[str, ...] = ()
    low: float = math.nan
    high: float = math.nan
    seeds: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """A short, recognisable name: the architecture, or the GPUs of the group.

        >>> ErrorLine("GV100-80", 300, {}, ("V100-PCIE-16GB", "V100-SXM2-16GB")).label
        'V100 (2 models)'
        """
        if len(self.members) < 2:
            return self.members[0] if self.members else self.name
        names = Counter(_chip_name(member) for member in self.members)
        name = max(names, key=lambda each: (names[each], -len(each)))
        return f"{name} ({len(self.members)} models)"


def _chip_name(gpu: str) -> str:
    """Return V100 of V100-PCIE-16GB, RTX 2080 of RTX 2080 Ti."""
    found = _SERIES_AND_NUMBER.match(gpu)
    return found[0] if found else gpu


def errors_frame(result: StudyResult) -> pd.DataFrame:
    """Return the errors as a long table: level, name, estimator, n_rows and one column per metric.

    Levels are `OVERALL`, `BY_GPU`, `BY_CNN` and those of `ALSO_BY` that the study has labels of; metrics that
    exist on one level only are nan on the others.
    Without a finished fold the table is empty.
    """
    if not len(result.predictions):
        return pd.DataFrame(columns=_KEYS)
    summary = result.summary()
    summary.insert(0, "name", OVERALL)
    parts = [summary.assign(level=OVERALL)]
    for level in (BY_GPU, BY_CNN, *(name for name in ALSO_BY if name in result.predictions)):
        parts.append(result.errors_by(level).rename(columns={level: "name"}).assign(level=level))
    frame = _mean_over_seeds(pd.concat(parts, ignore_index=True))
    return frame[[*_KEYS, *(column for column in frame.columns if column not in _KEYS)]].round(_DECIMALS)


def _mean_over_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with those of the searches with other seeds merged into ours: their mean.

    The lines of single seeds stay for all runs together.
    """
    seeded = frame["estimator"].str.startswith(SEED)
    if not seeded.any():
        return frame
    ours = frame[seeded | (frame["estimator"] == OURS)]
    means = ours.drop(columns="estimator").groupby(["level", "name"], sort=False).mean().reset_index()
    single = frame[seeded & (frame["level"] == OVERALL)]
    others = frame[~seeded & (frame["estimator"] != OURS)]
    merged = pd.concat([means.assign(estimator=OURS), single, others], ignore_index=True)
    places = {
        key: place for place, key in enumerate(dict.fromkeys(zip(frame["level"], frame["name"], strict=True)))
    }
    names = {name: place for place, name in enumerate(dict.fromkeys(frame["estimator"]))}
    order = [
        (places[level, name], names[estimator])
        for level, name, estimator in zip(merged["level"], merged["name"], merged["estimator"], strict=True)
    ]
    merged = merged.iloc[sorted(range(len(order)), key=order.__getitem__)].reset_index(drop=True)
    return merged.astype({"n_rows": int})


def errors_json(
    result: StudyResult,
    protocol: str,
    unit: str = BY_GPU,
    levels: Sequence[LevelError] = (),
    new_generations: StudyResult | None = None,
    *,
    X: pd.DataFrame | None = None,
    frame: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Return the errors as plain JSON, for `Formula.errors`; `protocol` describes how they were measured.

    unit : label column of the groups that were held out whole; intervals are for a new one of these.
    levels : the error by what is known of the target GPU. new_generations : predictions of generations that
    were held out whole, None where there are none. X : features of the study, (n_runs, n_features), for
    intervals of runs whose stack is not known. frame : of `errors_frame`, where it is known.
    Without a finished fold the result is an empty dictionary.
    """
    if not len(result.predictions):
        return {}
    frame = errors_frame(result) if frame is None else frame
    overall = frame[frame["level"] == OVERALL].drop(columns=["level", "name"]).set_index("estimator")
    named = tuple(name for name in result.estimators if not name.startswith(SEED))
    return {
        "protocol": protocol,
        "missing": list(result.missing_splits),
        "interval": _interval_json(result, unit),
        **_class_intervals_json(result, unit, new_generations, X),
        **_seeds_json(frame),
        "estimators": list(named),
        "summary": {
            str(name): {str(metric): _number(value) for metric, value in row.items()}
            for name, row in overall.iterrows()
        },
        "summary_intervals": _summary_intervals(result, unit),
        "calibration": [
            {
                name: _number(value) if isinstance(value, float) else value
                for name, value in asdict(level).items()
            }
            for level in levels
        ],
        BY_GPU: _lines_json(frame[frame["level"] == BY_GPU], named, _members(result)),
        BY_CNN: _lines_json(frame[frame["level"] == BY_CNN], named, {}),
        **{level: _macro_lines(result, level, named) for level in KEPT if (frame["level"] == level).any()},
    }


def _macro_lines(result: StudyResult, level: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The error of each precision, generation or layout: the mean over its GPU groups, best first."""
    values, groups = result.labels(level), result.labels(BY_GPU)
    seeds = result.searches[1:]
    lines = []
    for value in np.unique(values):
        inside = values == value
        errors = {
            name: macro(
                mape_percent, result.measured_s[inside], result.predicted_s(name)[inside], groups[inside]
            )
            for name in (*names, *seeds)
        }
        by_seed = [errors[name] for name in (OURS, *seeds)]
        errors[OURS] = float(np.mean(by_seed))
        lines.append(
            {
                "name": str(value),
                "rows": int(inside.sum()),
                "errors": {name: _number(errors[name]) for name in names},
                **({"seeds": [_number(error) for error in by_seed]} if seeds else {}),
                "members": np.unique(groups[inside]).tolist(),
            }
        )
    return sorted(lines, key=lambda line: math.inf if line["errors"][OURS] is None else line["errors"][OURS])


def run_classes(precision: npt.ArrayLike, stack: npt.ArrayLike, vendor: npt.ArrayLike) -> np.ndarray:
    """Return the class of each run for its interval, text (n_runs,): the vendor AMD, or precision and stack.

    The few runs on AMD's GPUs differ more from each other than from precision to precision. Vendors without
    any runs are one class, which gets the widest interval of all.
    """
    texts = zip(*(np.asarray(each, str).tolist() for each in (precision, stack, vendor)), strict=True)
    return np.array([run_class(*text) for text in texts], dtype=str)


def run_class(precision: str, stack: str, vendor: str) -> str:
    """Return the class of one run for its interval, as `run_classes` does.

    >>> run_class("amp", "channels_last", "NVIDIA"), run_class("fp32", "eager", "Intel")
    ('amp, channels last', 'any other')
    """
    if vendor != MAIN_VENDOR:
        return OWN_CLASS if vendor == OWN_CLASS else OTHERS
    if precision not in OF_STACKS:
        return precision
    return UNKNOWN_STACK if stack == "unknown" else precision + STACK_WORDS.get(stack, "")


def architecture_factor(error_percent: float | None) -> float:
    """Return the factor of an architecture's interval by its held-out error, None where there is none.

    >>> round(architecture_factor(10), 3), architecture_factor(None) > architecture_factor(10)
    (1.132, True)
    """
    error = UNKNOWN_ARCHITECTURE if error_percent is None else error_percent
    return float((1 + error / 100) ** SPREAD_OF_ERRORS)


def _class_intervals_json(
    result: StudyResult, unit: str, new_generations: StudyResult | None, X: pd.DataFrame | None
) -> dict[str, Any]:
    """The intervals by class, for a GPU of a known generation and for one of a generation without runs."""
    if not {"precision", "stack", "vendor", "generation"} <= set(result.predictions) or unit != BY_GPU:
        return {}
    errors = by_group(mape_percent, result.measured_s, result.predicted_s(OURS), result.labels(BY_CNN))

    def intervals(predictions: StudyResult, share_within: float) -> ClassIntervals:
        rows = predictions.predictions.assign(predicted=predictions.predicted_s(OURS))
        unknown = None if X is None else _without_stack(predictions, X)
        return class_intervals(rows, errors, share_within, unknown)

    known = intervals(result, KNOWN_SHARE_WITHIN)
    found = {"interval_by_class": known.to_json()}
    if new_generations is not None and len(new_generations.predictions):
        # One part of several may leave less to train on than one generation does.
        wider = intervals(new_generations, NEW_SHARE_WITHIN).wider_than(known)
        found["interval_of_new_generation"] = wider.to_json()
    return found


def _without_stack(result: StudyResult, X: pd.DataFrame) -> pd.DataFrame | None:
    """Return the predictions of a study as `class_intervals` takes them, had their stacks not been known.

    None for formulas that do not depend on stacks, or not on these features alone.
    """
    formulas = [formula for (_, name), formula in result.formulas.items() if name == OURS]
    used = {spec.name for formula in formulas for spec in formula.used_features}
    if not used & set(STACK_FEATURES) or not used <= set(X):
        return None
    eager, parts = X.assign(**dict.fromkeys(STACK_FEATURES, 0.0)), []
    for split, part in result.predictions.groupby("split", sort=False):
        formula, own, _ = held_out_part(result, OURS, eager, str(split), part)
        parts.append(part.assign(predicted=own.predict(formula), stack="unknown"))
    rows = pd.concat(parts)
    return rows[rows["precision"].isin(OF_STACKS) & (rows["vendor"] == MAIN_VENDOR)]


def class_intervals(
    rows: pd.DataFrame, errors: Mapping[str, float], share_within: float, unknown: pd.DataFrame | None = None
) -> ClassIntervals:
    """Return the intervals by class. GPUs of one generation err alike: a new GPU counts as a new generation.

    rows : held-out runs with their labels, `predicted` and measured seconds. errors : of each architecture,
    percent. share_within : as `ConformalInterval.fit` takes it. unknown : the same runs where stacks matter,
    predicted without them.
    """
    units = rows["generation"]
    if units.nunique() < LEAST_UNITS:
        units, share_within = rows[BY_GPU], SHARE_WITHIN
    found = ClassIntervals.fit(
        rows[MEASURED], rows["predicted"], rows[BY_GPU],
        run_classes(rows["precision"], rows["stack"], rows["vendor"]), LEVEL, units=units,
        of_architecture=[architecture_factor(errors.get(str(name))) for name in rows[BY_CNN]],
        share_within=share_within,
    )  # fmt: skip
    if unknown is None:
        return found
    with_unknown = class_intervals(pd.concat([rows, unknown]), errors, share_within)
    return found.with_class(UNKNOWN_STACK, with_unknown)


def _seeds_json(frame: pd.DataFrame) -> dict[str, Any]:
    """The error of each seed, where there are several."""
    single = frame[frame["estimator"].str.startswith(SEED) & (frame["level"] == OVERALL)]
    if single.empty:
        return {}
    of_others = single[MACRO].tolist()
    mean = float(frame[(frame["estimator"] == OURS) & (frame["level"] == OVERALL)][MACRO].iloc[0])
    of_first = mean * (len(of_others) + 1) - sum(of_others)
    return {"seeds": {MACRO: [_number(value) for value in (of_first, *of_others)]}}


@dataclass(frozen=True)
class Intervals:
    """The intervals that a formula carries, by class of runs (`run_classes`).

    known : for GPUs of a generation with training runs, new : for others. generations : those with training
    runs; None where the formula does not say.
    """

    known: ClassIntervals
    new: ClassIntervals
    generations: tuple[str, ...] | None

    def is_new(self, generation: str) -> bool:
        """Return whether no training run is on a GPU of a generation."""
        return self.generations is not None and generation not in self.generations

    def factor(self, kind: str, generation: str) -> float:
        """Return the factor of a class on a GPU of a generation; nan where there is none."""
        factor = (self.new if self.is_new(generation) else self.known).factor(kind)
        return factor if math.isfinite(factor) else math.nan

    def lines(self) -> list[tuple[str, float, float]]:
        """Return each class with its factors, known and new; the last one is for all other classes."""
        names = [*sorted({*self.known.factors, *self.new.factors} - {OTHERS}), OTHERS]

        def finite(value: float) -> float:
            return value if math.isfinite(value) else math.nan

        return [(name, finite(self.known.factor(name)), finite(self.new.factor(name))) for name in names]


def intervals_of(formula: Formula) -> Intervals:
    """Return the intervals that a formula carries; without classes the same one for all."""
    stored = formula.errors.get("interval_by_class")
    if not stored:
        one = ClassIntervals({OTHERS: interval_of(formula) or math.inf}, {}, LEVEL)
        return Intervals(one, one, None)
    generations = formula.provenance.get("generations")
    return Intervals(
        ClassIntervals.from_json(stored),
        ClassIntervals.from_json(formula.errors.get("interval_of_new_generation", stored)),
        None if generations is None else tuple(map(str, generations)),
    )


def interval_factors(formula: Formula, runs: RunTable) -> np.ndarray:
    """Return the factor of the interval of each run, (n_runs,); nan where there is none.

    By the run's class, and for a GPU of a generation without training runs by the errors on generations that
    were held out whole.
    """
    intervals = intervals_of(formula)
    different, first = numbered(runs.frame[name] for name in ("gpu", "precision", "stack"))
    frame = runs.frame.iloc[first]
    gpus = [runs.facts.gpus.find(str(name)) for name in frame["gpu"]]
    classes = run_classes(
        frame["precision"].to_numpy(str),
        frame["stack"].to_numpy(str),
        np.array([gpu.vendor for gpu in gpus], dtype=str),
    )
    kinds = zip(gpus, classes.tolist(), strict=True)
    factors = [intervals.factor(kind, gpu.generation) for gpu, kind in kinds]
    return np.array(factors, dtype=float)[different]


def _interval_json(result: StudyResult, unit: str) -> dict[str, Any]:
    """The factor of the interval, its coverage as mean over groups and per group, and what a group is."""
    measured, predicted, groups = result.measured_s, result.predicted_s(OURS), result.labels(unit)
    interval = ConformalInterval.fit(measured, predicted, groups, LEVEL)
    covered = conformal_coverage(measured, predicted, groups, LEVEL)
    return {
        **interval.to_json(),
        "coverage_percent": _number(covered["covered_percent"].mean()),
        "over": unit,
        "coverage_by_group": {
            str(group): _number(percent)
            for group, percent in zip(covered["group"], covered["covered_percent"], strict=True)
        },
    }


def _summary_intervals(result: StudyResult, unit: str) -> dict[str, dict[str, list[float | None]]]:
    """Low and high of the bootstrap interval of each figure, groups of `unit` resampled, by estimator.

    As the figures of several seeds, their ends are means over the seeds.
    """
    found: dict[str, dict[str, list[float | None]]] = {}
    intervals = result.intervals(unit, LEVEL, _RESAMPLES).rename(columns={"metric": "name"})
    ours = intervals["estimator"].isin(result.searches)
    means = intervals[ours].groupby("name", sort=False)[["low", "high"]].mean().reset_index()
    intervals = pd.concat([means.assign(estimator=OURS), intervals[intervals["estimator"] != OURS]])
    columns = intervals[["name", "estimator", "low", "high"]].to_numpy().tolist()
    for metric, estimator, low, high in columns:
        name = f"macro_{unit}_mape_percent" if metric == "macro_mape_percent" else str(metric)
        found.setdefault(str(estimator), {})[name] = [_number(low), _number(high)]
    return found


def _members(result: StudyResult) -> dict[str, list[str]]:
    """The GPUs of each GPU group."""
    pairs = sorted(set(zip(result.labels(BY_GPU), result.labels("gpu"), strict=True)))
    return {group: [gpu for other, gpu in pairs if other == group] for group, _ in pairs}


def _lines_json(
    part: pd.DataFrame, estimators: tuple[str, ...], members: Mapping[str, list[str]]
) -> list[dict[str, Any]]:
    table = part.pivot(index="name", columns="estimator", values="mape_percent")
    rows = part.groupby("name")["n_rows"].first()
    ordered = table.sort_values(OURS, kind="stable").index
    return [
        {
            "name": str(name),
            "rows": int(rows[name]),
            "errors": {estimator: _number(table.loc[name, estimator]) for estimator in estimators},
            "members": [str(member) for member in members.get(name, [])],
        }
        for name in ordered
    ]


def _number(value: float) -> float | None:
    return round(float(value), _DECIMALS) if np.isfinite(value) else None


def error_lines(formula: Formula, level: str) -> list[ErrorLine]:
    """Return the held-out errors that a formula carries, best first; empty where it carries none.

    level : `BY_GPU`, `BY_CNN` or one of `KEPT`.
    """
    return [
        ErrorLine(
            str(line["name"]),
            int(line["rows"]),
            {name: math.nan if value is None else float(value) for name, value in line["errors"].items()},
            tuple(map(str, line.get("members", ()))),
            seeds=tuple(float(value) for value in line.get("seeds", ()) if value is not None),
        )
        for line in formula.errors.get(level, [])
    ]


@dataclass(frozen=True)
class CarriedErrors:
    """The held-out errors that a formula carries, read once for a page about them.

    held_out : what they are on, "GPU" or "architecture". estimators : by name, the formula's own (`OURS`)
    first. lines : by level (`BY_GPU`, `BY_CNN`, `KEPT`), best first. overall : the mean over GPU groups, %,
    by estimator; nan where there is none.
    """

    held_out: str
    estimators: tuple[str, ...]
    lines: Mapping[str, list[ErrorLine]]
    overall: Mapping[str, float]

    @property
    def others(self) -> list[str]:
        """The names of the estimators but for the formula itself."""
        return [name for name in self.estimators if name != OURS]


def carried_errors(formula: Formula) -> CarriedErrors:
    """Return the held-out errors that a formula carries; without estimators where it carries none."""
    names = estimators(formula)
    lines = {level: error_lines(formula, level) for level in (BY_GPU, BY_CNN, *KEPT)}
    overall = {name: overall_error(formula, name) for name in names}
    return CarriedErrors(held_out_kind(formula), names, lines, overall)


def own_errors(formula: Formula, level: str) -> dict[str, tuple[float, int]]:
    """Return the formula's own held-out error in percent, to 0.1, and the number of runs, by name.

    level : `BY_GPU`, `BY_CNN` or one of `KEPT`. Names without an error are left out.
    """
    known = ((line, line.errors.get(OURS, math.nan)) for line in error_lines(formula, level))
    return {line.name: (round(error, 1), line.rows) for line, error in known if math.isfinite(error)}


def has_own_errors(formula: Formula, level: str) -> bool:
    """Return whether `own_errors` has any."""
    errors = (line["errors"].get(OURS) for line in formula.errors.get(level, ()))
    return any(error is not None and math.isfinite(error) for error in errors)


def own_error(formula: Formula, level: str, name: str) -> float:
    """Return the formula's own held-out error on runs of a name, as in `own_errors`; 0 where it has none."""
    errors = (line["errors"].get(OURS) for line in formula.errors.get(level, ()) if line["name"] == name)
    error = next(errors, None)
    return round(error, 1) if error is not None and math.isfinite(error) else 0.0


def estimators(formula: Formula) -> tuple[str, ...]:
    """Return the names of the estimators whose errors a formula carries, itself (`OURS`) first."""
    return tuple(formula.errors.get("estimators", ()))


def overall_error(formula: Formula, estimator: str, metric: str = MACRO) -> float:
    """Return one figure of the summary that a formula carries; nan where it carries none."""
    value = formula.errors.get("summary", {}).get(estimator, {}).get(metric)
    return math.nan if value is None else float(value)


def summary_interval(formula: Formula, estimator: str, metric: str = MACRO) -> tuple[float, float]:
    """Return low and high of the bootstrap interval of a figure that a formula carries; nan without one."""
    found = formula.errors.get("summary_intervals", {}).get(estimator, {}).get(metric) or (None, None)
    low, high = (math.nan if value is None else float(value) for value in found)
    return low, high


def held_out_kind(formula: Formula) -> str:
    """Return what the errors that a formula carries are on: "GPU" or "architecture", held out of training."""
    return "architecture" if formula.errors.get("interval", {}).get("over") == BY_CNN else "GPU"


def interval_of(formula: Formula) -> float | None:
    """Return the factor of the interval that a formula carries (see `ConformalInterval`), or None."""
    factor = formula.errors.get("interval", {}).get("factor")
    return None if factor is None else float(factor)


def weakly_supported(formula: Formula) -> dict[str, tuple[str, ...]]:
    """Return the times that matter in the runs of one or two sources only, with these sources."""
    known = formula.errors.get(SOURCES, {})
    return {name: tuple(found) for name, found in known.items() if 0 < len(found) < 3}


def shares_chosen_again(formula: Formula) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return, by the sorted features of a term, in which share of the resamples it was chosen.

    The second share is that of terms with the same amounts, whatever their factors.
    """
    known = formula.errors.get(CHOSEN_AGAIN, {}).get("terms", ())
    return {
        tuple(entry["features"]): (float(entry["share"]), float(entry["amount_share"])) for entry in known
    }


def resamples_of_groups(formula: Formula) -> str:
    """Return how often the GPU groups were resampled, as words; "" where they were not."""
    known = formula.errors.get(CHOSEN_AGAIN)
    if known is None:
        return ""
    seeds = f", of {known['seeds']} random seeds" if known["seeds"] > 1 else ""
    return f"{known['resamples']} resamples of the GPU groups{seeds}"
