"""The evolved formula as an estimator of a study, and the pool of processes that searches run in."""

import multiprocessing
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from ctypes import c_bool, c_longlong
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypedDict

import numpy as np
import pandas as pd
from trainlaw.app.studies.interrupts import postponed
from trainlaw.datasets.measurements.formula_rows import CnnLayers, feature_rows
from trainlaw.evolve import FormulaRegressor, Progress, SearchSettings
from trainlaw.formulas import FeatureSpec, Formula, ParetoFront, ScoredFormula
from trainlaw.formulas.scopes import RUN
from trainlaw.validate import Estimator, EstimatorFactory
from trainlaw.validate.inclusion import Support
from trainlaw.validate.study import asked_divisions
from trainlaw.validate.workers import WorkerPool, follow_parent, given_up

# Each library with its own threads reads one of these when it is loaded.
_THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class SearchedRows(NamedTuple):
    """What a search on all rows found; support : the shares of a `FrontSearch`, empty for other searches."""

    formula: Formula
    front: ParetoFront
    support: tuple[Support, ...]


@dataclass(frozen=True)
class Signals:
    """What the study and its worker processes share: formulas tried so far by all, and a stop flag.

    Neither has a lock, which a worker that is killed could take with it; a count that is lost when two are
    added at once only makes the shown progress a little late.
    """

    tried: c_longlong
    stop: c_bool


class Place(TypedDict, total=False):
    """Where tasks run, as arguments of `run_tasks` and `run_study`; without entries in this process."""

    workers: int
    executor: Executor


class TaskPool(NamedTuple):
    """What runs the tasks of a study.

    executor : takes them. signals : shared with its workers, unless they are `remote`. workers : number of
    tasks to hand over at a time.
    """

    executor: Executor
    signals: Signals
    workers: int
    remote: bool = False

    @property
    def place(self) -> Place:
        """Where tasks run that need no signals."""
        return Place(workers=self.workers, executor=self.executor)


# Module-level state, the only one: a spawned process gets shared memory through its initializer only.
_signals: Signals | None = None


def _start_worker(signals: Signals) -> None:
    global _signals  # noqa: PLW0603 (see above)
    _signals = signals
    follow_parent()


class SearchReporter:
    """Progress callback of a search: counts what was tried, and ends the search at the stop flag."""

    def __init__(self) -> None:
        """Begin at no formula."""
        self.counted = 0

    def __call__(self, progress: Progress) -> None:
        """Count formulas tried since the last call; by KeyboardInterrupt a search ends with what it has."""
        if _signals is None:
            if given_up():
                raise KeyboardInterrupt
            return
        _signals.tried.value += progress.evaluations - self.counted
        self.counted = progress.evaluations
        if _signals.stop.value:
            raise KeyboardInterrupt


def evolved(
    features: tuple[FeatureSpec, ...], target: FeatureSpec, settings: SearchSettings, scope: str = RUN
) -> FormulaRegressor:
    """Return the estimator that evolves a formula of `target` in `features`; scope : what it models."""
    return FormulaRegressor(features, target, settings, SearchReporter(), scope=scope)


class EvolvedEstimator(Estimator, Protocol):
    """An estimator that evolves or fits: after `fit` it has the formula, and the front that it is from."""

    formula_: Formula

    @property
    def front_(self) -> Iterable[ScoredFormula]:
        """The formulas among which the formula was chosen."""
        ...


class FormulaFit(ABC):
    """An estimator of a formula; `fit` of a subclass sets `formula_`, perhaps `front_`."""

    cnn_layers: CnnLayers | None = None  # for formulas of one layer
    formula_: Formula
    front_: Iterable[ScoredFormula] = ()

    @abstractmethod
    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit or search; X : features, (n_rows, k). y, seconds, and groups : (n_rows,)."""

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_rows,); nan for a CNN whose layers are not known."""
        return predicted_seconds(self.formula_, X, self.cnn_layers)


class FormulaSearch(FormulaFit):
    """An estimator that searches with `settings`."""

    def __init__(self, settings: SearchSettings) -> None:
        """Keep the settings."""
        self.settings = settings

    def keep(self, search: FormulaRegressor) -> Self:
        """Take the result of a search."""
        self.formula_, self.front_ = search.formula_, search.front_
        return self


def with_settings(
    search: type[FormulaSearch],
) -> Callable[[object, SearchSettings], Callable[[], FormulaSearch]]:
    """Return the `search` of a kind of study whose estimator needs nothing but its settings."""
    return lambda rows, settings: partial(search, settings)


def predicted_seconds(formula: Formula, X: pd.DataFrame, cnn_layers: CnnLayers | None = None) -> np.ndarray:
    """Return seconds by a formula, shape (n_rows,); arguments as for `feature_rows`, X with its features."""
    names = [spec.name for spec in formula.used_features]
    return feature_rows(X, names, cnn_layers).predict(formula)


def search_all_rows(
    search: EstimatorFactory,
    X: pd.DataFrame,
    seconds: np.ndarray,
    groups: np.ndarray,
    labels: pd.DataFrame,
) -> dict[str, object]:
    """Search on all rows; for use in a worker process.

    search : makes the estimator. X : its features at least, shape (n_runs, k). seconds, groups : (n_runs,).
    labels : text, (n_runs, n_labels). Returns the chosen formula, the front that it was chosen from, and what
    the data support, as JSON for `searched_on_all_rows`.
    """
    estimator: Any = search()
    estimator.fit(X, seconds, groups, **asked_divisions(estimator, labels))
    front = [
        {
            "formula": member.formula.to_json(),
            "loss": member.loss,
            "complexity": member.complexity,
            "validation_loss": member.validation_loss,
        }
        for member in estimator.front_
    ]
    support = [list(share) for share in getattr(estimator, "support", tuple)()]
    return {"formula": estimator.formula_.to_json(), "front": front, "support": support}


def searched_on_all_rows(value: Mapping[str, Any]) -> SearchedRows:
    """Return what `search_all_rows` found."""
    front = ParetoFront(
        tuple(
            ScoredFormula(**{**member, "formula": Formula.from_json(member["formula"])})
            for member in value["front"]
        )
    )
    shares = value["support"]
    support = tuple(Support(str(name), float(share)) for name, share in shares)
    return SearchedRows(Formula.from_json(value["formula"]), front, support)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that are started inside the block use one thread each."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def search_pool(workers: int) -> Iterator[TaskPool]:
    """Give a pool of spawned processes, each with one thread, and the signals that they share with us.

    When the block ends, for whatever reason, running searches are given up and the pool is closed.
    """
    context = multiprocessing.get_context("spawn")
    signals = Signals(context.RawValue(c_longlong, 0), context.RawValue(c_bool, False))
    with one_thread_each():
        pool = WorkerPool(workers, _start_worker, signals)
        try:
            yield TaskPool(pool, signals, workers)
        finally:
            # Half of it would leave processes for which this one would wait at its end.
            with postponed():
                pool.shutdown(wait=False)


#: No search: the first formula, which has all that is required.
FIT_ONLY = SearchSettings(evaluations=1, population=4, islands=1, choice="loss")
