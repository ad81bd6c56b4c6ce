"""What was measured and the facts that explain it: runs, GPUs, links, CNNs, and the features made of them.

Readers of users' files are in `trainlaw.datasets.importing` (runs) and `trainlaw.datasets.gpu_files` (GPUs):
they load pandera, which takes longer than all of this.
"""

from trainlaw.datasets.catalog import DATASETS, load, load_layers, load_pairs
from trainlaw.datasets.cnn_facts import CnnFacts, cnn_name, cnn_table, find_cnn, find_cnn_facts
from trainlaw.datasets.configuration import configuration
from trainlaw.datasets.coverage import coverage, coverage_of_batches
from trainlaw.datasets.dataset_rows import Dataset
from trainlaw.datasets.features import FEATURES, STUDY_FEATURES, TARGET, feature_specs
from trainlaw.datasets.gpus import Gpu, GpuCatalog, built_in_gpus, find_gpu, gpu_table
from trainlaw.datasets.hypothetical import hypothetical_gpu, wanted_gpu
from trainlaw.datasets.joining import Facts
from trainlaw.datasets.layers import LAYER_FEATURES, LayerTable, layer_feature_specs
from trainlaw.datasets.links import Link, find_link, link_table
from trainlaw.datasets.memory_fit import memory_needs, memory_warnings
from trainlaw.datasets.network_features import (
    LAYER_STUDY_FEATURES,
    NETWORK_LAYER_FEATURES,
    network_layer_specs,
)
from trainlaw.datasets.network_layers import LayerRows, Networks, layer_rows
from trainlaw.datasets.operations import OPERATION_GROUPS, group_of_operation
from trainlaw.datasets.outliers import Outlier, outliers
from trainlaw.datasets.pair_features import (
    OPERATION_FEATURES,
    PAIR_FEATURES,
    grouped_seconds,
    pair_feature_specs,
)
from trainlaw.datasets.pairs import PairTable
from trainlaw.datasets.profile_files import OperationProfile, read_profiles
from trainlaw.datasets.runs import RunTable

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
