"""The evolved formula as an estimator of a study, and the pool of processes that searches run in."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Protocol, Self

import numpy as np
import pandas as pd
from trainlaw.datasets import CNN_LAYER_FEATURES, TARGET, feature_specs
from trainlaw.datasets.measurements.formula_rows import CnnLayers
from trainlaw.evolve import FormulaRegressor, Progress, SearchSettings
from trainlaw.formulas import FeatureSpec, Formula, ParetoFront
from trainlaw.formulas.scopes import LAYER, RUN
from trainlaw.validate import Estimator
from trainlaw.validate.workers import follow_parent

# Each library with its own threads reads one of these when it is loaded.
_THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Signals:
    """What the study and its worker processes share: formulas tried so far by all, and a stop flag."""

    tried: "Synchronized[int]"
    stop: Event


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
            return
        with _signals.tried.get_lock():
            _signals.tried.value += progress.evaluations - self.counted
        self.counted = progress.evaluations
        if _signals.stop.is_set():
            raise KeyboardInterrupt


def evolved(
    features: tuple[FeatureSpec, ...], target: FeatureSpec, settings: SearchSettings, scope: str = RUN
) -> FormulaRegressor:
    """Return the estimator that evolves a formula of `target` in `features`; scope : what it models."""
    return FormulaRegressor(features, target, settings, SearchReporter(), scope=scope)


class Evolution(Estimator, Protocol):
    """An estimator that evolves: after `fit` it has the chosen formula and the front it was chosen from."""

    formula_: Formula
    front_: ParetoFront


class LayerSearch:
    """Evolves a formula of one layer from times of whole runs: each is the sum over its layers.

    cnn_layers : the layers of the CNNs, found by the counts of each. After `fit`: `formula_`, `front_`.
    """

    def __init__(self, cnn_layers: CnnLayers, features: Sequence[str], settings: SearchSettings) -> None:
        """Keep what the search is made of; features : names among `CNN_LAYER_FEATURES`."""
        self.cnn_layers = cnn_layers
        self.features = tuple(features)
        self.settings = settings

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search; X : all features of runs, (n_runs, k). y, seconds, and groups : (n_runs,)."""
        rows = self.cnn_layers.rows(X, self.features)
        search = evolved(feature_specs(self.features, CNN_LAYER_FEATURES), TARGET, self.settings, LAYER)
        search.fit(pd.DataFrame(rows.columns), y, groups, sums=rows.sums)
        self.formula_, self.front_ = search.formula_, search.front_
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); nan for a CNN whose layers are not known."""
        names = [spec.name for spec in self.formula_.used_features]
        return self.cnn_layers.rows(X, names).predict(self.formula_)


def predicted_seconds(formula: Formula, X: pd.DataFrame) -> np.ndarray:
    """Return seconds by a formula, shape (n_rows,); X : its features among the columns, (n_rows, k)."""
    columns = {spec.name: X[spec.name].to_numpy() for spec in formula.used_features}
    return np.broadcast_to(formula.predict(columns), len(X)).copy()


def search_all_rows(
    search: Callable[[], Evolution],
    X: pd.DataFrame,
    seconds: np.ndarray,
    groups: np.ndarray,
) -> tuple[Formula, ParetoFront]:
    """Search on all rows; for use in a worker process.

    search : makes the estimator. X : its features at least, shape (n_runs, k). seconds, groups : (n_runs,).
    Returns the chosen formula and the front that it was chosen from.
    """
    estimator = search()
    estimator.fit(X, seconds, groups)
    return estimator.formula_, estimator.front_


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C inside the block: results that took minutes are being put together and written."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def search_pool(workers: int) -> Iterator[tuple[ProcessPoolExecutor, Signals]]:
    """Give a pool of spawned processes, each with one thread, and the signals that they share with us.

    When the block ends, for whatever reason, running searches are asked to stop and the pool is closed.
    """
    context = multiprocessing.get_context("spawn")
    signals = Signals(context.Value("q", 0), context.Event())
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(signals,))
    # Workers inherit it: Ctrl-C would otherwise kill those that are still importing.
    with uninterrupted():
        for _ in range(workers):
            pool.submit(os.getpid)
    try:
        yield pool, signals
    finally:
        signals.stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
