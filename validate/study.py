"""Studies: every estimator is fitted to the training rows of every split and predicts the held-out rows."""

import hashlib
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.validate.estimators import Estimator, EstimatorFactory
from trainlaw.validate.guard import (
    Secrets,
    check_features,
    check_fold,
    check_rowwise,
    check_state,
    fold_secrets,
)
from trainlaw.validate.journal import Journal
from trainlaw.validate.result import CONFIGURATION, MEASURED, StudyResult, member_name
from trainlaw.validate.splits import Split
from trainlaw.validate.workers import run_tasks


@dataclass(frozen=True, eq=False)
class FoldTable:
    """Data that all fits of a study share: everything but times.

    X : numeric features, (n_runs, n_features). groups : (n_runs,). labels : text, (n_runs, n_labels).
    """

    X: pd.DataFrame
    groups: np.ndarray
    labels: pd.DataFrame

    def part(self, rows: np.ndarray) -> "FoldTable":
        """Return some rows, positions (n_part,), as copies: estimators may change them in place."""
        return FoldTable(self.X.iloc[rows].copy(), self.groups[rows], self.labels.iloc[rows])


@dataclass(frozen=True, eq=False)
class FoldTask:
    """Input of one fit: the training rows with their times, and the test rows without.

    train, test : positions of rows in the `FoldTable`, (n_train,), (n_test,). seconds : measured times of the
    training rows, (n_train,).
    """

    split: str
    estimator: str
    factory: EstimatorFactory
    train: np.ndarray
    test: np.ndarray
    seconds: np.ndarray
    secrets: Secrets


@dataclass(frozen=True, eq=False)
class FoldOutcome:
    """Result of one fit: predicted seconds of the test rows, (n_test,), and the formula, if there is one.

    interrupted : whether the user interrupted the fit. members : those of the further models that the same
    fit found, such as one per number of constants.
    """

    split: str
    estimator: str
    predicted: np.ndarray
    formula: Formula | None
    interrupted: bool = False
    members: tuple["FoldOutcome", ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the outcome of a fit that was not interrupted as plain JSON; `from_json` reads it back."""
        return {
            "split": self.split,
            "estimator": self.estimator,
            "predicted_s": self.predicted.tolist(),
            "formula": self.formula and self.formula.to_json(),
            "members": [member.to_json() for member in self.members],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "FoldOutcome":
        """Return the outcome that `to_json` gave."""
        formula = value["formula"] and Formula.from_json(value["formula"])
        predicted = np.array(value["predicted_s"], dtype=float)
        members = tuple(map(cls.from_json, value["members"]))
        return cls(value["split"], value["estimator"], predicted, formula, False, members)


def run_fold(task: FoldTask, table: FoldTable) -> FoldOutcome:
    """Fit a new estimator to the training rows and predict the test rows; may run in a worker process.

    LeakError if the estimator holds more than the training rows provide, before or after the fit, or if a
    prediction depends on other test rows. InputError for predictions of another shape.
    """
    estimator = task.factory()
    check_state(estimator, task.secrets, f"{task.estimator} before fit")
    known, unseen = table.part(task.train), table.part(task.test)
    estimator.fit(known.X, task.seconds, known.groups, **asked_divisions(estimator, known.labels))
    # Again after the fit, which may pick up secrets from a closure or a global.
    check_state(estimator, task.secrets, f"{task.estimator} after fit")
    found = _models(task.estimator, estimator)
    outcome, *members = (_predicted(task.split, name, model, unseen) for name, model in found)
    interrupted = bool(getattr(estimator, "interrupted_", False))
    return replace(outcome, interrupted=interrupted, members=tuple(members))


def _models(name: str, estimator: Any) -> Iterator[tuple[str, Estimator]]:
    """Yield a fitted estimator and all further models that its fit found, by their names."""
    yield name, estimator
    for member, model in getattr(estimator, "members_", {}).items():
        yield member_name(name, member), model
    for control, model in getattr(estimator, "controls_", {}).items():
        yield from _models(control, model)


def _predicted(split: str, name: str, estimator: Estimator, unseen: FoldTable) -> FoldOutcome:
    """Return what a fitted estimator predicts for rows that it has not seen; raises as `run_fold`."""
    predicted = np.asarray(estimator.predict(unseen.X.copy()), dtype=float)
    if predicted.shape != (len(unseen.X),):
        raise InputError(f"{name}: expected {len(unseen.X)} predictions, got {predicted.shape}")
    check_rowwise(estimator, unseen.X, predicted)
    return FoldOutcome(split, name, predicted, getattr(estimator, "formula_", None))


def asked_divisions(estimator: object, labels: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return those of the labels, (n_rows, n_labels), that the estimator asks for by `division_columns`."""
    asked = getattr(estimator, "division_columns", ())
    return {"divisions": labels[[name for name in asked if name in labels]]} if asked else {}


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study.

    Attributes
    ----------
    done, total : int
        Number of finished fits, and of all.
    split, estimator : str
        The fit that finished last.
    elapsed_seconds, remaining_seconds : float
        Wall time so far, and its estimated rest.
    """

    done: int
    total: int
    split: str
    estimator: str
    elapsed_seconds: float
    remaining_seconds: float


def run_study(
    X: pd.DataFrame,
    seconds: npt.ArrayLike,
    labels: pd.DataFrame,
    splits: Sequence[Split],
    estimators: Mapping[str, EstimatorFactory],
    *,
    group_column: str = "gpu_group",
    workers: int = 1,
    executor: Executor | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
    journal: Journal | None = None,
) -> StudyResult:
    """Fit every estimator to every split and return the predictions of the held-out rows.

    KeyboardInterrupt ends the study early: the result contains the finished splits, and `missing_splits`
    names the others.

    Parameters
    ----------
    X : DataFrame, shape (n_runs, n_features)
        Numeric features.
    seconds : array_like, shape (n_runs,)
        Measured times.
    labels : DataFrame, shape (n_runs, n_labels)
        String columns. No label reaches `predict`, and none reaches `fit` except `group_column` and those
        that an estimator asks for by `division_columns`.
    splits : sequence of Split
        Training and test rows.
    estimators : mapping of str to EstimatorFactory
        Factories by name. With `workers` > 1 or an `executor` they must be importable by name: a class, a
        module-level function, or a `functools.partial` of these with plain arguments.
    group_column : str
        Label whose training part `fit` receives as `groups`.
    workers : int
        Simultaneous fits, in spawned processes (a script needs `if __name__ == "__main__"`). The result is
        the same for any number.
    executor : concurrent.futures.Executor or None
        Used instead of new processes, such as that of a cluster.
    progress : callable or None
        Called after each fit with a `StudyProgress`.
    journal : Journal or None
        Where the outcome of each fit is kept as soon as it is known, and from where the fits of an earlier
        run of the same study are taken; None for a new one in memory.

    Returns
    -------
    StudyResult
        Predictions of the held-out rows. Where a fit finds several models, as the `members_` of its estimator
        by name, each has a column `member_name(estimator, name)`; those of its `controls_` have columns as if
        they had been fitted by themselves.

    Raises
    ------
    LeakError
        If an estimator can know held-out times.
    InputError
        If rows, labels, splits or estimators are unsuitable.
    """
    table, times = _checked(X, seconds, labels, group_column)
    _check_estimators(estimators, table.labels, elsewhere=workers > 1 or executor is not None)
    journal = Journal() if journal is None else journal
    names = {(split.name, name): _task_name(split, name) for split in splits for name in estimators}
    missing = [pair for pair, name in names.items() if name not in journal]
    started, left = time.monotonic(), len(missing)
    todo = _guarded_tasks(table, times, splits, estimators, missing)
    try:
        # Closing the generator cancels waiting fits and ends the workers.
        with closing(run_tasks(run_fold, todo, workers, executor, shared=(table,))) as running:
            for outcome in running:
                if outcome.interrupted:
                    break
                journal.keep(names[outcome.split, outcome.estimator], outcome.to_json())
                left -= 1
                if progress is not None:
                    elapsed = time.monotonic() - started
                    # Fits come split by split, each with every estimator: what is left takes as long.
                    rest = elapsed * left / (len(missing) - left)
                    done = len(names) - left
                    progress(StudyProgress(done, len(names), outcome.split, outcome.estimator, elapsed, rest))
    except KeyboardInterrupt:
        pass  # the finished splits are a valid, smaller result; missing_splits names the others
    # Always as they are read back.
    outcomes = [FoldOutcome.from_json(journal[name]) for name in names.values() if name in journal]
    return _assembled(table.labels, times, splits, tuple(estimators), outcomes)


def _task_name(split: Split, estimator: str) -> str:
    """Return the name of a fit in a journal, the same only for the same rows."""
    rows = hashlib.sha256(np.asarray(split.train, dtype=np.int64).tobytes() + b"/")
    rows.update(np.asarray(split.test, dtype=np.int64).tobytes())
    return f"{split.name}, {estimator}, rows {rows.hexdigest()[:16]}"


def _checked(
    X: pd.DataFrame, seconds: npt.ArrayLike, labels: pd.DataFrame, group_column: str
) -> tuple[FoldTable, np.ndarray]:
    # A copy, because an estimator may change its training times in place.
    times = np.array(seconds, dtype=float)
    if not len(X) == len(times) == len(labels) or not len(X):
        raise InputError(
            f"expected equal numbers of rows, got X {len(X)}, times {len(times)}, labels {len(labels)}"
        )
    valid = np.isfinite(times) & (times > 0)
    if not valid.all():
        raise InputError(
            f"row {int(np.argmin(valid))}: expected a positive time in seconds, got {times[~valid][0]}"
        )
    if group_column not in labels.columns:
        raise InputError(f"expected a label column {group_column!r}, got {list(labels.columns)}")
    # Splits are positions, so the index must not carry another order.
    X, labels = X.reset_index(drop=True), labels.reset_index(drop=True).astype(str)
    if CONFIGURATION not in labels.columns:
        labels = labels.assign(**{CONFIGURATION: configuration_labels(X, labels)})
    return FoldTable(X, labels[group_column].to_numpy(dtype=str), labels), times


def configuration_labels(X: pd.DataFrame, labels: pd.DataFrame) -> list[str]:
    """Return one text per row that is equal for runs of the same work on different GPUs, shape (n_runs,).

    It consists of CNN, harness and precision in `labels` and batch and work per image in `X`, if present.
    """
    parts = [labels[name] for name in ("cnn", "harness", "precision") if name in labels.columns]
    parts += [
        X[name].map("{:g}".format)
        for name in ("batch_per_gpu", "n_gpus", "macs", "params")
        if name in X.columns
    ]
    return [" ".join(row) for row in zip(*parts, strict=True)] if parts else [""] * len(labels)


def _check_estimators(
    estimators: Mapping[str, EstimatorFactory], labels: pd.DataFrame, elsewhere: bool
) -> None:
    """Construct each estimator once, so that a missing package is reported before hours of fits."""
    if not estimators:
        raise InputError("expected at least one estimator, got none")
    for name, factory in estimators.items():
        if name in labels.columns or name in ("row", "split", MEASURED):
            raise InputError(f"estimator {name!r} has the name of a label column; rename it")
        factory()
        if elsewhere:
            _check_travels(name, factory)


def _check_travels(name: str, factory: EstimatorFactory) -> None:
    # The pickler of multiprocessing, which may be stricter than that of the standard library.
    try:
        ForkingPickler.dumps(factory)
    except Exception as error:  # pickling calls the factory's own methods, which may raise anything
        raise InputError(
            f"estimator {name!r} cannot be sent to a worker ({error}); use a class, a module-level function, "
            "a functools.partial of these, or workers=1"
        ) from None


def _guarded_tasks(
    table: FoldTable,
    times: np.ndarray,
    splits: Sequence[Split],
    estimators: Mapping[str, EstimatorFactory],
    fits: Collection[tuple[str, str]],
) -> Iterator[FoldTask]:
    """Check features and folds, and return one task per fit in `fits`.

    Tasks come split by split, so that an interruption leaves whole splits.
    """
    check_features(table.X, times)
    for split in splits:
        check_fold(split, table.labels)

    def tasks() -> Iterator[FoldTask]:
        for split in splits:
            factories = {name: factory for name, factory in estimators.items() if (split.name, name) in fits}
            if factories:
                # Once per split, not per estimator: statistics over all rows are the expensive part.
                secrets = fold_secrets(table.X, times, split)
            for name, factory in factories.items():
                # A copy for each, which it may change in place.
                seconds = times[split.train]
                yield FoldTask(split.name, name, factory, split.train, split.test, seconds, secrets)

    return tasks()


def _assembled(
    labels: pd.DataFrame,
    times: np.ndarray,
    splits: Sequence[Split],
    estimators: tuple[str, ...],
    outcomes: Sequence[FoldOutcome],
) -> StudyResult:
    """Return the result of the splits that every estimator has finished, in the order of the splits.

    Members follow their estimator; one that a fit did not find has no predictions there.
    """
    # Only whole splits: the estimators are compared on the same rows.
    found = {
        (each.split, each.estimator): each for outcome in outcomes for each in (outcome, *outcome.members)
    }
    finished = [split for split in splits if all((split.name, name) in found for name in estimators)]
    families = {name: {name: None} for name in estimators}
    for outcome in outcomes:
        families[outcome.estimator] |= dict.fromkeys(member.estimator for member in outcome.members)
    estimators = tuple(chain.from_iterable(families.values()))
    parts = []
    for split in finished:
        part = labels.iloc[split.test].reset_index(drop=True)
        part.insert(0, "row", split.test)
        part.insert(1, "split", split.name)
        part[MEASURED] = times[split.test]
        for name in estimators:
            part[name] = found[split.name, name].predicted if (split.name, name) in found else math.nan
        parts.append(part)
    columns = ["row", "split", *labels.columns, MEASURED, *estimators]
    predictions = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    formulas = {
        (split.name, name): formula
        for split in finished
        for name in estimators
        if (split.name, name) in found and (formula := found[split.name, name].formula) is not None
    }
    missing = tuple(split.name for split in splits if split not in finished)
    return StudyResult(predictions, estimators, missing, formulas)
