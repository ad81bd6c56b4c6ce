"""Formulas of one layer, found from whole iterations: each is the sum over the layers of its CNN.

    time = sum of (weights x work) x factors + copy

Work of a run is the sum of that of its layers, and so is this time: what is fitted to runs holds for a layer.
A maximum of device and host would not sum.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from trainlaw.app.inputs.run_tables import find_table
from trainlaw.app.studies.kinds.kind import StudyKind, StudyRows, fitted_by
from trainlaw.app.studies.kinds.whole_runs import OF_RUNS, rows_of_runs
from trainlaw.app.studies.skeleton import RUN_SKELETON, LawFit, Skeleton
from trainlaw.datasets import CNN_LAYER_FEATURES, RunTable, feature_specs
from trainlaw.datasets.measurements.formula_rows import CnnLayers, feature_rows
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import LAYER

LAYER_SKELETON = replace(
    RUN_SKELETON,
    template=parse_text(" + ".join(bracket.hole for bracket in RUN_SKELETON.brackets)),
    scope=LAYER,
    floor="",
    after="",
    given=(),
)


class LayerFit(LawFit):
    """Fits the law of one layer to times of whole runs.

    cnn_layers : the layers of the CNNs, found by the counts of each.
    """

    def __init__(self, cnn_layers: CnnLayers, skeleton: Skeleton = LAYER_SKELETON) -> None:
        """Keep layers and skeleton."""
        super().__init__(skeleton)
        self.cnn_layers = cnn_layers

    def completed(self, formula: Formula, X: pd.DataFrame, y: np.ndarray) -> Formula:
        """Return a formula of runs as one of layers; arguments as of `LawFit.fit`."""
        names = [spec.name for spec in formula.features]
        columns = feature_rows(X, names, self.cnn_layers).columns
        return replace(
            formula,
            features=feature_specs(names, CNN_LAYER_FEATURES),
            ranges={name: (float(values.min()), float(values.max())) for name, values in columns.items()},
        )


def _rows(table: RunTable) -> StudyRows:
    return replace(rows_of_runs(table), cnn_layers=CnnLayers.of(table))


def _law(rows: StudyRows) -> "partial[LayerFit]":
    if rows.cnn_layers is None:
        raise InputError("a study of layers needs the layers of each CNN")
    return partial(LayerFit, rows.cnn_layers)


# Layers differ by far more than runs do, so that a joint range of them would exclude nothing.
OF_LAYERS = StudyKind(
    **fitted_by(LAYER_SKELETON, _law),
    name="layers",
    title="layers, summed over each CNN",
    read=find_table,
    rows=_rows,
    baselines=OF_RUNS.baselines,
    defaults={**OF_RUNS.defaults, "table": "fp32-2026"},
    has_joint_range=False,
)
