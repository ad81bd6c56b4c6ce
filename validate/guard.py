"""The guard: no estimator sees identities, held-out rows, or anything computed from them.

Four checks run inside every study (features, fold, state before and after the fit, row-wise prediction); the
fifth, `assert_blind`, is for whole procedures that prepare their data themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError, TrainlawError
from trainlaw.validate.estimators import Estimator
from trainlaw.validate.fitted_state import texts_and_numbers
from trainlaw.validate.splits import Split

#: Columns that say which GPU, CNN or run a row is, or what was measured. They are never features.
IDENTITY_COLUMNS = frozenset(
    "gpu gpu_group cnn cnn_base cnn_family cnn_id source source_commit source_path licence harness framework "
    "framework_version generation precision precision_stated bench_year pool timed_parts "
    "time_s time_min_s time_max_s n_repeats row split".split()
)

# Two sums of the same 1,000 numbers in different order differ by less; two different statistics agree so
# closely by chance once in 1e9, and two matches are asked for.
_STATISTIC_TOLERANCE = 1e-10


class LeakError(TrainlawError, ValueError):
    """Something that must stay unknown to an estimator has reached it."""


def check_features(X: pd.DataFrame, seconds: np.ndarray) -> None:
    """Check that `X`, shape (n_runs, n_features), holds only honest numbers.

    LeakError for a column that is an identity by name, that equals the target `seconds` (n_runs,) up to a
    factor, or that was standardised over all rows, held-out ones included. InputError for a column that is
    not numeric.
    """
    log_seconds = np.log(seconds)
    for name in X.columns:
        if name in IDENTITY_COLUMNS:
            raise LeakError(
                f"column {name!r} identifies the run or its result; pass it among the labels, not in X"
            )
        if not pd.api.types.is_numeric_dtype(X[name]):
            raise InputError(
                f"feature {name!r}: expected numbers, got {X[name].dtype}; names belong in the labels"
            )
        values = X[name].to_numpy(dtype=float)
        # Proportional to the time or to the throughput within 0.1 %, closer than any two measurements.
        if len(values) > 2 and (values > 0).all() and np.ptp(log_seconds) > 1e-3:
            for sign in (1.0, -1.0):
                if np.ptp(np.log(values) - sign * log_seconds) < 1e-3:
                    raise LeakError(f"feature {name!r} is the measured time in disguise")
        if len(np.unique(values)) > 2 and _is_standardised(values):
            raise LeakError(
                f"feature {name!r} was standardised over all rows; scale inside the estimator's fit"
            )


def _is_standardised(values: np.ndarray) -> bool:
    deviations = (values.std(), values.std(ddof=1))
    return abs(values.mean()) < 1e-9 and any(abs(deviation - 1.0) < 1e-9 for deviation in deviations)


def check_fold(split: Split, labels: pd.DataFrame) -> None:
    """Check that no held-out key of `split` is in the training rows of `labels` (n_runs, n_labels).

    LeakError where a label column has a held-out key in both parts; InputError where no test row has the key.
    """
    found = {key: False for key in split.held_out}
    for column in labels.columns:
        values = labels[column].to_numpy(dtype=str)
        shared = set(values[split.test]) & set(split.held_out)
        for key in shared:
            found[key] = True
            if (values[split.train] == key).any():
                raise LeakError(f"split {split.name!r}: held-out {column} {key!r} is also in training")
    for key, was_found in found.items():
        if not was_found:
            raise InputError(f"split {split.name!r}: no test row has the label {key!r}")


@dataclass(frozen=True, eq=False)
class Secrets:
    """What an estimator cannot know if it saw the training rows only.

    keys : held-out labels. statistics : means and deviations over all rows (of features, time and their
    logarithms) that differ from those over the training rows; sorted, shape (n_statistics,).
    """

    split_name: str
    keys: frozenset[str]
    statistics: np.ndarray


def _statistics(X: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    table = np.column_stack([X, seconds])
    with np.errstate(divide="ignore", invalid="ignore"):
        tables = (table, np.log(table))
    with np.errstate(invalid="ignore"):
        return np.concatenate([f(t) for t in tables for f in (_mean, _deviation, _sample_deviation)])


def _mean(table: np.ndarray) -> np.ndarray:
    return table.mean(axis=0)


def _deviation(table: np.ndarray) -> np.ndarray:
    return table.std(axis=0)


def _sample_deviation(table: np.ndarray) -> np.ndarray:
    return table.std(axis=0, ddof=1) if len(table) > 1 else table.std(axis=0)


def fold_secrets(X: pd.DataFrame, seconds: np.ndarray, split: Split) -> Secrets:
    """Return what stays secret in `split` of `X` (n_runs, n_features) and `seconds` (n_runs,)."""
    values = X.to_numpy(dtype=float)
    everywhere = _statistics(values, seconds)
    training = _statistics(values[split.train], seconds[split.train])
    told = (
        np.isclose(everywhere, training, rtol=1e-7, atol=0.0) | ~np.isfinite(everywhere) | (everywhere == 0)
    )
    return Secrets(split.name, frozenset(split.held_out), np.unique(everywhere[~told]))


def check_state(estimator: object, secrets: Secrets, moment: str) -> None:
    """Check that nothing reachable from `estimator` is secret; `moment` is for the message.

    LeakError for a held-out key (a grouped constant, a weight by name) or two statistics of all rows (a
    scaler).
    """
    texts, numbers = texts_and_numbers(estimator)
    known = sorted(texts & secrets.keys)
    if known:
        raise LeakError(
            f"split {secrets.split_name!r}: {moment}, the estimator knows the held-out key {known[0]!r}"
        )
    low = np.searchsorted(numbers, secrets.statistics - _STATISTIC_TOLERANCE * np.abs(secrets.statistics))
    high = np.searchsorted(
        numbers, secrets.statistics + _STATISTIC_TOLERANCE * np.abs(secrets.statistics), "right"
    )
    matches = secrets.statistics[high > low]
    if len(matches) >= 2:
        raise LeakError(
            f"split {secrets.split_name!r}: {moment}, the estimator holds means or deviations over all rows, "
            f"held-out ones included ({matches[0]:g}, {matches[1]:g}); fit scalers on the training rows"
        )


def check_rowwise(
    estimator: Estimator, X: pd.DataFrame, predicted: np.ndarray, **labels: pd.DataFrame
) -> None:
    """Check that each prediction depends on its own row only: the odd rows alone must give the same.

    X : features of the test rows, shape (n_test, n_features); predicted : seconds, shape (n_test,).
    LeakError where they differ: the estimator learns from the rows that it should predict.
    """
    if len(X) < 2:
        return
    alone = estimator.predict(X.iloc[1::2], **{name: table.iloc[1::2] for name, table in labels.items()})
    if not np.allclose(alone, predicted[1::2], rtol=1e-6, atol=0.0, equal_nan=True):
        raise LeakError(
            "a prediction depends on the other rows that are predicted; scale inside the estimator's fit"
        )


Procedure = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, Split], np.ndarray]


def assert_blind(
    procedure: Procedure,
    X: pd.DataFrame,
    seconds: np.ndarray,
    labels: pd.DataFrame,
    split: Split,
) -> None:
    """Check that a whole procedure, preparation of data included, is blind to what `split` holds out.

    procedure : function of features, seconds, labels of ALL runs and the split; returns seconds for the test
    rows. It is run twice. In between, the times and labels of all test rows and the features of every second
    test row are replaced by nonsense; the predictions for the other test rows must not move. LeakError if
    they do.
    """
    random = np.random.default_rng(0)
    kept, spoiled = split.test[::2], split.test[1::2]
    nonsense_X, nonsense_seconds, nonsense_labels = X.astype(float), seconds.copy(), labels.astype(object)
    nonsense_X.iloc[spoiled] = (
        nonsense_X.iloc[spoiled] * random.uniform(2.0, 9.0, (len(spoiled), X.shape[1])) + 1.0
    )
    nonsense_seconds[split.test] = seconds[split.test] * random.uniform(2.0, 9.0, len(split.test))
    nonsense_labels.iloc[split.test] = "nonsense"
    first = procedure(X.copy(), seconds.copy(), labels.copy(), split)
    second = procedure(nonsense_X, nonsense_seconds, nonsense_labels, split)
    # Rows with spoiled features are allowed, indeed expected, to get other predictions.
    where = np.isin(split.test, kept)
    if not np.allclose(first[where], second[where], rtol=1e-9, atol=0.0, equal_nan=True):
        raise LeakError(f"split {split.name!r}: predictions move when held-out rows are replaced by nonsense")
