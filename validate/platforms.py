"""Accuracy across platforms: fitted to the runs of one platform, evaluated on the runs of another."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.validate.bootstrap import mean_interval
from trainlaw.validate.estimators import EstimatorFactory
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
) -> pd.DataFrame:
    """Return the error of every estimator for every pair of a training and a test platform.

    Off the diagonal, all runs of one platform predict all runs of another; GPUs may occur in both, because
    only the platform is new. On the diagonal, whole GPU groups are held out in up to five folds; a platform
    with one group has no diagonal.

    Parameters
    ----------
    X : DataFrame, shape (n_runs, n_features)
        Features, as for `run_study`.
    seconds : array_like, shape (n_runs,)
        Measured times, in seconds.
    labels : DataFrame, shape (n_runs, n_labels)
        Text, `group_column` among its columns.
    platforms : array_like, shape (n_runs,)
        Platform of each run.
    estimators : mapping of str to callable
        What makes each estimator, by name.
    group_column : str
        Label whose groups are held out on the diagonal and weigh the same in the mean.
    least_runs : int
        Platforms with fewer runs are only evaluated.

    Returns
    -------
    DataFrame
        Columns `estimator`, `train`, `test`, `n_train`, `n_test`, `mape_percent`, `macro_mape_percent` (mean
        over GPU groups), `low` and `high` (its bootstrap interval).

    Raises
    ------
    InputError
        If fewer than two platforms have runs, or none has `least_runs`.
    """
    names = np.asarray(platforms, dtype=str)
    found, sizes = np.unique(names, return_counts=True)
    if len(found) < 2:
        raise InputError(f"expected runs on at least two platforms, got only {str(found[0])!r}")
    trained = [name for name, size in zip(found, sizes, strict=True) if size >= least_runs]
    if not trained:
        raise InputError(f"expected at least {least_runs} runs on one platform, got at most {sizes.max()}")
    rows: list[dict[str, object]] = []
    for train in trained:
        inside = np.flatnonzero(names == train)
        for test in found:
            if test == train:
                splits = _diagonal(labels[group_column].to_numpy(dtype=str), inside)
            else:
                # No held-out labels: the same GPU may be measured on both platforms.
                splits = (Split(f"{train} to {test}", inside, np.flatnonzero(names == test), ()),)
            if splits:
                result = run_study(X, seconds, labels, splits, estimators, group_column=group_column)
                rows += [
                    _row(result, name, group_column, train=train, test=str(test), n_train=len(inside))
                    for name in estimators
                ]
    return pd.DataFrame(rows)


def _diagonal(groups: np.ndarray, inside: np.ndarray) -> tuple[Split, ...]:
    """Return splits by group of the rows `inside` one platform; none for a single group."""
    own = groups[inside]
    n_groups = len(np.unique(own))
    if n_groups < 2:
        return ()
    folds = grouped_k_fold(own, min(_FOLDS, n_groups))
    return tuple(Split(fold.name, inside[fold.train], inside[fold.test], fold.held_out) for fold in folds)


def _row(
    result: StudyResult, estimator: str, group_column: str, *, train: str, test: str, n_train: int
) -> dict[str, object]:
    predicted, measured = result.predicted_s(estimator), result.measured_s
    macro, low, high = mean_interval(
        by_group(mape_percent, measured, predicted, result.labels(group_column)).values()
    )
    return {
        "estimator": estimator,
        "train": train,
        "test": test,
        "n_train": n_train,
        "n_test": len(measured),
        "mape_percent": mape_percent(measured, predicted),
        "macro_mape_percent": macro,
        "low": low,
        "high": high,
    }
