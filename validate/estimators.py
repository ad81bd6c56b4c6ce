"""What an estimator is: any object with `fit` and `predict`.

A study asks nothing more of a peer's model than scikit-learn's two methods, so that every method of the field
can stand beside the evolved formula, under the same splits.
"""

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
import pandas as pd

#: Labels that an estimator may ask for by an attribute `label_columns`, for constants per harness.
#: They say how a run was done and timed, never which GPU or CNN it was.
SHAREABLE_LABELS = ("harness", "framework", "precision", "algorithm")


class Estimator(Protocol):
    """An estimator of seconds from features.

    Optional attributes that a study understands: `label_columns`, a tuple of names among `SHAREABLE_LABELS`
    (then `fit` and `predict` receive the keyword `labels`, a DataFrame of these string columns); `formula_`,
    the fitted `trainlaw.formulas.Formula`, kept per fold; `interrupted_`, true where a fit was cut short by
    the user.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit to `X`, numeric features, shape (n_runs, n_features), and `y`, seconds, shape (n_runs,).

        `groups` are the labels, shape (n_runs,), whose transfer counts (GPU groups); they are for weights and
        for inner splits and are not available to `predict`.
        """
        ...

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); not finite or not positive where the estimator has no answer."""
        ...


#: Makes a new, unfitted estimator; importable by name (a class, a function of a module, a `functools.partial`
#: of these) where a study runs in several processes.
EstimatorFactory = Callable[[], Estimator]
