"""One and the same formula with its constants fitted anew: what transfers is its form, not its numbers."""

from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.formula_rows import CnnLayers, FormulaRows, feature_rows
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.evaluation import evaluate
from trainlaw.formulas.expression import Expression, constants, with_constants
from trainlaw.formulas.formula import Formula
from trainlaw.validate.baselines.inputs import check_columns, group_weights
from trainlaw.validate.least_squares import Prior, robust_least_squares, with_numeric_slopes

# Of ln(constant): a factor of e either way costs as much as a residual of one; enough rows overrule it.
_PRIOR_DEVIATION = 1.0


class RefittedFormula:
    """An estimator with the form of `formula`: each constant times a factor that the training rows decide.

    Signs and zeros of constants stay. Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU
    group)^-0.35, log-normal prior around the given constants: with few rows they hardly move.
    """

    def __init__(self, formula: Formula, cnn_layers: CnnLayers | None = None) -> None:
        """Keep the formula, without the errors and the provenance that it carries.

        cnn_layers : of the CNNs in the table, for a formula of one layer; None where a row is a run.
        """
        self.formula = replace(formula, errors={}, provenance={})
        self.cnn_layers = cnn_layers

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `formula_` to seconds `y`, shape (n_runs,); `groups` give the weights."""
        start = np.array(constants(self.formula.expression), dtype=float)
        rows = self._rows(X)
        log_seconds, weights = np.log(y), group_weights(groups)

        def values(logs: np.ndarray) -> np.ndarray:
            law = with_constants(self.formula.expression, start * np.exp(logs))
            return weights * (_log_seconds(law, rows) - log_seconds)

        with np.errstate(all="ignore"):
            if not np.isfinite(values(np.zeros(len(start)))).all():
                raise InputError("the formula has no finite, positive time for a training row")
            prior = Prior(np.zeros(len(start)), np.full(len(start), _PRIOR_DEVIATION))
            fitted = robust_least_squares(
                with_numeric_slopes(values),
                np.zeros(len(start)),
                soft_l1_scale=0.25,
                prior=prior,
                max_steps=60,
                tolerance=1e-6,
            )
        expression = with_constants(self.formula.expression, start * np.exp(fitted.parameters))
        self.formula_ = replace(self.formula, expression=expression)
        return self

    def log_slopes(self, X: pd.DataFrame) -> np.ndarray:
        """Return d ln(seconds) / d ln(constant) of the fitted formula, shape (n_runs, n_constants).

        X : as for `predict`. nan where the formula has no positive time.
        """
        fitted = np.array(constants(self.formula_.expression), dtype=float)
        rows = self._rows(X)

        def log_seconds(logs: np.ndarray) -> np.ndarray:
            return _log_seconds(with_constants(self.formula_.expression, fitted * np.exp(logs)), rows)

        with np.errstate(all="ignore"):
            slopes = with_numeric_slopes(log_seconds)(np.zeros(len(fitted)))[1]
        return np.column_stack([rows.per_run(column) for column in slopes.T])

    def _rows(self, X: pd.DataFrame) -> FormulaRows:
        """The rows of the formula; X : features of runs."""
        names = [spec.name for spec in self.formula.used_features]
        check_columns(X, names if self.cnn_layers is None else [], "formula")
        return feature_rows(X, names, self.cnn_layers)

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self._rows(X).predict(self.formula_)


def _log_seconds(law: Expression, rows: FormulaRows) -> np.ndarray:
    """ln of the time of each run, nan where it is not positive."""
    found, valid = evaluate(law, rows.columns)
    predicted = np.where(valid, found, np.nan)
    if rows.sums is not None:
        predicted = rows.sums.apply(predicted)
    return np.log(np.where(predicted > 0, predicted, np.nan))
