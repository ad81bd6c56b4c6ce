"""Held-out error by level of knowledge about the target GPU.

Level 0: its data sheet. Level 1: also its achieved rates, from micro-benchmarks. Level 2: also k
configurations measured on it. Viebke et al. (HPCS 2019) distinguish two such levels for many-core processors.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.formula_rows import FormulaRows, feature_rows
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.validate.bootstrap import mean_interval
from trainlaw.validate.error_table import BY_GPU
from trainlaw.validate.measured_rates import MeasuredRates
from trainlaw.validate.metrics import by_group, mape_percent
from trainlaw.validate.result import MEASURED, StudyResult
from trainlaw.validate.time_covariances import time_covariances
from trainlaw.validate.time_factors import calibrated_seconds, calibrating_runs
from trainlaw.validate.workers import run_tasks

Columns = Mapping[str, np.ndarray]


def anchor_errors(
    result: StudyResult,
    estimator: str,
    X: pd.DataFrame,
    *,
    n_anchors: Sequence[int],
    draws: int,
    seed: int = 0,
    workers: int = 1,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Return the held-out error after calibration with a few runs of the held-out GPU.

    For each held-out group, each of its precisions and number k of anchors, k random rows calibrate the
    formula of the split (`time_factors`), which is then evaluated on the other rows; the mean over `draws`.
    A precision with at most k rows is omitted for that k. Columns `n_anchors`, `split`, `group`, `n_rows`,
    `mape_percent`.

    result : a study whose splits hold out whole GPU groups. estimator : one whose fits are
    formulas; InputError otherwise. X : the features of that study, shape (n_runs, n_features). workers,
    executor : as of `run_tasks`; the table is the same for any.
    """
    tasks: list[_Anchored] = []
    priors = _priors(result, estimator, X)
    keys = ["split", "gpu_group", *(["precision"] if "precision" in result.predictions else [])]
    for (split, group, *_), part in result.predictions.groupby(keys, sort=False):
        formula, rows, measured = held_out_part(result, estimator, X, str(split), part)
        tasks += [
            _Anchored(
                len(tasks) + place, count, str(split), str(group), priors[str(split)], formula, rows, measured
            )
            for place, count in enumerate(count for count in n_anchors if count < len(measured))
        ]
    errors = dict(run_tasks(_mean_error, tasks, workers, executor, shared=(draws, seed)))
    return pd.DataFrame(
        [(each.runs, each.split, each.group, len(each.measured), errors[each.place]) for each in tasks],
        columns=["n_anchors", "split", "group", "n_rows", "mape_percent"],
    )


class _Anchored(NamedTuple):
    """Runs of one group and precision, of which `runs` calibrate the formula of the split.

    place : among all of these. prior : covariances of factors. measured : seconds, (n_rows,).
    """

    place: int
    runs: int
    split: str
    group: str
    prior: pd.DataFrame
    formula: Formula
    rows: FormulaRows
    measured: np.ndarray


def _mean_error(task: _Anchored, draws: int, seed: int) -> tuple[int, float]:
    """Return the place of the task, and its error in percent, the mean over random choices of runs."""
    place, count, *_, prior, formula, rows, measured = task
    random, errors = np.random.default_rng([seed, count, place]), []
    for _ in range(draws if count else 1):
        order = random.permutation(len(measured))
        anchors, rest = order[:count], order[count:]
        asked = rows.of_runs(rest)
        predicted = calibrated_seconds(formula, rows, measured, anchors, asked, covariances=prior)
        errors.append(mape_percent(measured[rest], predicted))
    return place, float(np.mean(errors))


def held_out_part(
    result: StudyResult, estimator: str, X: pd.DataFrame, split: str, part: pd.DataFrame
) -> tuple[Formula, FormulaRows, np.ndarray]:
    """Return the formula of `split`, and its rows and measured seconds, (n_rows,), of `part`.

    part : rows of `result.predictions`. InputError if the estimator has no formula for the split.
    """
    if (split, estimator) not in result.formulas:
        raise InputError(f"estimator {estimator!r} has no formula of split {split!r} to calibrate")
    formula = result.formulas[split, estimator]
    features = X.iloc[part["row"].to_numpy(dtype=np.int64)]
    rows = feature_rows(features, [spec.name for spec in formula.used_features])
    return formula, rows, part[MEASURED].to_numpy(dtype=float)


def _priors(result: StudyResult, estimator: str, X: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the covariances of factors by split, from the runs outside it."""
    runs, found = result.predictions, {}
    names = [name for name in ("source", "gpu", "precision", "gpu_group") if name in runs]
    for split in runs["split"].unique():
        others = runs[runs["split"] != split]
        formula, rows, measured = held_out_part(result, estimator, X, str(split), others)
        sets = others.groupby(names).ngroup().to_numpy()
        groups = others["gpu_group"].to_numpy(dtype=str)
        found[str(split)] = time_covariances(formula, rows, measured, sets, groups)
    return found


DATA_SHEET, MICRO_BENCHMARKS = "0: data sheet", "1: and micro-benchmarks"
RUNS_ON_THE_GPU = "2: and runs of other CNNs"
# Fewer GPUs do not show which share of its nominal rates a GPU usually reaches.
_LEAST_GPUS = 3


@dataclass(frozen=True)
class LevelError:
    """The macro error at one level with its bootstrap interval.

    level : title. n_groups : GPU groups in the mean. macro_mape_percent, low_percent, high_percent : mean
    over groups and interval, percent; nan without data. sheet_percent : error of the same groups at level 0.
    """

    level: str
    n_groups: int
    macro_mape_percent: float
    low_percent: float
    high_percent: float
    sheet_percent: float


def calibration_levels(
    result: StudyResult,
    estimator: str,
    X: pd.DataFrame,
    *,
    rates: Sequence[MeasuredRates] = (),
    n_anchors: Sequence[int] = (1, 3, 5),
    draws: int = 5,
    workers: int = 1,
    executor: Executor | None = None,
) -> tuple[LevelError, ...]:
    """Return the error of the held-out GPUs at levels 0 and 1 and, for each number of runs, at level 2.

    result : a study whose splits hold out whole GPU groups, with the label `gpu`. estimator : one whose fits
    are formulas; InputError otherwise. X : features of that study, (n_runs, n_features). rates : achieved
    rates, for level 1, which needs those of the target and of three GPUs of the training rows. n_anchors :
    numbers of runs measured on the target, for level 2. draws : random choices of these runs to average over.
    workers, executor : as of `run_tasks`.
    """
    counts = (0, *n_anchors)
    errors = anchor_errors(
        result, estimator, X, n_anchors=counts, draws=draws, workers=workers, executor=executor
    )
    table = errors.pivot_table(index="group", columns="n_anchors", values="mape_percent")
    sheet = table[0]
    found = {DATA_SHEET: sheet, MICRO_BENCHMARKS: _with_rates(result, estimator, X, rates)}
    for count in n_anchors:
        values = table[count].dropna() if count in table else pd.Series(dtype=float)
        found[f"2: and {count} measured run{'s' if count > 1 else ''}"] = values
    return tuple(_level(name, values, sheet) for name, values in found.items())


def known_levels(
    result: StudyResult,
    estimator: str,
    X: pd.DataFrame,
    unit: str,
    rates: Sequence[MeasuredRates],
    *,
    workers: int = 1,
    executor: Executor | None = None,
) -> tuple[LevelError, ...]:
    """Return the error by what is known of the target GPU, as what was held out allows.

    unit : label column of the groups held out: GPUs, as for `calibration_levels`, or architectures, which are
    on known GPUs. Then the second level is that of `calibrated_predictions`. Other arguments and errors as
    for `calibration_levels`.
    """
    if unit == BY_GPU:
        return calibration_levels(result, estimator, X, rates=rates, workers=workers, executor=executor)
    known, runs = calibrated_predictions(result, estimator, X), result.predictions
    sheet, calibrated = (
        pd.Series(by_group(mape_percent, runs[MEASURED], values, runs[BY_GPU]), dtype=float)
        for values in (runs[estimator], known)
    )
    return _level(DATA_SHEET, sheet, sheet), _level(RUNS_ON_THE_GPU, calibrated, sheet)


def calibrated_predictions(result: StudyResult, estimator: str, X: pd.DataFrame) -> np.ndarray:
    """Return seconds, (n_predictions,), by the formulas that runs of further architectures calibrate.

    Runs of the same GPU group, precision and layout, of other splits and so of other architectures, calibrate
    the formula of a split (`time_factors`); without such a run, its time stays. result : a study whose splits
    hold out whole architectures, with the labels `gpu_group` and `cnn_base`. Other arguments and errors as
    for `calibration_levels`.
    """
    runs = result.predictions
    classes = [name for name in ("gpu_group", "precision", "layout") if name in runs]
    predicted, priors = runs[estimator].to_numpy(dtype=float, copy=True), _priors(result, estimator, X)
    for _, same in runs.groupby(classes, sort=False):
        for split, part in same.groupby("split", sort=False):
            known = same[same["split"] != split]
            if len(known):
                formula, rows, measured = held_out_part(result, estimator, X, str(split), known)
                unknown = held_out_part(result, estimator, X, str(split), part)[1]
                chosen = calibrating_runs(known["cnn_base"].to_numpy(str), measured)
                prior = priors[str(split)]
                found = calibrated_seconds(formula, rows, measured, chosen, unknown, covariances=prior)
                predicted[runs.index.get_indexer(part.index)] = found
    return predicted


def _level(name: str, errors: pd.Series, sheet: pd.Series) -> LevelError:
    """Return the mean over groups of `errors`, percent, with that of the same groups at level 0."""
    if not len(errors):
        return LevelError(name, 0, *[float("nan")] * 4)
    return LevelError(name, len(errors), *mean_interval(errors), float(sheet[errors.index].mean()))


def _with_rates(
    result: StudyResult, estimator: str, X: pd.DataFrame, rates: Sequence[MeasuredRates]
) -> pd.Series:
    """Return the error, percent, of each GPU group with measured rates when the formula uses these rates."""
    found = {(row.gpu, row.precision): row for row in rates}
    predictions = result.predictions
    precisions = (
        predictions["precision"] if "precision" in predictions else pd.Series("fp32", predictions.index)
    )
    keys = list(zip(predictions["gpu"], precisions, strict=True))
    sheet = X.iloc[predictions["row"].to_numpy(dtype=np.int64)]
    slower = {key: _slowdown(found[key], sheet.iloc[index]) for index, key in enumerate(keys) if key in found}
    measured: list[tuple[str, float, float]] = []
    for (split, group), part in predictions.groupby(["split", "gpu_group"], sort=False):
        # Only GPUs of the training rows, as for a target whose rates alone are measured.
        inside = set(predictions.loc[predictions["split"] == split, "gpu"])
        trained = np.array([values for (gpu, _), values in slower.items() if gpu not in inside])
        formula, held_out, seconds = held_out_part(result, estimator, X, str(split), part)
        rows = [keys[index] for index in part.index]
        known = np.array([key in slower for key in rows])
        if len(trained) >= _LEAST_GPUS and known.any():
            predicted = _predicted(formula, held_out.columns, rows, slower, _usual(trained))
            measured.extend(
                (str(group), *times) for times in zip(seconds[known], predicted[known], strict=True)
            )
    frame = pd.DataFrame(measured, columns=["group", "measured", "predicted"])
    return pd.Series(
        by_group(mape_percent, frame["measured"], frame["predicted"], frame["group"]), dtype=float
    )


def _usual(slowdowns: np.ndarray) -> np.ndarray:
    """Return the median slowdown of GPUs, (n_gpus, 3) to (3,); nan where no GPU has a measurement."""
    known = [values[np.isfinite(values)] for values in slowdowns.T]
    return np.array([np.median(values) if len(values) else np.nan for values in known])


def _slowdown(rates: MeasuredRates, sheet: pd.Series) -> tuple[float, float, float]:
    """Return nominal over achieved rates of compute, memory and launches; nan if not measured."""
    compute = sheet["peak_flop_per_s"] / (rates.achieved_matmul_flop_per_s or np.nan)
    memory = sheet["bandwidth_byte_per_s"] / (rates.achieved_copy_byte_per_s or np.nan)
    # Features count launches at a nominal 10 us each.
    return float(compute), float(memory), (rates.launch_latency_s or np.nan) / 1e-5


def _predicted(
    formula: Formula,
    columns: Columns,
    rows: Sequence[tuple[str, str]],
    slower: dict[tuple[str, str], tuple[float, float, float]],
    usual: np.ndarray,
) -> np.ndarray:
    """Return seconds at the achieved rates, (n_rows,); nan for a GPU without rates.

    usual : median slowdown of the training GPUs, which the constants of the formula already contain, (3,).
    """
    predicted = np.full(len(rows), np.nan)
    for key in set(rows) & set(slower):
        where = np.array([row == key for row in rows])
        # Without a measured rate, the GPU is assumed to be as usual.
        slowdown = np.nan_to_num(np.array(slower[key]) / usual, nan=1.0)
        here = {name: values[where] for name, values in columns.items()}
        predicted[where] = formula.predict(at_rates(here, *slowdown.tolist()))
    return predicted


# Endings of the names of times at a rate of operations.
_COMPUTE_ENDINGS = ("_compute_s", "_matrix_s", "_simt_s", "_lanes_s", "_bits_s", "_both_s", "_fp32_s")


def at_rates(columns: Columns, compute: float, memory: float, launch: float = 1.0) -> dict[str, np.ndarray]:
    """Return the features, each (n_runs,), at the effective rates of a GPU.

    compute, memory, launch : nominal rate over the effective one, so that times are multiplied by it.
    """
    by_ending = {
        **dict.fromkeys(_COMPUTE_ENDINGS, compute),
        **dict.fromkeys(("_memory_s", "_cached_s", "_own_s", "_own_moves_s"), memory),
        **dict.fromkeys(("_launch_s", "_kernel_s"), launch),
        **dict.fromkeys(("flop_per_s", "matrix_number"), 1.0 / compute),
        "bandwidth_byte_per_s": 1.0 / memory,
    }
    found = {}
    for name, values in columns.items():
        factor = next((factor for ending, factor in by_ending.items() if name.endswith(ending)), 1.0)
        found[name] = np.asarray(values, dtype=float) * factor
    return found
