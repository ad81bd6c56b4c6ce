"""A formula calibrated to one machine by a few runs: its constants, its interval and their evidence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import log, nan
from typing import Any

import numpy as np
import pandas as pd
from trainlaw.app.models.doubts import Evidence, row_doubts
from trainlaw.app.models.scopes import check_scope, formula_rows
from trainlaw.app.text.numbers import show_percent
from trainlaw.datasets import RunTable
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.scopes import LAYER, RUN
from trainlaw.validate.class_intervals import architecture_factor
from trainlaw.validate.formula_intervals import interval_of
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.time_factors import (
    RUN_DEVIATION,
    TimeFactors,
    calibrating_runs,
    interval_share,
    left_out_times,
    time_factors,
)

#: Entry of the provenance of a calibrated formula.
CALIBRATED = "calibrated"
#: Entry of the provenance of a formula, and of its calibration, that says what is doubtful about its runs.
DOUBT = "doubt"
_LEAST_CNNS_LEFT_OUT = 3
_CONTRADICTORY = 2.0  # times the usual spread of runs around a calibrated formula
_LEAST_RUNS_FOR_SPREAD = 4
_INTERVALS = ("interval_by_class", "interval_of_new_generation")
#: Columns of a run on one GPU.
_ALONE: Mapping[str, Any] = {
    "n_gpus": 1,
    "n_nodes": 1,
    "link": "none",
    "network": "none",
    "algorithm": "none",
    "allocation": "even",
    "time_min_s": nan,
    "time_max_s": nan,
    "single_gpu_time_s": nan,
}
_CONFIGURATION = (
    "gpu",
    "cnn",
    "input_size_px",
    "n_classes",
    "batch_per_gpu",
    "precision",
    "layout",
    "compilation",
    "tuned",
    "stack",
    "host_launch_s",
)


@dataclass(frozen=True)
class CalibratedLaw:
    """A calibrated formula with what it was made of and how much better it is.

    factors : measured over predicted, by time. before_percent : mean absolute percentage error of the given
    formula on the runs; left_out_percent : of the calibrated one, each run predicted by those of the other
    architectures, or of fewer than three architectures by the other runs; nan for a single run. n_cnns :
    architectures that were left out one by one, 0 where runs were. warnings : runs that contradict each
    other, several GPUs or precisions.
    """

    formula: Formula
    factors: TimeFactors
    n_runs: int
    n_cnns: int
    gpus: tuple[str, ...]
    precisions: tuple[str, ...]
    before_percent: float
    left_out_percent: float
    warnings: tuple[str, ...]


def calibrated_law(formula: Formula, runs: RunTable, remarks: Iterable[str] = ()) -> CalibratedLaw:
    """Return a formula calibrated by the runs on one GPU each; of those on several, by stated times on one.

    remarks : what else is doubtful about the runs, which every answer of the formula says. Raises InputError
    for no run on one GPU, or a formula without a time of a run.
    """
    given, runs = runs, _on_one_gpu(runs)
    all_rows = _checked_rows(formula, runs, len(given))
    all_runs, bases = runs, runs.labels()["cnn_base"].to_numpy(dtype=str)
    chosen = calibrating_runs(bases, runs.seconds)
    runs, rows, parts = runs.where(chosen), all_rows.of_runs(chosen), _parts(bases[chosen])
    seconds = runs.seconds
    factors = time_factors(formula, rows, seconds)
    n_cnns = len(np.unique(parts)) if len(np.unique(parts)) < len(runs) else 0
    left_out, share = left_out_times(formula, rows, seconds, parts), interval_share(len(runs))
    gpus, precisions = (tuple(sorted(set(map(str, all_runs.frame[name])))) for name in ("gpu", "precision"))
    law = replace(formula, expression=factors.apply(formula))
    before = mape_percent(seconds, rows.predict(formula))
    after = mape_percent(seconds, left_out) if len(runs) > 1 else float("nan")
    evidence = Evidence.of(all_runs, all_rows.predict(formula))
    doubt = [own.text for own in row_doubts("whole", evidence)]
    doubts = tuple(dict.fromkeys([*doubt, *remarks]))
    known = {
        "runs": len(runs),
        "gpus": list(gpus),
        "precisions": list(precisions),
        "table": runs.name,
        "table_sha256": runs.sha256,
        "common_factor": factors.common,
        "factors": dict(factors.by_time),
        "factors_of_stacks": dict(factors.by_stack),
        "error_before_percent": round(before, 6),
        "error_left_out_percent": round(after, 6) if len(runs) > 1 else None,
        DOUBT: "; ".join(doubts),
    }
    # Nothing is narrowed unless runs left out are predicted better; runs that are wrong as a whole agree.
    share = 1.0 if doubt or not after < before or _all_beyond(evidence.logs, interval_of(formula)) else share
    law = replace(
        law,
        ranges=_extended(law, rows),
        errors=_narrower(formula.errors, len(runs), gpus, _own_spread(seconds, left_out), share),
        provenance={**formula.provenance, CALIBRATED: known},
    )
    warnings = _warnings(evidence, rows.predict(law) / seconds, gpus, precisions)
    warnings = (*_of_several(given), *warnings, *doubts)
    return CalibratedLaw(law, factors, len(runs), n_cnns, gpus, precisions, before, after, warnings)


def _all_beyond(logs: np.ndarray, factor: float | None) -> bool:
    """Return whether all runs deviate one way by more than the factor of the interval."""
    return factor is not None and bool((logs > log(factor)).all() or (logs < -log(factor)).all())


def _on_one_gpu(runs: RunTable) -> RunTable:
    """Return the runs on one GPU, with those on several that state the time on one as such runs."""
    frame = runs.frame
    several = frame["n_gpus"] > 1
    stated = frame[several & frame["single_gpu_time_s"].notna()]
    if stated.empty:
        return runs.where(n_gpus=1)
    alone = stated.assign(**_ALONE, time_s=stated["single_gpu_time_s"])
    # Runs on 2 and on 4 GPUs state the same time.
    alone = alone.drop_duplicates([*_CONFIGURATION, "time_s"])
    return RunTable(runs.name, pd.concat([frame[~several], alone], ignore_index=True), runs.facts)


def _of_several(runs: RunTable) -> Iterator[str]:
    """Yield how runs on several GPUs were used, or that they were left out."""
    frame = runs.frame
    several = frame["n_gpus"] > 1
    stated = int((several & frame["single_gpu_time_s"].notna()).sum())
    left = int(several.sum()) - stated
    if left:
        yield (
            f"runs on several GPUs do not calibrate: {left} left out; --single-gpu-seconds predicts several "
            "from a measured time"
        )
    if stated:
        yield f"of {stated} runs on several GPUs, the stated time on one GPU calibrates"


def _checked_rows(formula: Formula, runs: RunTable, n_given: int) -> FormulaRows:
    """Return the runs as rows of the formula; InputError where they cannot calibrate it."""
    check_scope(formula, RUN, LAYER, advice="calibrate a formula of whole runs or of layers")
    if CALIBRATED in formula.provenance:
        raise InputError("this formula is calibrated already; calibrate the original with all runs")
    if not len(runs):
        found = f"{n_given} on several GPUs" if n_given else "none"
        raise InputError(
            f"expected at least one run on one GPU to calibrate with, got {found}; measure one, too"
        )
    rows = formula_rows(formula, runs)
    times = rows.predict(formula)
    if not (np.isfinite(times) & (times > 0)).all():
        row = runs.frame.iloc[int(np.argmin(np.isfinite(times) & (times > 0)))]
        raise InputError(f"the formula has no time for {row['cnn']} on {row['gpu']}; leave this run out")
    return rows


def _parts(bases: np.ndarray) -> np.ndarray:
    """Return what is left out together, int (n_runs,): an architecture, or a run where those are few."""
    places = np.unique(bases, return_inverse=True)[1]
    return places if places.max() + 1 >= _LEAST_CNNS_LEFT_OUT else np.arange(len(bases))


def _own_spread(seconds: np.ndarray, left_out: np.ndarray) -> float:
    """Return ln of the factor that 90 % of the runs left out are within; of few runs, all."""
    logs = np.abs(np.log(left_out / seconds))
    return float(np.quantile(logs, 0.9) if len(logs) >= _LEAST_RUNS_FOR_SPREAD else logs.max())


def _extended(formula: Formula, rows: FormulaRows) -> dict[str, tuple[float, float]]:
    """Return the training ranges, extended to the runs that calibrated."""
    found = dict(formula.ranges)
    for name, (low, high) in found.items():
        if name in rows.columns:
            values = rows.columns[name]
            found[name] = (min(low, float(np.min(values))), max(high, float(np.max(values))))
    return found


def _narrower(
    errors: Mapping[str, Any], n_runs: int, gpus: tuple[str, ...], own: float, share: float
) -> dict[str, Any]:
    """Return the errors of the formula before, with intervals as narrow as the runs allow.

    own : ln of the factor that the runs themselves need. share : of ln of a factor that is left, 1 where
    nothing is narrowed.
    """
    if not errors:
        return {}

    def narrowed(factor: float | None, of_architecture: float = 1.0) -> float | None:
        if factor is None:
            return None
        width = np.hypot(np.log(factor), np.log(of_architecture))
        return round(float(np.exp(max(share * width, own))), 6)

    number = "1 run" if n_runs == 1 else f"{n_runs} runs"
    protocol = f"{errors.get('protocol', '')}; before calibration with {number} on {gpus[0]}"
    found = {**errors, "protocol": protocol}
    if "interval" in errors:
        found["interval"] = {**errors["interval"], "factor": narrowed(errors["interval"].get("factor"))}
    for name in _INTERVALS:
        if name in errors:
            # What is left of an architecture's error is not known: it counts as one never held out.
            known = errors[name]["factors"].items()
            factors = {kind: narrowed(factor, architecture_factor(None)) for kind, factor in known}
            found[name] = {**errors[name], "factors": factors}
    return found


def _warnings(
    evidence: Evidence, ratios: np.ndarray, gpus: tuple[str, ...], precisions: tuple[str, ...]
) -> tuple[str, ...]:
    """Return what makes the runs doubtful: several GPUs or precisions, a wide spread, unequal repeats.

    ratios : predicted over measured times of the runs that calibrated.
    """
    found = []
    groups = evidence.runs.labels()["gpu_group"].nunique()
    if groups > 1:
        found.append(
            f"the runs are on {groups} kinds of GPUs ({', '.join(gpus)}), and the factors are those of their "
            "mean; --gpu calibrates one formula for each"
        )
    if len(precisions) > 1:
        found.append(
            f"the runs are in {', '.join(precisions)}, and the factors are those of their mean; --precision "
            "calibrates one formula for each"
        )
    spread = float(np.sqrt(np.mean(np.log(ratios) ** 2)))
    if len(ratios) >= _LEAST_RUNS_FOR_SPREAD and spread > _CONTRADICTORY * RUN_DEVIATION:
        found.append(
            f"the runs contradict each other: they deviate by {100 * np.expm1(spread):.0f} % from the "
            f"calibrated formula, where {100 * np.expm1(RUN_DEVIATION):.0f} % is usual; check units, "
            "precision and labels"
        )
    repeats = row_doubts("repeats", evidence, "calibrate", names=_CONFIGURATION)
    return (*found, *(doubt.text for doubt in repeats))


def calibration_of(formula: Formula) -> Mapping[str, Any] | None:
    """Return what a formula was calibrated with; None for a formula that was not."""
    found = formula.provenance.get(CALIBRATED)
    return found if isinstance(found, Mapping) else None


def own_error(formula: Formula) -> str:
    """Return how far a calibrated formula is off on its runs; "" for a formula that is not calibrated."""
    known = calibration_of(formula)
    if known is None:
        return ""
    error = known.get("error_left_out_percent")
    if not isinstance(error, int | float):
        return "calibrated by 1 run: its error is not known"
    return f"calibrated: {show_percent(error)} % on its own runs"
