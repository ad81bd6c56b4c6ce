"""What was measured and the facts that explain it: runs, GPUs, links, CNNs, and the features made of them."""

from trainlaw.datasets.catalog import DATASETS, load
from trainlaw.datasets.cnn_facts import CnnFacts, cnn_table, find_cnn, find_cnn_facts
from trainlaw.datasets.configuration import configuration
from trainlaw.datasets.dataset_rows import Dataset
from trainlaw.datasets.features import FEATURES, STUDY_FEATURES, TARGET, feature_specs
from trainlaw.datasets.gpus import Gpu, GpuCatalog, built_in_gpus, find_gpu, gpu_table
from trainlaw.datasets.joining import Facts
from trainlaw.datasets.links import Link, find_link, link_table
from trainlaw.datasets.runs import RunTable

__all__ = [
    "DATASETS",
    "FEATURES",
    "STUDY_FEATURES",
    "TARGET",
    "CnnFacts",
    "Dataset",
    "Facts",
    "Gpu",
    "GpuCatalog",
    "Link",
    "RunTable",
    "built_in_gpus",
    "cnn_table",
    "configuration",
    "feature_specs",
    "find_cnn",
    "find_cnn_facts",
    "find_gpu",
    "find_link",
    "gpu_table",
    "link_table",
    "load",
]
