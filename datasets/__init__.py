"""What was measured and the facts that explain it: runs, GPUs, links, CNNs, and the features made of them.

Readers of users' files are in `trainlaw.datasets.measurements.importing` (runs) and `trainlaw.datasets.hardware.gpu_files` (GPUs):
they load pandera, which takes longer than all of this.
"""

from trainlaw.datasets.cnns.facts import CnnFacts, cnn_name, cnn_table, find_cnn, find_cnn_facts
from trainlaw.datasets.features.cnn_features import (
    LAYER_STUDY_FEATURES,
    NETWORK_LAYER_FEATURES,
    network_layer_specs,
)
from trainlaw.datasets.features.layer_features import LAYER_FEATURES, layer_feature_specs
from trainlaw.datasets.features.pair_features import (
    OPERATION_FEATURES,
    PAIR_FEATURES,
    grouped_seconds,
    pair_feature_specs,
)
from trainlaw.datasets.features.registry import FEATURES, STUDY_FEATURES, TARGET, feature_specs
from trainlaw.datasets.hardware.gpus import Gpu, GpuCatalog, built_in_gpus, find_gpu, gpu_table
from trainlaw.datasets.hardware.hypothetical import hypothetical_gpu, wanted_gpu
from trainlaw.datasets.hardware.links import Link, find_link, link_table
from trainlaw.datasets.measurements.cnn_layer_rows import LayerRows, Networks, layer_rows
from trainlaw.datasets.measurements.configurations import configuration
from trainlaw.datasets.measurements.coverage import coverage, coverage_of_batches
from trainlaw.datasets.measurements.layer_tables import LayerTable
from trainlaw.datasets.measurements.memory_fit import memory_needs, memory_warnings
from trainlaw.datasets.measurements.outliers import Outlier, outliers
from trainlaw.datasets.measurements.pairs import PairTable
from trainlaw.datasets.measurements.runs import RunTable
from trainlaw.datasets.profiles.operations import OPERATION_GROUPS, group_of_operation
from trainlaw.datasets.profiles.profile_files import OperationProfile, read_profiles
from trainlaw.datasets.sources.catalog import DATASETS, load, load_layers, load_pairs
from trainlaw.datasets.sources.dataset import Dataset
from trainlaw.datasets.tables.run_columns import Facts

__all__ = [
    "DATASETS",
    "FEATURES",
    "LAYER_FEATURES",
    "LAYER_STUDY_FEATURES",
    "NETWORK_LAYER_FEATURES",
    "OPERATION_FEATURES",
    "OPERATION_GROUPS",
    "PAIR_FEATURES",
    "STUDY_FEATURES",
    "TARGET",
    "CnnFacts",
    "Dataset",
    "Facts",
    "Gpu",
    "GpuCatalog",
    "LayerRows",
    "LayerTable",
    "Link",
    "Networks",
    "OperationProfile",
    "Outlier",
    "PairTable",
    "RunTable",
    "built_in_gpus",
    "cnn_name",
    "cnn_table",
    "configuration",
    "coverage",
    "coverage_of_batches",
    "feature_specs",
    "find_cnn",
    "find_cnn_facts",
    "find_gpu",
    "find_link",
    "gpu_table",
    "group_of_operation",
    "grouped_seconds",
    "hypothetical_gpu",
    "layer_feature_specs",
    "layer_rows",
    "link_table",
    "load",
    "load_layers",
    "load_pairs",
    "memory_needs",
    "memory_warnings",
    "network_layer_specs",
    "outliers",
    "pair_feature_specs",
    "read_profiles",
    "wanted_gpu",
]
