"""Accuracy across platforms: fitted to the runs of one platform, evaluated on the runs of another."""

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.validate.bootstrap import mean_interval
from trainlaw.validate.estimators import EstimatorFactory
from trainlaw.validate.journal import Journal
from trainlaw.validate.metrics import by_group, mape_percent
from trainlaw.validate.result import StudyResult
from trainlaw.validate.splits import Split, grouped_k_fold
from trainlaw.validate.study import run_study

#: A platform with fewer runs is only evaluated; nothing is fitted to it alone.
LEAST_RUNS = 20
# As the study of runs on one GPU, unless a platform has fewer groups.
_FOLDS = 5


def cross_platform(
    X: pd.DataFrame,
    seconds: npt.ArrayLike,
    labels: pd.DataFrame,
    platforms: npt.ArrayLike,
    estimators: Mapping[str, EstimatorFactory],
    *,
    group_column: str = "gpu_group",
    least_runs: int = LEAST_RUNS,
    workers: int = 1,
    executor: Executor | None = None,
    journal: Journal | None = None,
) -> pd.DataFrame:
    """Return the error of every estimator for every pair of a training and a test platform.

    Off the diagonal, all runs of one platform predict all runs of another; GPUs may occur in both, because
    only the platform is new. On the diagonal, whole GPU groups are held out in up to five folds; a platform
    with one group has no diagonal.

    platforms : of each run, (n_runs,). group_column : label whose groups are held out on the diagonal and
    weigh the same in the mean. least_runs : platforms with fewer runs are only evaluated. The others are as
    for `run_study`. Columns `estimator`, `train`, `test`, `n_train`, `n_test`, `mape_percent`,
    `macro_mape_percent` (mean over GPU groups), `low` and `high` (its bootstrap interval). InputError if
    fewer than two platforms have runs, or none has `least_runs`; KeyboardInterrupt if fits were interrupted.
    """
    names = np.asarray(platforms, dtype=str)
    found, sizes = np.unique(names, return_counts=True)
    if len(found) < 2:
        raise InputError(f"expected runs on at least two platforms, got only {str(found[0])!r}")
    trained = [name for name, size in zip(found, sizes, strict=True) if size >= least_runs]
    if not trained:
        raise InputError(f"expected at least {least_runs} runs on one platform, got at most {sizes.max()}")
    groups = labels[group_column].to_numpy(dtype=str)
    splits = {name: _splits(name, names, groups) for name in trained}
    result = run_study(
        X,
        seconds,
        labels,
        [split for several in splits.values() for split in several],
        estimators,
        group_column=group_column,
        workers=workers,
        executor=executor,
        journal=journal,
    )
    if result.missing_splits:
        raise KeyboardInterrupt
    predictions = result.predictions
    tested, by = names[predictions["row"].to_numpy(dtype=np.intp)], predictions["split"]
    rows = []
    for train, several in splits.items():
        for test in found:
            chosen = by.isin([split.name for split in several]) & (tested == test)
            part = replace(result, predictions=predictions[chosen])
            pair = {"train": train, "test": str(test), "n_train": int((names == train).sum())}
            rows += [_row(part, name, group_column, pair) for name in estimators if chosen.any()]
    return pd.DataFrame(rows)


def _splits(train: str, platforms: np.ndarray, groups: np.ndarray) -> tuple[Split, ...]:
    """Return the splits that train on one platform: all of it for the others, whole groups held out for it.

    A platform with one group is only used for the others.
    """
    inside = np.flatnonzero(platforms == train)
    groups_inside = groups[inside]
    # No held-out labels: the same GPU may be measured on both platforms.
    splits = [Split(f"{train} to others", inside, np.flatnonzero(platforms != train), ())]
    if (amount := len(np.unique(groups_inside))) > 1:
        splits += [
            Split(f"{train}: {fold.name}", inside[fold.train], inside[fold.test], fold.held_out)
            for fold in grouped_k_fold(groups_inside, min(_FOLDS, amount))
        ]
    return tuple(splits)


def _row(
    result: StudyResult, estimator: str, group_column: str, pair: dict[str, object]
) -> dict[str, object]:
    predicted, measured = result.predicted_s(estimator), result.measured_s
    errors = by_group(mape_percent, measured, predicted, result.labels(group_column))
    macro, low, high = mean_interval(errors.values())
    return {
        "estimator": estimator,
        **pair,
        "n_test": len(measured),
        "mape_percent": mape_percent(measured, predicted),
        "macro_mape_percent": macro,
        "low": low,
        "high": high,
    }
