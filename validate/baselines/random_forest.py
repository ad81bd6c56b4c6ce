"""Random forest on every feature, log target. Breiman, "Random forests", Machine Learning 45, 2001."""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import optional_package


class RandomForest:
    """scikit-learn's forest at its default settings (100 trees), on ln(seconds).

    random_seed : of the trees.
    """

    def __init__(self, random_seed: int = 0) -> None:
        """Keep the settings; MissingDependencyError without scikit-learn."""
        self.random_seed = random_seed
        self._ensemble = optional_package("sklearn.ensemble", "sklearn")

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to seconds `y`, shape (n_runs,); `groups` are not used."""
        forest = self._ensemble.RandomForestRegressor(random_state=self.random_seed)
        self.forest_ = forest.fit(X.to_numpy(dtype=float), np.log(y))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.exp(self.forest_.predict(X.to_numpy(dtype=float)))
