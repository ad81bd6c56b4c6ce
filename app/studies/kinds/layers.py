"""Formulas of one layer, found from whole iterations: each is the sum over the layers of its CNN.

    time = sum of (weights x work) x factors + copy

Work of a run is the sum of that of its layers, and so is this time: what is fitted to runs holds for a layer.
A maximum of device and host would not sum.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.kinds.kind import StudyRows
from trainlaw.app.studies.kinds.whole_runs import OF_RUNS, rows_of_runs
from trainlaw.app.studies.search import first_only
from trainlaw.app.studies.skeleton import RUN_SKELETON, Skeleton, SkeletonSearch
from trainlaw.datasets import CNN_LAYER_FEATURES, RunTable, feature_specs
from trainlaw.datasets.measurements.formula_rows import CnnLayers, feature_rows
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula, InputError, ParetoFront, ScoredFormula
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import LAYER

LAYER_SKELETON = replace(
    RUN_SKELETON, template=parse_text(" + ".join(bracket.hole for bracket in RUN_SKELETON.brackets))
)


class LayerSearch(SkeletonSearch):
    """Evolves a formula of one layer from times of whole runs.

    cnn_layers : the layers of the CNNs, found by the counts of each.
    """

    def __init__(
        self, cnn_layers: CnnLayers, settings: SearchSettings, skeleton: Skeleton = LAYER_SKELETON
    ) -> None:
        """Keep what the search is made of."""
        super().__init__(settings, skeleton)
        self.cnn_layers = cnn_layers

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None = None
    ) -> Self:
        """Search; arguments as of `SkeletonSearch.fit`."""
        super().fit(X, y, groups, divisions)
        columns = feature_rows(X, self.skeleton.names, self.cnn_layers).columns
        ranges = {name: (float(values.min()), float(values.max())) for name, values in columns.items()}
        self.formula_ = _of_layer(self.formula_, ranges)
        self.front_ = ParetoFront(
            tuple(
                ScoredFormula(
                    _of_layer(member.formula, ranges), member.loss, member.complexity, member.validation_loss
                )
                for member in self.front_
            )
        )
        return self


def _of_layer(formula: Formula, ranges: Mapping[str, tuple[float, float]]) -> Formula:
    names = [spec.name for spec in formula.features]
    return replace(
        formula,
        scope=LAYER,
        features=feature_specs(names, CNN_LAYER_FEATURES),
        ranges={name: ranges[name] for name in names},
    )


def _rows(table: RunTable) -> StudyRows:
    return replace(rows_of_runs(table), cnn_layers=CnnLayers.of(table))


def _search(
    rows: StudyRows, settings: SearchSettings, skeleton: Skeleton = LAYER_SKELETON
) -> "partial[LayerSearch]":
    if rows.cnn_layers is None:
        raise InputError("a study of layers needs the layers of each CNN")
    return partial(LayerSearch, rows.cnn_layers, settings, skeleton)


def _fitted(rows: StudyRows, settings: SearchSettings) -> "partial[LayerSearch]":
    return _search(rows, first_only(settings), LAYER_SKELETON.required_only())


# Layers differ by far more than runs do, so that a joint range of them would exclude nothing.
OF_LAYERS = replace(
    OF_RUNS,
    name="layers",
    scope=LAYER,
    title="layers, summed over each CNN",
    rows=_rows,
    features=LAYER_SKELETON.names,
    search=_search,
    no_search=_fitted,
    defaults={**OF_RUNS.defaults, "table": "fp32-2026"},
    is_proved=False,
    has_levels=False,
    has_joint_range=False,
    platform_baselines=(),
    fits=None,
    otherwise="",
)
