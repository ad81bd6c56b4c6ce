"""One fit of a study: an estimator, the training rows of a split, and the checks of the guard."""

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.validate.estimators import EstimatorFactory
from trainlaw.validate.guard import Secrets, check_rowwise, check_state


@dataclass(frozen=True, eq=False)
class FoldTask:
    """Input of one fit: the training rows and the features of the test rows, but no times of test rows.

    X, groups, labels : numeric features (n_train, n_features), group labels (n_train,), shareable labels
    (n_train, n_labels). seconds : measured, (n_train,). unseen_X, unseen_labels : those of the test rows.
    """

    split: str
    estimator: str
    factory: EstimatorFactory
    X: pd.DataFrame
    seconds: np.ndarray
    groups: np.ndarray
    labels: pd.DataFrame
    unseen_X: pd.DataFrame  # noqa: N815
    unseen_labels: pd.DataFrame
    secrets: Secrets


@dataclass(frozen=True, eq=False)
class FoldOutcome:
    """Result of one fit: predicted seconds of the test rows, (n_test,), and the formula, if there is one.

    interrupted : whether the user interrupted the fit. took_seconds : wall time.
    """

    split: str
    estimator: str
    predicted: np.ndarray
    formula: Formula | None
    interrupted: bool
    took_seconds: float


def run_fold(task: FoldTask) -> FoldOutcome:
    """Fit a new estimator to the training rows and predict the test rows; may run in a worker process.

    LeakError if the estimator holds more than the training rows provide, before or after the fit, or if a
    prediction depends on other test rows. InputError for predictions of another shape.
    """
    started = time.monotonic()
    estimator = task.factory()
    check_state(estimator, task.secrets, f"{task.estimator} before fit")
    # Copies, because an estimator that scales in place would change the rows of the others.
    estimator.fit(task.X.copy(), task.seconds, task.groups, **_asked_labels(estimator, task.labels))
    # Again after the fit, which may pick up secrets from a closure or a global.
    check_state(estimator, task.secrets, f"{task.estimator} after fit")
    asked = _asked_labels(estimator, task.unseen_labels)
    predicted = np.asarray(estimator.predict(task.unseen_X.copy(), **asked), dtype=float)
    if predicted.shape != (len(task.unseen_X),):
        raise InputError(
            f"{task.estimator}: expected {len(task.unseen_X)} predictions, got {predicted.shape}"
        )
    check_rowwise(estimator, task.unseen_X, predicted, **asked)
    return FoldOutcome(
        task.split,
        task.estimator,
        predicted,
        getattr(estimator, "formula_", None),
        bool(getattr(estimator, "interrupted_", False)),
        time.monotonic() - started,
    )


def _asked_labels(estimator: object, labels: pd.DataFrame) -> dict[str, pd.DataFrame]:
    columns = list(getattr(estimator, "label_columns", ()))
    return {"labels": labels[columns]} if columns else {}
