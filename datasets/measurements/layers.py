"""Measured layers: the layers schema, and the table of times of single convolutions and dense layers."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
from trainlaw.datasets.features.feature import feature_block
from trainlaw.datasets.features.layer_features import LAYER_FEATURES, LAYER_NUMBERS, LAYER_RULES
from trainlaw.datasets.files.columns import Column, Range, table_schema
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.tables.joins import GpuJoin, LazyColumns
from trainlaw.datasets.tables.measured_table import MeasuredTable

_SIDE: Range = {"unit": "px", "low": 1, "high": 65536}
_CHANNELS: Range = {"unit": "", "low": 1, "high": 1e7}
_TIME: Range = {"unit": "s", "low": 1e-9, "high": 1e7}

LAYER_COLUMNS: tuple[Column, ...] = (
    Column("gpu", "text", "name of the GPU, as in the GPU table"),
    Column("kind", "text", "kind of layer", allowed=("conv", "dense")),
    Column(
        "phase", "text", "phases that the time includes", allowed=("forward", "forward+backward+optimizer")
    ),
    Column("precision", "text", "precision that ran", allowed=tuple(PRECISIONS)),
    Column("batch", "integer", "images", "", 1, 1e7),
    Column("in_height_px", "integer", "height of the input; 1 for a dense layer", **_SIDE),
    Column("in_width_px", "integer", "width of the input; 1 for a dense layer", **_SIDE),
    Column("in_channels", "integer", "input channels or features", **_CHANNELS),
    Column("out_channels", "integer", "output channels or features", **_CHANNELS),
    Column("kernel_px", "integer", "side of the square kernel; 1 for a dense layer", **_SIDE),
    Column("stride_px", "integer", "stride; 1 for a dense layer", **_SIDE),
    Column("padding", "text", "padding of the borders", allowed=("none", "same", "valid")),
    Column("out_height_px", "integer", "height (and width) of the output; 1 for a dense layer", **_SIDE),
    Column("bias", "integer", "1 with a bias, else 0; empty: not stated", "", 0, 1, may_be_empty=True),
    Column("activation", "text", "activation after the layer"),
    Column("optimizer", "text", "optimizer of the update, none for the forward phase"),
    Column("time_s", "number", "median time of the phase", **_TIME),
    Column("time_min_s", "number", "shortest repeat", **_TIME, may_be_empty=True),
    Column("time_max_s", "number", "longest repeat", **_TIME, may_be_empty=True),
    Column("n_repeats", "integer", "number of repeats", "", 1, 1e7, may_be_empty=True),
    Column("source", "text", "origin of the measurement"),
    Column("source_commit", "text", "version of the source"),
    Column("source_path", "text", "location inside the source"),
    Column("licence", "text", "licence of the figures"),
)


def layer_table_schema() -> dict[str, object]:
    """Return the layers schema as a Frictionless Table Schema, ready for JSON."""
    return table_schema(LAYER_COLUMNS, "trainlaw layers")


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
        columns = LazyColumns(self._joined().makers(LAYER_NUMBERS, LAYER_RULES))
        return feature_block(LAYER_FEATURES, columns, self._rows.index, names)

    def labels(self) -> pd.DataFrame:
        """Return the labels that layers are grouped by, as text columns `LAYER_LABELS`."""
        joined = self._joined()
        return pd.DataFrame({name: joined.texts(name) for name in LAYER_LABELS}, dtype=object)

    def _joined(self) -> GpuJoin:
        return GpuJoin(self._rows, self.facts.gpus)
