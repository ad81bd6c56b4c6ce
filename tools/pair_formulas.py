"""The search for the formula of one pair of GPUs, whose architectures were profiled on both."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.kinds.anchor import without_vanishing_terms
from trainlaw.app.studies.search import SearchReporter, predicted_seconds
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.datasets.features.pair_features import ANCHOR_TIME, OPERATION_FEATURES, PAIR_FEATURES
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import (
    Apply,
    Expression,
    Formula,
    ParetoFront,
    ScoredFormula,
    complexity,
    parse_text,
    variables,
)
from trainlaw.formulas.scopes import GPU_PAIR

from tools.nonnegative import nonnegative_least_squares

OVERHEAD = "iteration_overhead_s"
#: Features of the two formulas of a pair.
ALONE = (*OPERATION_FEATURES, ANCHOR_TIME, OVERHEAD)
WITH_CNN = (
    *OPERATION_FEATURES,
    "unprofiled_s",
    "conv3x3_compute_s",
    "conv1x1_compute_s",
    "conv_other_compute_s",
    "im2col_compute_s",
    "conv_weight_compute_s",
    "conv_output_memory_s",
    "depthwise_output_memory_s",
    "batchnorm_memory_s",
    "parameter_memory_s",
    "layer_launch_s",
    OVERHEAD,
)
PAIR_FORMULA_FEATURES = tuple(dict.fromkeys((*ALONE, *WITH_CNN)))


# Sums and maxima of non-negative terms: with 14 architectures to learn from, freer forms have larger errors.
def _pair_settings(settings: SearchSettings) -> SearchSettings:
    return replace(
        settings,
        operators=("add", "max"),
        loss="absolute_percentage",
        choice="loss",
        group_weight_power=0.0,
        islands=1,
        population=50,
        max_constants=30,
        polish_steps=40,
    )


class ProfileSearch:
    """Evolves a formula of one pair of GPUs; `evaluations` are tried for each of its two parts.

    with_cnn : take the mean with a formula that also uses the CNN; else operations alone. After `fit`:
    `formula_`, and `front_` of it alone.
    """

    def __init__(self, settings: SearchSettings, with_cnn: bool = True) -> None:
        """Keep the settings; only evaluations, seed and threads of them count."""
        self.settings = _pair_settings(settings)
        self.feature_sets = (ALONE, WITH_CNN) if with_cnn else (ALONE,)

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search; X : features of a pair, (n_rows, k). y : seconds on the target, (n_rows,)."""
        parts = [self._evolved(names, X, np.asarray(y, dtype=float)) for names in self.feature_sets]
        expressions = [without_vanishing_terms(part.formula_.expression) for part in parts]
        whole = expressions[0]
        if len(expressions) == 2:
            whole = Apply("sqrt", (Apply("mul", tuple(expressions)),))
        used = set(variables(whole))
        names = tuple(name for name in PAIR_FORMULA_FEATURES if name in used)
        ranges = {name: (float(X[name].min()), float(X[name].max())) for name in names}
        loss = float(np.mean([part.formula_.provenance["training_loss"] for part in parts]))
        self.formula_ = Formula(
            whole,
            feature_specs(names, PAIR_FEATURES),
            TARGET,
            ranges=ranges,
            provenance={"training_loss": loss},
            scope=GPU_PAIR,
        )
        self.front_ = ParetoFront.of([ScoredFormula(self.formula_, loss, complexity(whole))])
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_rows,)."""
        return predicted_seconds(self.formula_, X)

    def _evolved(self, names: tuple[str, ...], X: pd.DataFrame, y: np.ndarray) -> FormulaRegressor:
        # A column of zeros cannot have a constant.
        names = tuple(name for name in names if X[name].any())
        settings = replace(self.settings, seeds=(nonnegative_sum(X, y, names),))
        search = FormulaRegressor(feature_specs(names, PAIR_FEATURES), TARGET, settings, SearchReporter())
        # One group: the architecture of a row carries no information about the next.
        return search.fit(X[list(names)], y, np.zeros(len(y), dtype=int))


def nonnegative_sum(X: pd.DataFrame, y: np.ndarray, names: Sequence[str]) -> Expression:
    """Return the sum of features with constants >= 0 that comes closest to `y` in absolute relative error.

    X : features (n_rows, k). y : seconds, (n_rows,). Least squares with weights 1 / sqrt(1 + (e / 0.1)^2) of
    the errors e before, 15 times (Holland and Welsch, 1977).
    """
    relative = X[list(names)].to_numpy(dtype=float) / y[:, None]
    weights, constants = np.ones(len(y)), np.zeros(len(names))
    for _ in range(15):
        root = np.sqrt(weights)
        constants = nonnegative_least_squares(relative * root[:, None], root)
        weights = 1.0 / np.sqrt(1.0 + ((relative @ constants - 1.0) / 0.1) ** 2)
    terms = [f"{value:.9g} * {name}" for value, name in zip(constants, names, strict=True) if value > 0]
    return parse_text(" + ".join(terms))
