"""Prediction intervals calibrated on the held-out runs of a study, and the intervals of its figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from trainlaw.validate.class_intervals import ClassIntervals, architecture_factor
from trainlaw.validate.conformal import (
    LEAST_UNITS,
    LEVEL,
    SHARE_WITHIN,
    ConformalInterval,
    conformal_coverage,
)
from trainlaw.validate.error_table import BY_CNN, BY_GPU, json_number
from trainlaw.validate.levels import held_out_part
from trainlaw.validate.metrics import by_group, mape_percent
from trainlaw.validate.result import MEASURED, OURS, StudyResult
from trainlaw.validate.run_classes import MAIN_VENDOR, STACK_PRECISIONS, UNKNOWN_STACK, run_classes
from trainlaw.validate.time_factors import STACK_FEATURES

#: Share of a new generation's errors that are assumed to lie within: where another GPU of it has training
#: runs, and where none has. Chosen by coverage (docs/explanation/law.md).
KNOWN_SHARE_WITHIN, NEW_SHARE_WITHIN = 0.75, 0.7
_RESAMPLES = 200  # of the bootstrap; its ends then move by a tenth of their distance


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
        rows[MEASURED],
        rows["predicted"],
        rows[BY_GPU],
        run_classes(rows["precision"], rows["stack"], rows["vendor"]),
        LEVEL,
        units=units,
        of_architecture=[architecture_factor(errors.get(str(name))) for name in rows[BY_CNN]],
        share_within=share_within,
    )
    if unknown is None:
        return found
    with_unknown = class_intervals(pd.concat([rows, unknown]), errors, share_within)
    return found.with_class(UNKNOWN_STACK, with_unknown, STACK_PRECISIONS)


def class_intervals_json(
    result: StudyResult, unit: str, new_generations: StudyResult | None, X: pd.DataFrame | None
) -> dict[str, Any]:
    """Return the intervals by class, for GPUs of a known generation and of one without runs."""
    if not {"precision", "stack", "vendor", "generation"} <= set(result.predictions) or unit != BY_GPU:
        return {}
    runs = result.predictions
    errors = by_group(mape_percent, runs[MEASURED], runs[OURS], runs[BY_CNN])

    def intervals(predictions: StudyResult, share_within: float) -> ClassIntervals:
        rows = predictions.predictions.assign(predicted=predictions.predictions[OURS])
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

    None for formulas that do not depend on stacks, or not on these features alone, and without such runs.
    """
    formulas = [formula for (_, name), formula in result.formulas.items() if name == OURS]
    used = {spec.name for formula in formulas for spec in formula.used_features}
    if not used & set(STACK_FEATURES) or not used <= set(X):
        return None
    eager, parts = X.assign(**dict.fromkeys(STACK_FEATURES, 0.0)), []
    for split, part in result.predictions.groupby("split", sort=False):
        formula, rows, _ = held_out_part(result, OURS, eager, str(split), part)
        parts.append(part.assign(predicted=rows.predict(formula), stack="unknown"))
    frame = pd.concat(parts)
    chosen = frame[frame["precision"].isin(STACK_PRECISIONS) & (frame["vendor"] == MAIN_VENDOR)]
    return chosen if len(chosen) else None


def interval_json(result: StudyResult, unit: str) -> dict[str, Any]:
    """Return the factor of the interval, its coverage as mean and per group, and the kind of group."""
    measured, predicted, groups = (result.predictions[name] for name in (MEASURED, OURS, unit))
    interval = ConformalInterval.fit(measured, predicted, groups, LEVEL)
    covered = conformal_coverage(measured, predicted, groups, LEVEL)
    return {
        **interval.to_json(),
        "coverage_percent": json_number(covered["covered_percent"].mean()),
        "over": unit,
        "coverage_by_group": {
            str(group): json_number(percent)
            for group, percent in zip(covered["group"], covered["covered_percent"], strict=True)
        },
    }


def figure_intervals_json(
    result: StudyResult, unit: str, names: Sequence[str]
) -> dict[str, dict[str, list[float | None]]]:
    """Low and high of the bootstrap interval of each figure, groups of `unit` resampled, of some estimators.

    As the figures of several seeds, their ends are means over the seeds.
    """
    found: dict[str, dict[str, list[float | None]]] = {}
    chosen = result.chosen({name: name for name in names})
    intervals = chosen.intervals(unit, LEVEL, _RESAMPLES).rename(columns={"metric": "name"})
    ours = intervals["estimator"].isin(result.searches)
    means = intervals[ours].groupby("name", sort=False)[["low", "high"]].mean().reset_index()
    intervals = pd.concat([means.assign(estimator=OURS), intervals[intervals["estimator"] != OURS]])
    columns = intervals[["name", "estimator", "low", "high"]].to_numpy().tolist()
    for metric, estimator, low, high in columns:
        name = f"macro_{unit}_mape_percent" if metric == "macro_mape_percent" else str(metric)
        found.setdefault(str(estimator), {})[name] = [json_number(low), json_number(high)]
    return found
