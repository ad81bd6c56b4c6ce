"""Formulas of one layer, found from whole iterations: each is the sum over the layers of its CNN."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from trainlaw.app.studies.kinds.kind import StudyRows
from trainlaw.app.studies.kinds.whole_runs import OF_FREE_RUNS, rows_of_runs
from trainlaw.app.studies.search import LayerSearch
from trainlaw.datasets import RunTable
from trainlaw.datasets.features.cnn_layer_features import LAYER_STUDY_FEATURES
from trainlaw.datasets.measurements.formula_rows import CnnLayers
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import InputError
from trainlaw.formulas.scopes import LAYER


def _rows(table: RunTable) -> StudyRows:
    return replace(rows_of_runs(table), cnn_layers=CnnLayers.of(table))


def _search(rows: StudyRows, settings: SearchSettings) -> Callable[[], LayerSearch]:
    if rows.cnn_layers is None:
        raise InputError("a study of layers needs the layers of each CNN")
    return partial(LayerSearch, rows.cnn_layers, LAYER_STUDY_FEATURES, settings)


# Layers differ by far more than runs do, so that a joint range of them would exclude nothing.
OF_LAYERS = replace(
    OF_FREE_RUNS,
    name="layers",
    scope=LAYER,
    title="layers, summed over each CNN",
    rows=_rows,
    features=LAYER_STUDY_FEATURES,
    search=_search,
    has_levels=False,
    has_joint_range=False,
    platform_baselines=(),
)
