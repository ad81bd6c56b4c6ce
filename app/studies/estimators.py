"""Estimators that evolve or fit a formula: what the fits of a study have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.formula_rows import CnnLayers, feature_rows
from trainlaw.evolve import FormulaRegressor, Progress, SearchSettings
from trainlaw.formulas import FeatureSpec, Formula, ScoredFormula
from trainlaw.formulas.scopes import RUN
from trainlaw.validate.workers import given_up


def end_if_given_up(progress: Progress) -> None:
    """End a search, as its progress callback, where nobody on a cluster waits for it any more."""
    if given_up():
        raise KeyboardInterrupt


def evolved(
    features: tuple[FeatureSpec, ...], target: FeatureSpec, settings: SearchSettings, scope: str = RUN
) -> FormulaRegressor:
    """Return the estimator that evolves a formula of `target` in `features`; scope : what it models."""
    return FormulaRegressor(features, target, settings, end_if_given_up, scope=scope)


class FormulaFit(ABC):
    """An estimator of a formula; `fit` of a subclass sets `formula_`, perhaps `front_`."""

    cnn_layers: CnnLayers | None = None  # for formulas of one layer
    formula_: Formula
    front_: Iterable[ScoredFormula] = ()

    @abstractmethod
    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit or search; X : features, (n_rows, k). y, seconds, and groups : (n_rows,)."""

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_rows,); nan for a CNN whose layers are not known."""
        names = [spec.name for spec in self.formula_.used_features]
        return feature_rows(X, names, self.cnn_layers).predict(self.formula_)
