"""Guard against leaks: no estimator sees identities, held-out rows, or anything computed from them.

Four checks run in every study: features, fold, state before and after the fit, row-wise prediction.
"""

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError, TrainlawError
from trainlaw.validate.estimators import Estimator
from trainlaw.validate.splits import Split

# More Python objects than a legitimate estimator holds; bounds the walk through, say, a cached compiler.
MAX_OBJECTS = 200_000

_LEAF_TYPES = (type, types.ModuleType, types.BuiltinFunctionType, bytes, bool, type(None))


def _parts(thing: object) -> Iterator[object]:
    """Yield the objects that `thing` refers to directly."""
    if isinstance(thing, Mapping):
        yield from list(thing.keys())
        yield from list(thing.values())
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from list(thing)
    elif isinstance(thing, pd.DataFrame):
        yield thing.index.to_numpy()
        yield from (thing[column].to_numpy() for column in thing.columns)
    elif isinstance(thing, pd.Series | pd.Index):
        yield thing.to_numpy()
        if isinstance(thing, pd.Series):
            yield thing.index.to_numpy()
    elif isinstance(thing, np.ndarray):
        yield from thing.ravel().tolist() if thing.dtype == object else ()
    elif isinstance(thing, types.FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell))
        yield thing.__defaults__
    else:
        yield from _attributes(thing)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _attributes(thing: object) -> Iterator[object]:
    """Yield attributes in `__dict__` and slots, and the objects bound by a method or `functools.partial`."""
    yield from list(getattr(thing, "__dict__", {}).values())
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(thing, name, None)
    for name in ("func", "args", "keywords", "__self__", "__func__"):
        if hasattr(type(thing), name):
            yield getattr(thing, name, None)


def texts_and_numbers(thing: object) -> tuple[set[str], np.ndarray]:
    """Return all texts, and all floating-point numbers (float64, shape (n_numbers,)), reachable from `thing`.

    Walks containers, arrays, tables, attributes, closures and bound methods, at most `MAX_OBJECTS` objects.

    >>> texts, numbers = texts_and_numbers({"T4": [0.5, np.array([1.5, 2.5])]})
    >>> sorted(texts), numbers.tolist()
    (['T4'], [0.5, 1.5, 2.5])
    """
    texts: set[str] = set()
    numbers: list[np.ndarray] = []
    seen: dict[int, object] = {}  # keeps the objects alive, so that an id is not used twice
    waiting: list[object] = [thing]
    while waiting and len(seen) < MAX_OBJECTS:
        current = waiting.pop()
        if isinstance(current, str):
            texts.add(str(current))
        elif isinstance(current, float | np.floating):
            numbers.append(np.array([current], dtype=float))
        elif isinstance(current, np.ndarray) and current.dtype.kind in "fUS":
            if current.dtype.kind == "f":
                numbers.append(current.ravel().astype(float))
            else:
                texts.update(np.unique(current.astype(str)).tolist())
        elif not isinstance(current, (*_LEAF_TYPES, int)) and id(current) not in seen:
            seen[id(current)] = current
            waiting.extend(_parts(current))
    return texts, np.sort(np.concatenate(numbers)) if numbers else np.empty(0)


#: Columns that identify the GPU, CNN or run of a row, or its measurement. They are never features.
IDENTITY_COLUMNS = frozenset(
    "gpu gpu_group cnn cnn_base cnn_family cnn_id source source_commit source_path licence harness framework "
    "framework_version generation precision precision_stated bench_year pool timed_parts "
    "time_s time_min_s time_max_s n_repeats row split".split()
)

# Relative. Two sums of the same 1,000 numbers in different order differ by less; different statistics agree
# this closely by chance once in 1e9, and two matches are required.
_STATISTIC_TOLERANCE = 1e-10


class LeakError(TrainlawError, ValueError):
    """Something that must stay hidden from an estimator has reached it."""


def check_features(X: pd.DataFrame, seconds: np.ndarray) -> None:
    """Check that no column of `X`, shape (n_runs, n_features), leaks identities or times.

    LeakError for a column with the name of an identity, one proportional to the target `seconds` (n_runs,) or
    to its inverse, or one standardised over all rows, including held-out ones. InputError for a column that
    is not numeric.
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
        # Proportional to the time or the throughput within 0.1 %, closer than two measurements agree.
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
    return bool(abs(values.mean()) < 1e-9) and any(abs(deviation - 1.0) < 1e-9 for deviation in deviations)


def check_fold(split: Split, labels: pd.DataFrame) -> None:
    """Check that no held-out key of `split` is in the training rows of `labels` (n_runs, n_labels).

    LeakError if every label column with a held-out key in the test rows has it in training, too; InputError
    if no test row has the key. One column is enough: an architecture may be named like its family, which has
    further architectures in training.
    """
    columns = {str(name): labels[name].to_numpy(dtype=str) for name in labels.columns}
    tested = {name: set(values[split.test]) for name, values in columns.items()}
    trained = {name: set(values[split.train]) for name, values in columns.items()}
    for key in split.held_out:
        having = [name for name in columns if key in tested[name]]
        if not having:
            raise InputError(f"split {split.name!r}: no test row has the label {key!r}")
        if all(key in trained[name] for name in having):
            raise LeakError(f"split {split.name!r}: held-out {having[0]} {key!r} is also in training")


@dataclass(frozen=True, eq=False)
class Secrets:
    """Facts that an estimator cannot hold if it saw the training rows only.

    keys : held-out labels. statistics : means and deviations over all rows (of features, time and their
    logarithms) that differ from those over the training rows; sorted, shape (n_statistics,).
    """

    split_name: str
    keys: frozenset[str]
    statistics: np.ndarray


def _statistics(X: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return mean, deviation and sample deviation of each column and of its logarithm, (n_statistics,)."""
    table = np.column_stack([X, seconds])
    with np.errstate(divide="ignore", invalid="ignore"):
        tables = (table, np.log(table))
        ddof = min(1, len(table) - 1)
        return np.concatenate(
            [
                part
                for each in tables
                for part in (each.mean(axis=0), each.std(axis=0), each.std(axis=0, ddof=ddof))
            ]
        )


def fold_secrets(X: pd.DataFrame, seconds: np.ndarray, split: Split) -> Secrets:
    """Return the secrets of `split`, from `X` (n_runs, n_features) and `seconds` (n_runs,)."""
    values = X.to_numpy(dtype=float)
    everywhere = _statistics(values, seconds)
    training = _statistics(values[split.train], seconds[split.train])
    # Short decimals, such as the mean of a flag over few rows, are in any formula by chance.
    short = np.array([float(f"{value:.2g}") for value in everywhere.tolist()])
    known = (
        np.isclose(everywhere, training, rtol=1e-7, atol=0.0)
        | ~np.isfinite(everywhere)
        | np.isclose(everywhere, short, rtol=1e-7, atol=0.0)
    )
    return Secrets(split.name, frozenset(split.held_out), np.unique(everywhere[~known]))


def check_state(estimator: object, secrets: Secrets, moment: str) -> None:
    """Check that no secret is reachable from `estimator`; `moment` is for the message.

    LeakError for a held-out key (such as a grouped constant or a weight by name) or two statistics over all
    rows (such as those of a scaler).
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


def check_rowwise(estimator: Estimator, X: pd.DataFrame, predicted: np.ndarray) -> None:
    """Check that each prediction depends on a single row: every second row alone must give the same.

    X : features of the test rows, shape (n_test, n_features); predicted : seconds, shape (n_test,).
    LeakError if they differ, because the estimator then learns from the rows to predict.
    """
    if len(X) < 2:
        return
    alone = estimator.predict(X.iloc[1::2])
    if not np.allclose(alone, predicted[1::2], rtol=1e-6, atol=0.0, equal_nan=True):
        raise LeakError("a prediction depends on other test rows; scale inside the estimator's fit")
