"""Held-out errors after calibration with a few runs of the held-out GPU."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.result import StudyResult
from trainlaw.validate.time_factors import time_factors

Columns = Mapping[str, np.ndarray]


def anchor_errors(
    result: StudyResult,
    estimator: str,
    X: pd.DataFrame,
    *,
    n_anchors: Sequence[int] = (0, 1, 3, 5),
    draws: int = 25,
    seed: int = 0,
    by: str = "gpu_group",
) -> pd.DataFrame:
    """Return the held-out error after calibration with a few runs of the held-out GPU.

    For each held-out group, each of its precisions and number k of anchors, k random rows calibrate the
    formula of the split (`time_factors`), which is then evaluated on the other rows; the mean over `draws`.
    A precision with at most k rows is omitted for that k. Columns `n_anchors`, `split`, `group`, `n_rows`,
    `mape_percent`.

    result : a study whose splits hold out whole groups of the label `by`. estimator : one whose fits are
    formulas; InputError otherwise. X : the features of that study, shape (n_runs, n_features).
    """
    rows: list[tuple[int, str, str, int, float]] = []
    keys = ["split", by, *(["precision"] if "precision" in result.predictions else [])]
    for (split, group, *_), part in result.predictions.groupby(keys, sort=False):
        formula, columns, measured = held_out_part(result, estimator, X, str(split), part)
        for count in n_anchors:
            if count < len(measured):
                random = np.random.default_rng([seed, count, len(rows)])
                errors = [
                    _error_after(formula, columns, measured, random.permutation(len(measured)), count)
                    for _ in range(draws if count else 1)
                ]
                rows.append((count, str(split), str(group), len(measured), float(np.mean(errors))))
    return pd.DataFrame(rows, columns=["n_anchors", "split", "group", "n_rows", "mape_percent"])


def held_out_part(
    result: StudyResult, estimator: str, X: pd.DataFrame, split: str, part: pd.DataFrame
) -> tuple[Formula, Columns, np.ndarray]:
    """Return the formula of `split`, and features by name and measured seconds, each (n_rows,), of `part`.

    part : rows of `result.predictions`. InputError if the estimator has no formula for the split.
    """
    if (split, estimator) not in result.formulas:
        raise InputError(f"estimator {estimator!r} has no formula of split {split!r} to calibrate")
    formula = result.formulas[split, estimator]
    features = X.iloc[part["row"].to_numpy(dtype=np.int64)]
    columns = {spec.name: features[spec.name].to_numpy(dtype=float) for spec in formula.used_features}
    return formula, columns, part["measured_s"].to_numpy(dtype=float)


def _error_after(
    formula: Formula, columns: Columns, measured: np.ndarray, order: np.ndarray, count: int
) -> float:
    """Return the MAPE, percent, of the rows after the first `count` of `order`, which calibrate."""
    anchors, others = order[:count], order[count:]
    unknown = _rows(columns, others)
    if not count:
        return mape_percent(measured[others], unknown.predict(formula))
    factors = time_factors(formula, _rows(columns, anchors), measured[anchors])
    return mape_percent(measured[others], factors.predict(formula, unknown))


def _rows(columns: Columns, chosen: np.ndarray) -> FormulaRows:
    return plain_rows({name: values[chosen] for name, values in columns.items()})


def plain_rows(columns: Columns) -> FormulaRows:
    """Return features by name, each (n_runs,), as rows of which each is a run."""
    return FormulaRows(columns, np.ones(len(next(iter(columns.values()))), dtype=bool))
