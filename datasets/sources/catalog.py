"""The registered data sets: by name, checked by sha256, loaded on demand."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from trainlaw.datasets.files.storage import read_data_table
from trainlaw.datasets.measurements.layer_tables import LayerTable
from trainlaw.datasets.measurements.pairs import PairTable
from trainlaw.datasets.measurements.run_schema import with_defaults
from trainlaw.datasets.measurements.runs import RunTable
from trainlaw.datasets.sources.atlas import ATLAS_SETS
from trainlaw.datasets.sources.cde_layers import CDE_LAYERS
from trainlaw.datasets.sources.dataset import Dataset
from trainlaw.datasets.sources.multi import MULTI
from trainlaw.datasets.sources.neusight_layers import NEUSIGHT_LAYERS
from trainlaw.datasets.sources.precisions import PRECISIONS
from trainlaw.datasets.sources.profet_pairs import PROFET_PAIRS
from trainlaw.datasets.sources.single_gpu_fp32 import DEFAULT, SINGLE_FP32
from trainlaw.formulas.errors import UnknownNameError, unknown_name

# Published figures name the tables that they were computed on, whatever becomes the default later.
_PUBLISHED = (replace(DEFAULT, name="fp32-2026"), replace(PRECISIONS, name="precisions-2026"))
_ROWS = (
    DEFAULT, SINGLE_FP32, PRECISIONS, MULTI, *ATLAS_SETS, *_PUBLISHED, PROFET_PAIRS, CDE_LAYERS, NEUSIGHT_LAYERS,
)  # fmt: skip
DATASETS: Mapping[str, Dataset] = MappingProxyType({dataset.name: dataset for dataset in _ROWS})


def load(name: str = "default") -> RunTable:
    """Return the registered set of runs of that name.

    Raises UnknownNameError for an unregistered name or a set of another kind, InputError when a shipped file
    was altered.

    >>> len(load("default"))
    1730
    """
    return RunTable(name, with_defaults(_rows_of(name, "runs")))


def load_layers(name: str) -> LayerTable:
    """Return the registered set of layers of that name; raises as `load`.

    >>> len(load_layers("cde-layers"))
    60000
    """
    return LayerTable(name, _rows_of(name, "layers"))


def load_pairs(name: str = "profet-pairs") -> PairTable:
    """Return the registered set of anchor and target pairs of that name; raises as `load`.

    >>> len(load_pairs())
    3684
    """
    return PairTable(name, _rows_of(name, "pairs"))


def _rows_of(name: str, kind: str):
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    dataset = DATASETS[name]
    if dataset.kind != kind:
        reader = {"runs": "load", "layers": "load_layers", "pairs": "load_pairs"}[dataset.kind]
        raise UnknownNameError(
            f"data set {name!r} holds {dataset.kind}, not {kind}: read it with {reader}({name!r})"
        )
    return dataset.select(read_data_table(dataset.file, text_columns=("framework_version",)))
