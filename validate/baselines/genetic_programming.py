"""gplearn's symbolic regressor, as a peer. Stephens, gplearn 0.4, https://gplearn.readthedocs.io."""

import time
import warnings
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.peers import peer_table


class GeneticProgramming:
    """gplearn on ln(seconds): 1,000 programs, 20 generations, add, sub, mul, div, sqrt, log, max, min.

    random_seed : of the search. limit_seconds : generations until then instead of 20.
    MissingDependencyError without gplearn (`pip install 'trainlaw[peers]'`).
    """

    def __init__(self, random_seed: int = 0, limit_seconds: float | None = None) -> None:
        """Keep the settings."""
        self.random_seed = random_seed
        self.limit_seconds = limit_seconds
        self._genetic = optional_package("gplearn.genetic", "peers")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,); `groups` are not used."""
        search = self._genetic.SymbolicRegressor(
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
            warnings.simplefilter("ignore")  # about attributes of newer scikit-learn versions
            began = time.monotonic()
            self.program_ = search.fit(peer_table(X, "gplearn"), np.log(y))
            while self.limit_seconds is not None and time.monotonic() - began < self.limit_seconds:
                search.set_params(generations=search.generations + 1)
                search.fit(peer_table(X, "gplearn"), np.log(y))
        self.range_ = (float(np.log(y).min()) - 3.0, float(np.log(y).max()) + 3.0)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, (n_runs,); at most e^3 beyond the times of training, so that none overflows."""
        return np.exp(np.clip(self.program_.predict(peer_table(X, "gplearn")), *self.range_))
