"""pyoperon's symbolic regressor, as a peer.

Burlacu, Kronberger, Kommenda, "Operon C++: an efficient genetic programming framework for symbolic
regression", GECCO 2020.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.peers import peer_table


class Operon:
    """Operon on ln(seconds): 1,000 programs, trees of at most 40 nodes, a budget of evaluations, one thread.

    random_seed : of the search. limit_seconds : budget instead of the 200,000 evaluations, in whole
    seconds. MissingDependencyError without pyoperon (`pip install 'trainlaw[peers]'`).
    """

    def __init__(self, random_seed: int = 0, limit_seconds: float | None = None) -> None:
        """Keep the settings."""
        self.random_seed = random_seed
        self.limit_seconds = limit_seconds
        self._operon = optional_package("pyoperon.sklearn", "peers")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,); `groups` are not used."""
        budget = {"max_evaluations": 200_000, "generations": 1000}
        if self.limit_seconds is not None:
            budget = {"max_evaluations": 10**9, "generations": 10**6, "max_time": round(self.limit_seconds)}
        search = self._operon.SymbolicRegressor(
            allowed_symbols="add,sub,mul,div,constant,variable,sqrt,log,fmax",
            population_size=1000,
            max_length=40,
            optimizer_iterations=5,
            n_threads=1,
            random_state=self.random_seed,
            **budget,
        )
        # C-ordered single precision, as its evaluator wants; otherwise it copies at each call.
        self.model_ = search.fit(np.ascontiguousarray(peer_table(X, "pyoperon")), np.log(y))
        self.range_ = (float(np.log(y).min()) - 3.0, float(np.log(y).max()) + 3.0)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, (n_runs,); at most e^3 beyond the times of training, so that none overflows."""
        logs = np.asarray(self.model_.predict(np.ascontiguousarray(peer_table(X, "pyoperon"))), dtype=float)
        return np.exp(np.clip(logs.reshape(len(X)), *self.range_))
