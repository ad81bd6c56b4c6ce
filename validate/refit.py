"""One and the same formula with its constants fitted anew: what transfers is its form, not its numbers."""

from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.evaluation import evaluate
from trainlaw.formulas.expression import constants, with_constants
from trainlaw.formulas.formula import Formula
from trainlaw.validate.baselines.inputs import columns, group_weights
from trainlaw.validate.least_squares import Prior, robust_least_squares, with_numeric_slopes

# Of ln(constant): a factor of e either way costs as much as a residual of one; enough rows overrule it.
_PRIOR_DEVIATION = 1.0


class RefittedFormula:
    """An estimator with the form of `formula`: each constant times a factor that the training rows decide.

    Signs and zeros of constants stay. Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU
    group)^-0.35, log-normal prior around the given constants: with few rows they hardly move.
    """

    def __init__(self, formula: Formula) -> None:
        """Keep the formula, without the errors and the provenance that it carries."""
        self.formula = replace(formula, errors={}, provenance={})

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `formula_` to seconds `y`, shape (n_runs,); `groups` give the weights."""
        start = np.array(constants(self.formula.expression), dtype=float)
        table, log_seconds, weights = self._columns(X), np.log(y), group_weights(groups)

        def values(logs: np.ndarray) -> np.ndarray:
            predicted, valid = evaluate(with_constants(self.formula.expression, start * np.exp(logs)), table)
            return np.where(valid & (predicted > 0), weights * (np.log(predicted) - log_seconds), np.nan)

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

    def _columns(self, X: pd.DataFrame) -> dict[str, np.ndarray]:
        names = [spec.name for spec in self.formula.used_features]
        return dict(zip(names, columns(X, names, "formula").T, strict=True))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self.formula_.predict(self._columns(X))
