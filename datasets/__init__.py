"""Measurements and the facts that explain them: runs, GPUs, links, CNNs, and the features computed from them.

Readers of users' tables are in `trainlaw.datasets.measurements.importing` (runs, layers) and
`trainlaw.datasets.hardware.gpu_files` (GPUs).
"""

from typing import TYPE_CHECKING

from trainlaw.datasets.cnns.catalog import CnnCounts, cnn_table, find_cnn_counts
from trainlaw.datasets.features.cnn_layer_features import CNN_LAYER_FEATURES
from trainlaw.datasets.features.layer_features import LAYER_FEATURES
from trainlaw.datasets.features.run_features import FEATURES, TARGET, feature_specs
from trainlaw.datasets.hardware.gpus import Gpu, GpuCatalog, built_in_gpus, find_gpu
from trainlaw.datasets.hardware.links import find_link, link_table
from trainlaw.datasets.measurements.runs import RunTable, configuration
from trainlaw.formulas.lazy_names import lazy_names

if TYPE_CHECKING:
    from trainlaw.datasets.features.pair_features import PAIR_FEATURES
    from trainlaw.datasets.measurements.inspection import coverage, outliers
    from trainlaw.datasets.measurements.layers import LayerTable
    from trainlaw.datasets.measurements.pairs import PairTable
    from trainlaw.datasets.sources.catalog import DATASETS, Dataset, load

__all__ = [
    "CNN_LAYER_FEATURES",
    "DATASETS",
    "FEATURES",
    "LAYER_FEATURES",
    "PAIR_FEATURES",
    "TARGET",
    "CnnCounts",
    "Dataset",
    "Gpu",
    "GpuCatalog",
    "LayerTable",
    "PairTable",
    "RunTable",
    "built_in_gpus",
    "cnn_table",
    "configuration",
    "coverage",
    "feature_specs",
    "find_cnn_counts",
    "find_gpu",
    "find_link",
    "link_table",
    "load",
    "outliers",
]

_HOMES = {
    "features.pair_features": "PAIR_FEATURES",
    "measurements.inspection": "coverage outliers",
    "measurements.layers": "LayerTable",
    "measurements.pairs": "PairTable",
    "sources.catalog": "DATASETS Dataset load",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
