"""The table of all features, one row each: name, symbol, unit, meaning, function of the joined columns."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import pandas as pd
from trainlaw.datasets.features.communication_features import COMMUNICATION_FEATURES
from trainlaw.datasets.features.fact_features import CNN_FEATURES, GPU_FEATURES, LINK_FEATURES, RUN_FEATURES
from trainlaw.datasets.features.feature import Feature, chosen_features, feature_block
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES
from trainlaw.datasets.features.time_features import TIME_FEATURES
from trainlaw.datasets.tables.run_columns import Facts, JoinedColumns
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.units import SECOND

TARGET = FeatureSpec("time_s", "t", SECOND, "time of one training iteration", low=0.0)

_ROWS = (*RUN_FEATURES, *GPU_FEATURES, *CNN_FEATURES, *LINK_FEATURES, *TIME_FEATURES, *COMMUNICATION_FEATURES)
FEATURES: Mapping[str, Feature] = MappingProxyType(
    {row.spec.name: row for row in (*_ROWS, *SCALING_FEATURES)}
)
_OF_ANY_RUN = tuple(row.spec.name for row in _ROWS)

# Times the study adds, and few pure numbers of a GPU: with less than twenty chips, more of them only name it.
STUDY_FEATURES: tuple[str, ...] = (
    "conv3x3_compute_s",
    "conv1x1_compute_s",
    "conv5x5_compute_s",
    "conv_other_compute_s",
    "grouped_conv_compute_s",
    "dense_compute_s",
    "im2col_compute_s",
    "conv_output_compute_s",
    "conv_weight_compute_s",
    "conv_output_memory_s",
    "depthwise_output_memory_s",
    "batchnorm_memory_s",
    "elementwise_memory_s",
    "concat_memory_s",
    "parameter_memory_s",
    "optimizer_memory_s",
    "layer_launch_s",
    "kernel_launch_s",
    "input_copy_s",
    "iteration_overhead_s",
    "wide_sm",
    "on_chip_ratio",
)


def feature_specs(names: Iterable[str] | None = None) -> tuple[FeatureSpec, ...]:
    """Return what the features of these names are (None: all), in their order.

    Raises UnknownNameError.

    >>> [str(spec.unit) for spec in feature_specs(["macs", "conv_compute_s"])]
    ['MAC/sample', 's']
    """
    return tuple(feature.spec for feature in chosen_features(FEATURES, names))


def feature_frame(runs: pd.DataFrame, facts: Facts, names: Iterable[str] | None = None) -> pd.DataFrame:
    """Return the features of these names of `runs`: float64, shape (n_runs, k).

    names : None for all but `SCALING_FEATURES`, of which runs on one GPU have none. `runs` is a frame of the
    runs schema, `facts` what it is joined with. Raises UnknownNameError for a feature, GPU, CNN or link
    without facts.
    """
    chosen = _OF_ANY_RUN if names is None else names
    return feature_block(FEATURES, JoinedColumns(runs, facts), runs.index, chosen)
