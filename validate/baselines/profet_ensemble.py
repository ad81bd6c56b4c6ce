"""PROFET's ensemble: the median of a line through the anchor's times, a forest and a network on its profile.

Lee et al., "PROFET: profiling-based CNN training latency prophet for GPU cloud instances", IEEE BigData 2022;
sizes as in the authors' public code. The network is scikit-learn's instead of Keras', on standardised
columns, with the squared error of the relative time instead of the sum of relative and squared error.
"""

import warnings
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import optional_package
from trainlaw.validate.baselines.anchor_line import AnchorLine
from trainlaw.validate.baselines.anchor_ratio import ANCHOR_TIME
from trainlaw.validate.baselines.inputs import columns
from trainlaw.validate.baselines.operation_groups import grouped_profile


class ProfetEnsemble:
    """Median of three legs: `AnchorLine`; a forest of 100 trees; a perceptron of 128, 64, 32 and 16 units.

    random_seed : of trees and starting weights.
    """

    def __init__(self, random_seed: int = 0) -> None:
        """Keep the settings; MissingDependencyError without scikit-learn."""
        self.random_seed = random_seed
        self._trees = optional_package("sklearn.ensemble", "sklearn")
        self._networks = optional_package("sklearn.neural_network", "sklearn")
        self._threads = optional_package("threadpoolctl", "sklearn")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit the legs to seconds `y`, shape (n_runs,); `groups` are not used."""
        y, profile = np.asarray(y, dtype=float), grouped_profile(X)
        self.line_ = AnchorLine().fit(X, y, groups)
        self.forest_ = self._trees.RandomForestRegressor(random_state=self.random_seed).fit(profile, y)
        logs = _logarithms(profile)
        self.centre_, self.width_ = logs.mean(axis=0), logs.std(axis=0)
        self.width_[self.width_ < 1e-9] = np.inf
        ratio = np.log(y / columns(X, [ANCHOR_TIME], "PROFET's ensemble")[:, 0])
        network = self._networks.MLPRegressor(
            hidden_layer_sizes=(128, 64, 32, 16),
            batch_size=16,
            max_iter=200,
            n_iter_no_change=5,
            random_state=self.random_seed,
        )
        with warnings.catch_warnings(), self._threads.threadpool_limits(1):
            # The source, too, stops after 200 epochs, converged or not.
            warnings.simplefilter("ignore")
            self.network_ = network.fit((logs - self.centre_) / self.width_, ratio)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        profile = grouped_profile(X)
        scaled = (_logarithms(profile) - self.centre_) / self.width_
        with self._threads.threadpool_limits(1):
            ratio = self.network_.predict(scaled)
        network = np.exp(ratio) * columns(X, [ANCHOR_TIME], "PROFET's ensemble")[:, 0]
        return np.median([self.line_.predict(X), self.forest_.predict(profile), network], axis=0)


def _logarithms(profile: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(profile, 1e-7))
