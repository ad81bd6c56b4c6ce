"""Measured times of single layers."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
from trainlaw.datasets.features.feature import feature_block
from trainlaw.datasets.features.layer_features import LAYER_COLUMNS, LAYER_FEATURES, LAYER_NUMBERS
from trainlaw.datasets.tables.gpu_columns import GpuColumns
from trainlaw.datasets.tables.measured_table import MeasuredTable

LAYER_LABELS = ("gpu_group", "gpu", "generation", "kind", "phase", "source")


@dataclass(frozen=True, eq=False)
class LayerTable(MeasuredTable):
    """One row per measured layer, in the columns of the layers schema; `time_s` of the phase, in seconds."""

    def features(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """Return layer features (None: all), float64, shape (n_layers, k), units as in `LAYER_FEATURES`.

        Raises UnknownNameError for an unknown feature.
        """
        return feature_block(LAYER_FEATURES, self._columns(), self._rows.index, names)

    def labels(self) -> pd.DataFrame:
        """Return what groups of layers are made by, as text columns `LAYER_LABELS`."""
        columns = self._columns()
        return pd.DataFrame({name: columns.texts(name) for name in LAYER_LABELS}, dtype=object)

    def _columns(self) -> GpuColumns:
        return GpuColumns(self._rows, self.facts.gpus, LAYER_NUMBERS, LAYER_COLUMNS)
