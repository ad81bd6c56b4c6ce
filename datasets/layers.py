"""Measured times of single layers, and their features: each layer as the matrix product that it is."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.datasets.fact_features import GPU_FEATURES
from trainlaw.datasets.feature_rows import (
    Feature,
    chosen_features,
    column_feature,
    derived_feature,
    feature_block,
)
from trainlaw.datasets.gpu_joining import GpuColumns
from trainlaw.datasets.measured_table import MeasuredTable
from trainlaw.formulas.features import FeatureSpec

LAYER_LABELS = ("gpu_group", "gpu", "generation", "kind", "phase", "source")
_NUMBERS = (
    "batch",
    "in_height_px",
    "in_width_px",
    "in_channels",
    "out_channels",
    "kernel_px",
    "stride_px",
    "out_height_px",
)


def _compute(name: str, symbol: str, amount: str, meaning: str) -> Feature:
    """Return the seconds of `amount` (in MAC or elements) at 2 FLOP per pass and the peak rate."""
    definition = f"2 * n_passes * {amount} / peak_flop_per_s"
    return derived_feature(name, symbol, "s", f"2 x passes x {meaning} / peak rate", definition)


def _memory(name: str, symbol: str, elements: str, meaning: str) -> Feature:
    definition = f"n_passes * bytes_per_element * {elements} / bandwidth_byte_per_s"
    return derived_feature(name, symbol, "s", f"passes x e x {meaning} / bandwidth", definition)


_ROWS: tuple[Feature, ...] = (
    column_feature("batch", "b", "sample", "images", low=1),
    column_feature("bytes_per_element", "e", "B/element", "bytes of a stored activation", low=1, high=8),
    column_feature("n_passes", "p", "1", "passes: 1 forward; 3 with both gradients", low=1, high=3),
    column_feature("has_optimizer", "u", "1", "1 where the time includes the optimizer step", high=1),
    column_feature("is_conv", "v", "1", "1 for a convolution, 0 for a dense layer", high=1),
    column_feature("kernel_px", "k", "1", "side of the kernel", low=1),
    column_feature("stride_px", "z", "1", "stride", low=1),
    column_feature("in_channels", "C", "1", "input channels", low=1),
    column_feature("out_channels", "N", "1", "output channels: columns of the matrix product", low=1),
    column_feature("in_height_px", "H_i", "1", "height of the input", low=1),
    column_feature("in_width_px", "W_i", "1", "width of the input", low=1),
    column_feature("out_height_px", "H_o", "1", "height (and width) of the output", low=1),
    derived_feature(
        "rows",
        "M",
        "1",
        "rows of the matrix product: images x output pixels (all shipped layers are square)",
        "batch * (out_height_px * out_height_px)",
    ),
    derived_feature(
        "reduction",
        "K",
        "1",
        "reduction length: input channels x kernel area",
        "in_channels * kernel_px * kernel_px",
    ),
    derived_feature("weights", "W", "element", "elements of the kernel", "reduction * out_channels"),
    derived_feature(
        "input_elements",
        "A_i",
        "element",
        "inputs of the whole batch",
        "batch * in_channels * in_height_px * in_width_px",
    ),
    derived_feature(
        "output_elements",
        "A_o",
        "element",
        "outputs of the whole batch",
        "rows * out_channels",
    ),
    derived_feature("macs", "X", "MAC", "MACs of one pass over the batch", "rows * weights"),
    _compute("compute_s", "c_X", "macs", "MACs"),
    _compute("output_compute_s", "c_A", "output_elements", "outputs"),
    _compute("im2col_compute_s", "c_I", "(rows * reduction)", "rows x reduction length"),
    _compute("weight_compute_s", "c_W", "weights", "weights"),
    _memory("input_memory_s", "m_i", "input_elements", "inputs"),
    _memory("output_memory_s", "m_o", "output_elements", "outputs"),
    _memory("weight_memory_s", "m_W", "weights", "weights"),
    derived_feature("launch_s", "k_0", "s", "passes x 10 us", "n_passes * 1e-5"),
)
LAYER_FEATURES: Mapping[str, Feature] = MappingProxyType(
    {row.spec.name: row for row in (*_ROWS, *GPU_FEATURES)}
)
_COMPUTED: Mapping[str, Callable[[GpuColumns], np.ndarray]] = MappingProxyType(
    {
        "n_passes": lambda c: c.looked_up("phase", lambda phase: 3 if "backward" in phase else 1),
        "has_optimizer": lambda c: c.looked_up("phase", lambda phase: "optimizer" in phase.split("+")),
        "is_conv": lambda c: c.looked_up("kind", lambda kind: kind == "conv"),
    }
)


def layer_feature_specs(names: Iterable[str] | None = None) -> tuple[FeatureSpec, ...]:
    """Return what the layer features of these names are (None: all); raises UnknownNameError."""
    return tuple(feature.spec for feature in chosen_features(LAYER_FEATURES, names))


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
        return GpuColumns(self._rows, self.facts.gpus, _NUMBERS, _COMPUTED)
