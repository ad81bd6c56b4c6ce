"""The protocol of an estimator: any object with `fit` and `predict`.

A study needs only these two methods of scikit-learn, so that any model can be compared with an evolved
formula under the same splits.
"""

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
import pandas as pd


class Estimator(Protocol):
    """An estimator of seconds from features.

    Attributes
    ----------
    division_columns : tuple of str, optional
        Names of any labels; `fit` then receives the keyword `divisions`, a DataFrame of those of the training
        rows that the table has, to hold out groups of them in turn. `predict` never receives them.
    formula_ : Formula, optional
        The fitted formula, which a study keeps per fold.
    interrupted_ : bool, optional
        True if the user interrupted the fit.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to training rows and return self.

        X : numeric features, shape (n_runs, n_features). y : measured times, seconds, (n_runs,). groups :
        GPU group of each run, for weights and inner splits; not available to `predict`.
        """
        ...

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); not finite or not positive where there is no prediction."""
        ...


#: Returns a new, unfitted estimator; it must be importable by name (a class, a module-level function, a
#: `functools.partial` of these) if a study runs in several processes.
EstimatorFactory = Callable[[], Estimator]
