"""The registered data sets: by name, checked by sha256, loaded on demand."""

from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.datasets.dataset_rows import Dataset
from trainlaw.datasets.runs import RunTable
from trainlaw.datasets.sources.multi import MULTI
from trainlaw.datasets.sources.precisions import PRECISIONS
from trainlaw.datasets.sources.single_gpu_fp32 import DEFAULT, SINGLE_FP32
from trainlaw.datasets.storage import read_data_table
from trainlaw.formulas.errors import unknown_name

DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {dataset.name: dataset for dataset in (DEFAULT, SINGLE_FP32, PRECISIONS, MULTI)}
)


def load(name: str = "default") -> RunTable:
    """Return the registered data set of that name.

    Raises UnknownNameError for an unregistered name, InputError when a shipped file was altered.

    >>> len(load("default"))
    1730
    """
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    dataset = DATASETS[name]
    table = read_data_table(dataset.file, text_columns=("framework_version",))
    return RunTable(name, dataset.select(table))
