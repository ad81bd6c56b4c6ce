"""Third-party engines of symbolic regression: gplearn and pyoperon.

Both get the same time terms and rates, and ln(seconds) as target. They search without units and groups, with
a budget of a few seconds per fold.
"""

import time
import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.inputs import columns

_FEATURES = (
    "conv_other_compute_s im2col_compute_s conv_weight_compute_s conv_output_memory_s layer_launch_s "
    "batchnorm_memory_s depthwise_output_memory_s parameter_memory_s iteration_overhead_s conv3x3_compute_s "
    "conv5x5_compute_s input_copy_s conv1x1_compute_s grouped_conv_compute_s conv_output_compute_s "
    "dense_compute_s dense_weight_compute_s elementwise_memory_s concat_memory_s optimizer_memory_s "
    "kernel_launch_s total_compute_s activation_memory_s clock_ratio wide_sm"
).split()


def _table(X: pd.DataFrame, engine: str) -> np.ndarray:
    """Return the engines' columns, float64, (n_runs, 25): times in milliseconds, pure numbers unchanged."""
    table = columns(X, _FEATURES, engine)
    # Engines without units search best among values of order one.
    scales = [1e3 if name.endswith("_s") else 1.0 for name in _FEATURES]
    # In C order, as Operon's evaluator requires; otherwise it copies at each call.
    return np.ascontiguousarray(table * scales)


class _Engine:
    """An engine on ln(seconds); its predictions are at most e^3 beyond the training times.

    random_seed : of the search. limit_seconds : time limit instead of the usual budget.
    """

    module = ""

    def __init__(self, random_seed: int = 0, limit_seconds: float | None = None) -> None:
        """Store the settings; MissingDependencyError without the package (`trainlaw[peers]`)."""
        self.random_seed = random_seed
        self.limit_seconds = limit_seconds
        self._package = optional_package(self.module, "peers")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,); `groups` are not used."""
        logs = np.log(y)
        self.model_ = self._searched(_table(X, self.module), logs)
        self.range_ = (float(logs.min()) - 3.0, float(logs.max()) + 3.0)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        logs = np.asarray(self.model_.predict(_table(X, self.module)), dtype=float)
        return np.asarray(np.exp(np.clip(logs.reshape(len(X)), *self.range_)))

    def _searched(self, table: np.ndarray, logs: np.ndarray) -> Any:
        raise NotImplementedError


class Gplearn(_Engine):
    """gplearn: 1,000 programs, 20 generations, add, sub, mul, div, sqrt, log, max, min.

    Stephens, gplearn 0.4, https://gplearn.readthedocs.io.
    """

    module = "gplearn.genetic"

    def _searched(self, table: np.ndarray, logs: np.ndarray) -> Any:
        search = self._package.SymbolicRegressor(
            population_size=1000,
            generations=20 if self.limit_seconds is None else 1,
            warm_start=True,
            function_set=("add", "sub", "mul", "div", "sqrt", "log", "max", "min"),
            metric="rmse",
            parsimony_coefficient=0.001,
            random_state=self.random_seed,
            n_jobs=1,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on attributes of newer scikit-learn versions
            began = time.monotonic()
            program = search.fit(table, logs)
            # A warm start per generation, because gplearn has no time limit.
            while self.limit_seconds is not None and time.monotonic() - began < self.limit_seconds:
                search.set_params(generations=search.generations + 1)
                search.fit(table, logs)
        return program


class Pyoperon(_Engine):
    """Operon: 1,000 programs, trees of at most 40 nodes, 200,000 evaluations, one thread.

    Burlacu, Kronberger, Kommenda, "Operon C++: an efficient genetic programming framework for symbolic
    regression", GECCO 2020. Its time limit is in whole seconds.
    """

    module = "pyoperon.sklearn"

    def _searched(self, table: np.ndarray, logs: np.ndarray) -> Any:
        budget = {"max_evaluations": 200_000, "generations": 1000}
        if self.limit_seconds is not None:
            budget = {"max_evaluations": 10**9, "generations": 10**6, "max_time": round(self.limit_seconds)}
        search = self._package.SymbolicRegressor(
            allowed_symbols="add,sub,mul,div,constant,variable,sqrt,log,fmax",
            population_size=1000,
            max_length=40,
            optimizer_iterations=5,
            n_threads=1,
            random_state=self.random_seed,
            **budget,
        )
        return search.fit(table, logs)
