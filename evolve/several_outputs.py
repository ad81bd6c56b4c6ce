"""Several targets of the same rows: one search each, one estimator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.regressor import FormulaRegressor
from trainlaw.evolve.sklearn_contract import generic_features, not_fitted
from trainlaw.formulas import FeatureSpec, InputError
from trainlaw.formulas.errors import optional_package


class FormulaRegressors:
    """One formula per column of the target, each from a search with the same arguments.

    Parameters
    ----------
    regressor : FormulaRegressor
        What is fitted to each column; it stays as it is.
    targets : sequence of FeatureSpec, optional
        Specs of the columns of `Y`; None takes the names of a data frame, or y0, y1, and so on.

    Attributes
    ----------
    estimators_ : list of FormulaRegressor
        The fitted estimator of each column.

    Examples
    --------
    >>> X = np.linspace(1.0, 2.0, 60).reshape(30, 2)
    >>> Y = np.column_stack([2 * X[:, 0], X[:, 0] * X[:, 1]])
    >>> both = FormulaRegressors(FormulaRegressor(evaluations=500)).fit(X, Y)
    >>> both.predict(X).shape
    (30, 2)
    """

    def __init__(self, regressor: FormulaRegressor, targets: Sequence[FeatureSpec] | None = None) -> None:
        """Store the arguments."""
        self.regressor, self.targets = regressor, targets

    def fit(self, X: ArrayLike, Y: ArrayLike, **arguments: Any) -> "FormulaRegressors":
        """Search for a formula of each target and return the estimator itself.

        X : features in their units, (n_rows, n_features). Y : a column per target, in its unit,
        (n_observations, n_targets). arguments : further ones of `FormulaRegressor.fit`, the same for all.
        Raises InputError if `Y` is no table, or has another number of columns than there are targets.
        """
        table = np.asarray(Y)
        if table.ndim != 2 or table.shape[1] != len(self.targets or table.T):
            wanted = len(self.targets) if self.targets else "several"
            raise InputError(f"expected a table of {wanted} targets, got shape {table.shape}")
        kind, shared = type(self.regressor), self.regressor.get_params()
        specs = self.targets or generic_features(Y, table.shape[1], "y")
        self.estimators_ = [
            kind(**{**shared, "target": spec}).fit(X, column, **arguments)
            for spec, column in zip(specs, table.T, strict=True)
        ]
        return self

    def predict(self, X: ArrayLike, **arguments: Any) -> NDArray[np.float64]:
        """Return every target in its unit, (n_observations, n_targets), nan where its formula is not valid.

        X : features in their units, (n_rows, n_features). arguments : further ones of
        `FormulaRegressor.predict`, the same for all. Raises InputError if `fit` was not called.
        """
        return np.column_stack([one.predict(X, **arguments) for one in self._fitted()])

    @property
    def equations_(self) -> Any:
        """The fronts of all targets as one data frame, with the column target; needs pandas."""
        fronts = {one.target_.name: one.equations_ for one in self._fitted()}
        joint = optional_package("pandas", "data").concat(fronts, names=["target", None])
        return joint.reset_index("target").reset_index(drop=True)

    def _fitted(self) -> list[FormulaRegressor]:
        if not hasattr(self, "estimators_"):
            raise not_fitted(self)
        return self.estimators_
