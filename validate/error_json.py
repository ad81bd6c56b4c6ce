"""Held-out errors of a study as JSON, which its formula stores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from trainlaw.validate.error_table import (
    BY_CNN,
    BY_GPU,
    MACRO,
    OVERALL,
    STORED_LEVELS,
    errors_frame,
    json_number,
)
from trainlaw.validate.levels import LevelError
from trainlaw.validate.metrics import macro, mape_percent
from trainlaw.validate.result import OURS, SEED, StudyResult
from trainlaw.validate.study_intervals import class_intervals_json, figure_intervals_json, interval_json


def errors_json(
    result: StudyResult,
    protocol: str,
    unit: str = BY_GPU,
    levels: Sequence[LevelError] = (),
    new_generations: StudyResult | None = None,
    *,
    X: pd.DataFrame | None = None,
    frame: pd.DataFrame | None = None,
    with_intervals: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the errors as plain JSON, for `Formula.errors`; `protocol` describes how they were measured.

    unit : label column of the groups that were held out whole; intervals are for a new one of these.
    levels : the error by level of knowledge about the target GPU. new_generations : predictions of
    generations that were held out whole, None where there are none. X : features of the study,
    (n_runs, n_features), for intervals of runs whose stack is not known. frame : of `errors_frame`, where it
    is known. with_intervals : estimators whose figures get intervals, which take time; None for all.
    Without a finished fold the result is an empty dictionary.
    """
    if not len(result.predictions):
        return {}
    frame = errors_frame(result) if frame is None else frame
    overall = frame[frame["level"] == OVERALL].drop(columns=["level", "name"]).set_index("estimator")
    named = tuple(name for name in result.estimators if not name.startswith(SEED))
    gpus = result.predictions.groupby(BY_GPU)["gpu"]
    members = {str(group): sorted(names.unique()) for group, names in gpus}
    return {
        "protocol": protocol,
        "missing": list(result.missing_splits),
        "interval": interval_json(result, unit),
        **class_intervals_json(result, unit, new_generations, X),
        **_seeds_json(frame),
        "estimators": list(named),
        "summary": {
            str(name): {str(metric): json_number(value) for metric, value in row.items()}
            for name, row in overall.iterrows()
        },
        "summary_intervals": figure_intervals_json(
            result, unit, result.estimators if with_intervals is None else with_intervals
        ),
        "calibration": [
            {
                name: json_number(value) if isinstance(value, float) else value
                for name, value in asdict(level).items()
            }
            for level in levels
        ],
        BY_GPU: _lines_json(frame[frame["level"] == BY_GPU], named, members),
        BY_CNN: _lines_json(frame[frame["level"] == BY_CNN], named, {}),
        **{
            level: _macro_lines(result, level, named)
            for level in STORED_LEVELS
            if (frame["level"] == level).any()
        },
    }


def _macro_lines(result: StudyResult, level: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the error of each precision, generation or layout, a mean over its GPU groups, best first."""
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
                "errors": {name: json_number(errors[name]) for name in names},
                **({"seeds": [json_number(error) for error in by_seed]} if seeds else {}),
                "members": np.unique(groups[inside]).tolist(),
            }
        )
    return sorted(lines, key=lambda line: math.inf if line["errors"][OURS] is None else line["errors"][OURS])


def _seeds_json(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the error of each seed, where there are several."""
    single = frame[frame["estimator"].str.startswith(SEED) & (frame["level"] == OVERALL)]
    if single.empty:
        return {}
    of_others = single[MACRO].tolist()
    mean = float(frame[(frame["estimator"] == OURS) & (frame["level"] == OVERALL)][MACRO].iloc[0])
    of_first = mean * (len(of_others) + 1) - sum(of_others)
    return {"seeds": {MACRO: [json_number(value) for value in (of_first, *of_others)]}}


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
            "errors": {estimator: json_number(table.loc[name, estimator]) for estimator in estimators},
            "members": [str(member) for member in members.get(name, [])],
        }
        for name in ordered
    ]
