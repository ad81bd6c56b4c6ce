"""A law calibrated to one machine by a few runs: its constants, its interval and what they rest on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from trainlaw.app.models.scopes import check_scope, formula_rows
from trainlaw.datasets import RunTable
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.scopes import LAYER, RUN
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.time_factors import RUN_DEVIATION, TimeFactors, interval_share, time_factors

#: Entry of the provenance of a calibrated law.
CALIBRATED = "calibrated"
#: More runs are enough for a separate study.
MOST_RUNS = 50
_CONTRADICTORY = 2.0  # times the usual spread of runs around a calibrated law
_LEAST_RUNS_FOR_SPREAD = 4
_MOST_REPEAT_RATIO = 1.5  # slowest over fastest of equal configurations
_INTERVALS = ("interval_by_class", "interval_of_new_generation")
_CONFIGURATION = (
    "gpu", "cnn", "input_size_px", "n_classes", "batch_per_gpu", "precision", "layout", "compilation",
    "tuned",
)  # fmt: skip


@dataclass(frozen=True)
class CalibratedLaw:
    """A calibrated formula with what it was made of and how much better it is.

    factors : measured over predicted, by time. before_percent : mean absolute percentage error of the given
    formula on the runs; left_out_percent : of the calibrated one, each run predicted by the others, nan for a
    single run. warnings : runs that contradict each other, several GPUs.
    """

    formula: Formula
    factors: TimeFactors
    n_runs: int
    gpus: tuple[str, ...]
    precisions: tuple[str, ...]
    before_percent: float
    left_out_percent: float
    warnings: tuple[str, ...]


def calibrated_law(formula: Formula, runs: RunTable) -> CalibratedLaw:
    """Return a formula calibrated by runs measured on one GPU each.

    Raises InputError for more than `MOST_RUNS` runs, runs on several GPUs, or a formula without a time of a
    run.
    """
    _check(formula, runs)
    rows, seconds = formula_rows(formula, runs), runs.seconds
    factors = time_factors(formula, rows, seconds)
    left_out = _left_out(formula, runs)
    gpus, precisions = (tuple(sorted(set(map(str, runs.frame[name])))) for name in ("gpu", "precision"))
    law = replace(formula, expression=factors.apply(formula))
    before = mape_percent(seconds, rows.predict(formula))
    after = mape_percent(seconds, left_out) if len(runs) > 1 else float("nan")
    known = {
        "runs": len(runs), "gpus": list(gpus), "precisions": list(precisions), "table": runs.name,
        "table_sha256": runs.sha256, "common_factor": factors.common, "factors": dict(factors.by_time),
        "error_before_percent": round(before, 6),
        "error_left_out_percent": round(after, 6) if len(runs) > 1 else None,
    }  # fmt: skip
    law = replace(
        law,
        ranges=_extended(law, rows),
        errors=_narrower(formula.errors, len(runs), gpus, _own_spread(seconds, left_out)),
        provenance={**formula.provenance, CALIBRATED: known},
    )
    warnings = _warnings(runs, seconds, rows.predict(law), gpus)
    return CalibratedLaw(law, factors, len(runs), gpus, precisions, before, after, warnings)


def _check(formula: Formula, runs: RunTable) -> None:
    check_scope(formula, RUN, LAYER, advice="calibrate a formula of whole runs or of layers")
    if CALIBRATED in formula.provenance:
        raise InputError("this law is calibrated already; calibrate the original with all runs")
    if not 1 <= len(runs) <= MOST_RUNS:
        raise InputError(
            f"expected 1 to {MOST_RUNS} runs, got {len(runs):,}; `trainlaw study` evolves a law from more"
        )
    if (runs.frame["n_gpus"] > 1).any():
        raise InputError("expected runs on one GPU each, got runs on several; keep those with n_gpus = 1")
    times = formula_rows(formula, runs).predict(formula)
    if not (np.isfinite(times) & (times > 0)).all():
        row = runs.frame.iloc[int(np.argmin(np.isfinite(times) & (times > 0)))]
        raise InputError(f"the formula has no time for {row['cnn']} on {row['gpu']}; leave this run out")


def _left_out(formula: Formula, runs: RunTable) -> np.ndarray:
    """Return the time of each run by the law that all others calibrate, seconds, (n_runs,)."""
    found = []
    for row in range(len(runs)):
        others = np.arange(len(runs)) != row
        rest, one = _some(runs, others), formula_rows(formula, _some(runs, ~others))
        law = formula
        if len(rest):
            factors = time_factors(formula, formula_rows(formula, rest), rest.seconds)
            law = replace(formula, expression=factors.apply(formula))
        found.append(float(one.predict(law)[0]))
    return np.array(found)


def _some(runs: RunTable, chosen: np.ndarray) -> RunTable:
    return RunTable(runs.name, runs.frame[chosen].reset_index(drop=True), runs.facts)


def _own_spread(seconds: np.ndarray, left_out: np.ndarray) -> float:
    """Return ln of the factor that 90 % of the runs left out are within; 0 for few runs."""
    if len(seconds) < _LEAST_RUNS_FOR_SPREAD:
        return 0.0
    return float(np.quantile(np.abs(np.log(left_out / seconds)), 0.9))


def _extended(formula: Formula, rows: FormulaRows) -> dict[str, tuple[float, float]]:
    """Return the training ranges, extended to the runs that calibrated."""
    found = dict(formula.ranges)
    for name, (low, high) in found.items():
        if name in rows.columns:
            values = rows.columns[name]
            found[name] = (min(low, float(np.min(values))), max(high, float(np.max(values))))
    return found


def _narrower(errors: Mapping[str, Any], n_runs: int, gpus: tuple[str, ...], own: float) -> dict[str, Any]:
    """Return the errors of the law before, with intervals as narrow as the runs allow.

    own : ln of the factor that the runs themselves need.
    """
    if not errors:
        return {}

    def narrowed(factor: float | None) -> float | None:
        return None if factor is None else round(float(np.exp(max(share * np.log(factor), own))), 6)

    share = interval_share(n_runs)
    number = "1 run" if n_runs == 1 else f"{n_runs} runs"
    protocol = f"{errors.get('protocol', '')}; before calibration with {number} on {gpus[0]}"
    found = {**errors, "protocol": protocol}
    if "interval" in errors:
        found["interval"] = {**errors["interval"], "factor": narrowed(errors["interval"].get("factor"))}
    for name in _INTERVALS:
        if name in errors:
            factors = {kind: narrowed(factor) for kind, factor in errors[name]["factors"].items()}
            found[name] = {**errors[name], "factors": factors}
    return found


def _warnings(
    runs: RunTable, seconds: np.ndarray, fitted: np.ndarray, gpus: tuple[str, ...]
) -> tuple[str, ...]:
    """Return what makes the runs doubtful: several GPUs, a wide spread, equal runs of unequal times."""
    found = []
    if len(gpus) > 1:
        found.append(
            f"the runs are on {len(gpus)} GPUs ({', '.join(gpus)}), and the factors are those of their mean; "
            "calibrate one law for each"
        )
    spread = float(np.sqrt(np.mean(np.log(fitted / seconds) ** 2)))
    if len(runs) >= _LEAST_RUNS_FOR_SPREAD and spread > _CONTRADICTORY * RUN_DEVIATION:
        found.append(
            f"the runs contradict each other: they deviate by {100 * np.expm1(spread):.0f} % from the "
            f"calibrated law, usual are {100 * np.expm1(RUN_DEVIATION):.0f} %; check units, precision and "
            "labels"
        )
    frame = runs.frame.assign(measured=seconds)
    for keys, times in frame.groupby(list(_CONFIGURATION), dropna=False)["measured"]:
        ratio = float(times.max() / times.min())
        if ratio > _MOST_REPEAT_RATIO:
            gpu, cnn, batch = keys[0], keys[1], keys[4]
            found.append(
                f"the runs contradict each other: {cnn}, batch {batch}, on {gpu} was measured {len(times)} "
                f"times, the slowest {ratio:.2f} times as long as the fastest"
            )
    return tuple(found)


def calibration_of(formula: Formula) -> Mapping[str, Any] | None:
    """Return what a law was calibrated with; None for a law that was not."""
    found = formula.provenance.get(CALIBRATED)
    return found if isinstance(found, Mapping) else None


def calibration_warnings(formula: Formula, runs: RunTable) -> list[list[str]]:
    """Return warnings per run: a GPU or precision other than those that the law was calibrated with."""
    rows = zip(runs.frame["gpu"].astype(str), runs.frame["precision"].astype(str), strict=True)
    return [
        [*other_gpu_warning(formula, gpu), *other_precision_warning(formula, precision)]
        for gpu, precision in rows
    ]


def other_gpu_warning(formula: Formula, gpu: str) -> list[str]:
    """Return a warning for a GPU that a calibrated law was not calibrated to; none for other laws."""
    gpus = (calibration_of(formula) or {}).get("gpus", [gpu])
    return [] if gpu in gpus else [f"the law is calibrated to {', '.join(gpus)}, not to this GPU"]


def other_precision_warning(formula: Formula, precision: str) -> list[str]:
    """Return a warning for a precision that a calibrated law was not calibrated in; none for other laws."""
    known = (calibration_of(formula) or {}).get("precisions", [precision])
    return [] if precision in known else [f"the law is calibrated by runs in {', '.join(known)} only"]
