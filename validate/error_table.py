"""Held-out errors of a study as a table: one line per level, name and estimator, for `errors.csv`."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from trainlaw.validate.result import OURS, SEED, StudyResult

OVERALL = "all"
BY_GPU = "gpu_group"
BY_CNN = "cnn_base"
#: Further labels whose groups get errors, where a study has them.
FURTHER_LEVELS = ("source", "precision", "generation", "layout", "stack", "batch", "algorithm", "nodes")
#: Levels whose errors a formula stores, next to those by GPU group and architecture.
STORED_LEVELS = ("precision", "generation", "layout")
MACRO = "macro_gpu_group_mape_percent"
#: The three means of the error, each a column of a summary: a formula may lead by one and not by another.
MEANS: Mapping[str, str] = {
    MACRO: "mean over GPU groups",
    "macro_cnn_base_mape_percent": "mean over architectures",
    "mape_percent": "mean over runs",
}
# Metrics of a summary that the outputs show, in percent (errors.csv has all).
METRIC_TITLES: Mapping[str, str] = {
    **MEANS,
    "median_ape_percent": "median over runs",
    "within_10_percent": "runs within 10 %",
    "within_25_percent": "runs within 25 %",
    "within_50_percent": "runs within 50 %",
    "faster_gpu_percent": "faster of two GPUs picked",
}
_KEYS = ["level", "name", "estimator", "n_rows"]
_DECIMALS = 9  # of a percentage, so that files do not depend on the last bit of a sum


def errors_frame(result: StudyResult) -> pd.DataFrame:
    """Return the errors as a long table: level, name, estimator, n_rows and one column per metric.

    Levels are `OVERALL`, `BY_GPU`, `BY_CNN` and those of `FURTHER_LEVELS` of which the study has labels. A
    metric is nan on a level that lacks it. Without a finished fold the table is empty.
    """
    if not len(result.predictions):
        return pd.DataFrame(columns=_KEYS)
    parts = [result.summary().assign(level=OVERALL, name=OVERALL)]
    for level in (BY_GPU, BY_CNN, *(name for name in FURTHER_LEVELS if name in result.predictions)):
        parts.append(result.errors_by(level).rename(columns={level: "name"}).assign(level=level))
    frame = _mean_over_seeds(pd.concat(parts, ignore_index=True))
    return frame[[*_KEYS, *(column for column in frame.columns if column not in _KEYS)]].round(_DECIMALS)


def _mean_over_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the mean over all seeds in place of the search with the first one.

    The lines of single seeds remain on the level of all runs.
    """
    seeded = frame["estimator"].str.startswith(SEED)
    if not seeded.any():
        return frame
    ours = frame[seeded | (frame["estimator"] == OURS)]
    means = ours.drop(columns="estimator").groupby(["level", "name"], sort=False).mean().reset_index()
    single = frame[seeded & (frame["level"] == OVERALL)]
    rest = frame[~seeded & (frame["estimator"] != OURS)]
    merged = pd.concat([means.assign(estimator=OURS), single, rest], ignore_index=True)
    # In the order of the table: line by line, its estimators in their order.
    lines, names = pd.MultiIndex.from_frame(frame[["level", "name"]]).unique(), frame["estimator"].unique()
    place = lines.get_indexer(pd.MultiIndex.from_frame(merged[["level", "name"]]))
    merged = merged.iloc[np.lexsort((pd.Index(names).get_indexer(merged["estimator"]), place))]
    return merged.reset_index(drop=True).astype({"n_rows": int})


def json_number(value: float) -> float | None:
    """Return a figure rounded as in `errors.csv`, None where it is not finite."""
    return round(float(value), _DECIMALS) if np.isfinite(value) else None
