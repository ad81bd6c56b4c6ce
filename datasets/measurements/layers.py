"""Measured layers: the layers schema, and the table of times of single convolutions and dense layers."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
from trainlaw.datasets.features.feature import feature_block
from trainlaw.datasets.features.layer_features import LAYER_FEATURES, LAYER_NUMBERS, LAYER_RULES
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.tables.joins import GpuJoin
from trainlaw.datasets.tables.measured_table import MeasuredTable

LAYER_COLUMNS = shipped_schema("layers")
LAYER_LABELS = ("gpu_group", "gpu", "generation", "kind", "phase", "source")


@dataclass(frozen=True, eq=False)
class LayerTable(MeasuredTable):
    """One row per measured layer, in the layers schema; `time_s` of the phase, in seconds.

    Attributes
    ----------
    name : str
        Name of the table, for messages and provenance.
    _rows : DataFrame
        The rows, never changed; `frame` gives a copy.
    facts : Facts
        Specifications of the GPUs, links and CNNs that the rows name.
    """

    def features(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """Return features (None: all), float64, shape (n_layers, k), in the units of `LAYER_FEATURES`.

        Raises UnknownNameError for an unknown feature.
        """
        columns = GpuJoin(self._rows, self.facts.gpus).makers(LAYER_NUMBERS, LAYER_RULES)
        return feature_block(LAYER_FEATURES, columns, self._rows.index, names)

    def labels(self) -> pd.DataFrame:
        """Return the labels that layers are grouped by, as text columns `LAYER_LABELS`."""
        joined = GpuJoin(self._rows, self.facts.gpus)
        return pd.DataFrame({name: joined.texts(name) for name in LAYER_LABELS}, dtype=object)
