"""A study: every estimator fitted on the training rows of every split, and judged on what was held out."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.validate.estimators import SHAREABLE_LABELS, EstimatorFactory
from trainlaw.validate.guard import (
    LeakError,
    Secrets,
    check_features,
    check_fold,
    check_rowwise,
    check_state,
    fold_secrets,
)
from trainlaw.validate.result import CONFIGURATION, MEASURED, StudyResult
from trainlaw.validate.splits import Split
from trainlaw.validate.workers import run_tasks


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is: `done` of `total` fits, and the last one that ended; seconds of wall time."""

    done: int
    total: int
    split: str
    estimator: str
    elapsed_seconds: float
    remaining_seconds: float


@dataclass(frozen=True, eq=False)
class _Task:
    """One fit. It carries the training rows and the features of the test rows, and no more."""

    split: str
    estimator: str
    factory: EstimatorFactory
    train_X: pd.DataFrame
    train_seconds: np.ndarray
    train_groups: np.ndarray
    train_labels: pd.DataFrame
    test_X: pd.DataFrame
    test_labels: pd.DataFrame
    secrets: Secrets


@dataclass(frozen=True, eq=False)
class _Outcome:
    split: str
    estimator: str
    predicted: np.ndarray
    formula: Formula | None
    interrupted: bool
    seconds: float


def run_study(
    X: pd.DataFrame,
    seconds: Sequence[float],
    labels: pd.DataFrame,
    splits: Sequence[Split],
    estimators: Mapping[str, EstimatorFactory],
    *,
    group_column: str = "gpu_group",
    workers: int = 1,
    executor: Executor | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
) -> StudyResult:
    """Fit every estimator anew on every split, in the order of the splits, and return the held-out predictions.

    X : numeric features, shape (n_runs, n_features). seconds : measured times, shape (n_runs,).
    labels : string columns, shape (n_runs, n_labels), with `group_column`, whose training part is given to
    `fit` as
        `groups`. No other label reaches an estimator, except those of `SHAREABLE_LABELS` that it asks for.
    estimators : name to factory. With `workers` > 1 or an `executor` the factories must be importable by
    name: a
        class, a function of a module, or a `functools.partial` of these with plain arguments.
    workers : fits at the same time, in spawned processes (a script needs the usual `if __name__ ==
    "__main__"`).
        The result is the same for any number. executor : use this one instead (a cluster's, a warm pool).
    progress : called after each fit.
    KeyboardInterrupt ends the study early: finished splits are kept, the others are named in
    `missing_splits`. LeakError where the guard finds that an estimator can know what is held out; InputError
    for unfit input.
    """
    X, seconds, labels = _checked(X, seconds, labels, group_column)
    _check_estimators(estimators, labels, workers > 1 or executor is not None)
    check_features(X, seconds)
    for split in splits:
        check_fold(split, labels)
    outcomes: list[_Outcome] = []
    clock = _Clock(len(splits) * len(estimators), tuple(estimators), workers)
    tasks = _tasks(X, seconds, labels, splits, estimators, group_column)
    try:
        with closing(run_tasks(_run, tasks, workers, executor)) as running:
            for outcome in running:
                if outcome.interrupted:
                    break
                outcomes.append(outcome)
                if progress is not None:
                    progress(clock.after(outcome))
    except KeyboardInterrupt:
        pass  # what is finished is a valid, smaller result; missing_splits says so
    return _assembled(labels, seconds, splits, tuple(estimators), outcomes)


def _checked(
    X: pd.DataFrame, seconds: Sequence[float], labels: pd.DataFrame, group_column: str
) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Return copies with row positions as index, labels as text and a column that names the configuration."""
    seconds = np.array(seconds, dtype=float)
    if not len(X) == len(seconds) == len(labels) or not len(X):
        raise InputError(
            f"expected as many rows everywhere, got X {len(X)}, seconds {len(seconds)}, labels {len(labels)}"
        )
    if not (np.isfinite(seconds) & (seconds > 0)).all():
        raise InputError(
            f"row {int(np.argmin(np.isfinite(seconds) & (seconds > 0)))}: expected positive seconds"
        )
    if group_column not in labels.columns:
        raise InputError(f"expected a label column {group_column!r}, got {list(labels.columns)}")
    X = X.reset_index(drop=True)
    labels = labels.reset_index(drop=True).astype(str)
    if CONFIGURATION not in labels.columns:
        labels = labels.assign(**{CONFIGURATION: configuration_labels(X, labels)})
    return X, seconds, labels


def configuration_labels(X: pd.DataFrame, labels: pd.DataFrame) -> list[str]:
    """Return one text per row that is equal for runs of the same work on different GPUs, shape (n_runs,).

    Made of the CNN, harness and precision in `labels` and of batch and work per image in `X`, as far as
    present.
    """
    parts = [labels[name] for name in ("cnn", "harness", "precision") if name in labels.columns]
    parts += [X[name].map("{:g}".format) for name in ("batch_per_gpu", "macs", "params") if name in X.columns]
    return [" ".join(row) for row in zip(*parts, strict=True)] if parts else [""] * len(labels)


def _check_estimators(
    estimators: Mapping[str, EstimatorFactory], labels: pd.DataFrame, elsewhere: bool
) -> None:
    """Make each estimator once, so that a missing package is told before the hours are spent, not after."""
    if not estimators:
        raise InputError("expected at least one estimator, got none")
    for name, factory in estimators.items():
        if name in labels.columns or name in ("row", "split", MEASURED):
            raise InputError(f"estimator {name!r} has the name of a label column; rename it")
        for label in getattr(factory(), "label_columns", ()):
            if label not in SHAREABLE_LABELS:
                raise LeakError(
                    f"estimator {name!r} asks for the label {label!r}; it may have {SHAREABLE_LABELS}"
                )
            if label not in labels.columns:
                raise InputError(
                    f"estimator {name!r} needs the label column {label!r}, got {list(labels.columns)}"
                )
        if elsewhere:
            try:
                ForkingPickler.dumps(factory)
            except Exception as error:  # pickling runs the factory's own code, which may raise anything
                raise InputError(
                    f"estimator {name!r} cannot be sent to a worker ({error}); use a class, a function of a module "
                    "or functools.partial, or workers=1"
                ) from None


def _tasks(
    X: pd.DataFrame,
    seconds: np.ndarray,
    labels: pd.DataFrame,
    splits: Sequence[Split],
    estimators: Mapping[str, EstimatorFactory],
    group_column: str,
) -> Iterator[_Task]:
    """Yield one task per fit, split by split, so that an interruption leaves whole splits."""
    shareable = labels[[name for name in SHAREABLE_LABELS if name in labels.columns]]
    for split in splits:
        secrets = fold_secrets(X, seconds, split)
        train_X, test_X = X.iloc[split.train], X.iloc[split.test]
        train_labels, test_labels = shareable.iloc[split.train], shareable.iloc[split.test]
        groups = labels[group_column].to_numpy(dtype=str)[split.train]
        for name, factory in estimators.items():
            yield _Task(
                split.name, name, factory, train_X.copy(), seconds[split.train], groups.copy(), train_labels,
                test_X.copy(), test_labels, secrets,
            )  # fmt: skip


def _run(task: _Task) -> _Outcome:
    """Fit and predict one fold under the guard; runs in a worker process where there are several."""
    started = time.monotonic()
    estimator = task.factory()
    check_state(estimator, task.secrets, f"{task.estimator} before fit")
    columns = list(getattr(estimator, "label_columns", ()))
    asked = {"labels": task.train_labels[columns]} if columns else {}
    estimator.fit(task.train_X, task.train_seconds, task.train_groups, **asked)
    interrupted = bool(getattr(estimator, "interrupted_", False))
    check_state(estimator, task.secrets, f"{task.estimator} after fit")
    asked = {"labels": task.test_labels[columns]} if columns else {}
    predicted = np.asarray(estimator.predict(task.test_X, **asked), dtype=float)
    if predicted.shape != (len(task.test_X),):
        raise InputError(
            f"{task.estimator}: expected {len(task.test_X)} predictions, got shape {predicted.shape}"
        )
    check_rowwise(estimator, task.test_X, predicted, **asked)
    formula = getattr(estimator, "formula_", None)
    took = time.monotonic() - started
    return _Outcome(task.split, task.estimator, predicted, formula, interrupted, took)


class _Clock:
    """Estimates the time left from the mean duration of each estimator's fits so far."""

    def __init__(self, total: int, estimators: tuple[str, ...], workers: int) -> None:
        self._started = time.monotonic()
        self._total, self._workers = total, workers
        self._durations: dict[str, list[float]] = {name: [] for name in estimators}

    def after(self, outcome: _Outcome) -> StudyProgress:
        self._durations[outcome.estimator].append(outcome.seconds)
        known = [duration for durations in self._durations.values() for duration in durations]
        per_estimator = self._total // len(self._durations)
        remaining = sum(
            (per_estimator - len(durations)) * float(np.mean(durations or known))
            for durations in self._durations.values()
        )
        elapsed = time.monotonic() - self._started
        return StudyProgress(
            len(known), self._total, outcome.split, outcome.estimator, elapsed, remaining / self._workers
        )


def _assembled(
    labels: pd.DataFrame,
    seconds: np.ndarray,
    splits: Sequence[Split],
    estimators: tuple[str, ...],
    outcomes: Sequence[_Outcome],
) -> StudyResult:
    """Return the result of the splits that every estimator has finished, in order, whatever came first."""
    found = {(outcome.split, outcome.estimator): outcome for outcome in outcomes}
    finished = [split for split in splits if all((split.name, name) in found for name in estimators)]
    parts = []
    for split in finished:
        part = labels.iloc[split.test].reset_index(drop=True)
        part.insert(0, "row", split.test)
        part.insert(1, "split", split.name)
        part[MEASURED] = seconds[split.test]
        for name in estimators:
            part[name] = found[split.name, name].predicted
        parts.append(part)
    columns = ["row", "split", *labels.columns, MEASURED, *estimators]
    predictions = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    names = {split.name for split in finished}
    formulas = {
        key: o.formula for key, o in sorted(found.items()) if o.formula is not None and key[0] in names
    }
    return StudyResult(
        predictions, estimators, tuple(s.name for s in splits if s.name not in names), formulas
    )
