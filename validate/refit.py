"""A formula with its constants refitted: its form transfers to new rows, its numbers need not."""

from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.formula_rows import CnnLayers, FormulaRows, feature_rows
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import Expression, constants, with_constants
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.validate.baselines.inputs import check_columns, group_weights
from trainlaw.validate.least_squares import robust_least_squares, with_numeric_slopes

# Of ln(constant): a factor of e costs as much as one residual of 1; many rows outweigh it.
_PRIOR_DEVIATION = 1.0


class GivenFormula:
    """An estimator that predicts by a formula as it is.

    formula : kept without its errors and provenance. cnn_layers : layers of the CNNs in the table, for a
    formula of one layer; None if a row is a run.
    """

    def __init__(self, formula: Formula, cnn_layers: CnnLayers | None = None) -> None:
        """Store the formula and the layers."""
        self.formula_ = self.formula = replace(formula, provenance={}, errors={})
        self.cnn_layers = cnn_layers

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit nothing."""
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); X has the formula's features among its columns."""
        return self._rows(X).predict(self.formula_)

    def _rows(self, X: pd.DataFrame) -> FormulaRows:
        """Return the rows of the formula; X : features of runs."""
        names = [spec.name for spec in self.formula.used_features]
        check_columns(X, names if self.cnn_layers is None else [], "formula")
        return feature_rows(X, names, self.cnn_layers)


class RefittedFormula(GivenFormula):
    """An estimator with the form of a formula: each constant times a factor fitted to the training rows.

    Signs and zeros of constants stay. Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU
    group)^-0.35, log-normal prior around the given constants: with few rows they hardly move. Arguments as
    for `GivenFormula`.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `formula_` to seconds `y`, shape (n_runs,); `groups` give the weights."""
        start = np.array(constants(self.formula.expression), dtype=float)
        rows = self._rows(X)
        log_seconds, weights = np.log(y), group_weights(groups)

        def values(logs: np.ndarray) -> np.ndarray:
            refitted = with_constants(self.formula.expression, (start * np.exp(logs)).tolist())
            return np.asarray(weights * (_log_seconds(refitted, rows) - log_seconds))

        with np.errstate(all="ignore"):
            if not np.isfinite(values(np.zeros(len(start)))).all():
                raise InputError("the formula has no finite, positive time for a training row")
            # Numeric slopes: a formula has few constants, and may contain any operator.
            fitted = robust_least_squares(
                with_numeric_slopes(values),
                np.zeros(len(start)),
                soft_l1_scale=0.25,
                deviation=_PRIOR_DEVIATION,
                max_steps=60,
                tolerance=1e-6,
            )
        expression = with_constants(self.formula.expression, (start * np.exp(fitted.parameters)).tolist())
        self.formula_ = replace(self.formula, expression=expression)
        return self

    def log_slopes(self, X: pd.DataFrame) -> np.ndarray:
        """Return d ln(seconds) / d ln(constant) of the fitted formula, shape (n_runs, n_constants).

        X : as for `predict`. nan where the formula has no positive time.
        """
        fitted = np.array(constants(self.formula_.expression), dtype=float)
        rows = self._rows(X)

        def log_seconds(logs: np.ndarray) -> np.ndarray:
            return _log_seconds(
                with_constants(self.formula_.expression, (fitted * np.exp(logs)).tolist()), rows
            )

        with np.errstate(all="ignore"):
            slopes = with_numeric_slopes(log_seconds)(np.zeros(len(fitted)))[1]
        return np.column_stack([rows.per_run(column) for column in slopes.T])


def _log_seconds(expression: Expression, rows: FormulaRows) -> np.ndarray:
    """Return ln of the time of each run, nan where it is not positive, shape (n_runs,)."""
    found, valid = evaluate(expression, rows.columns)
    predicted = np.where(valid, found, np.nan)
    if rows.sums is not None:
        predicted = rows.sums.apply(predicted)
    return np.log(np.where(predicted > 0, predicted, np.nan))
