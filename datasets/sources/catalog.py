"""The registered data sets: by name, checked by sha256, loaded on demand."""

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeVar, overload

from trainlaw.datasets.files.storage import read_data_table
from trainlaw.datasets.measurements.layers import LayerTable
from trainlaw.datasets.measurements.pairs import PairTable
from trainlaw.datasets.measurements.runs import RunTable, with_defaults
from trainlaw.datasets.sources.dataset import Dataset, shipped_datasets
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas.errors import UnknownNameError, check_name

DATASETS: Mapping[str, Dataset] = shipped_datasets()
_TABLES: Mapping[str, type[MeasuredTable]] = {"runs": RunTable, "layers": LayerTable, "pairs": PairTable}
_Table = TypeVar("_Table", bound=MeasuredTable)
# Names whose type a checker knows; a test compares them with `DATASETS`.
RunSet = Literal[
    "default", "single-fp32", "precisions", "multi", "atlas", "atlas-all", "atlas-multi", "atlas-multi-all",
    "fp32-2026", "precisions-2026", "forward", "compiled", "h100", "h100-forward",
]  # fmt: skip


@overload
def load(name: RunSet = "default") -> RunTable: ...
@overload
def load(name: Literal["cde-layers", "neusight-layers"]) -> LayerTable: ...
@overload
def load(name: Literal["profet-pairs"]) -> PairTable: ...
@overload
def load(name: str, expected: type[_Table]) -> _Table: ...
@overload
def load(name: str) -> MeasuredTable: ...
def load(name: str = "default", expected: type[MeasuredTable] = MeasuredTable) -> MeasuredTable:
    """Return the registered data set of that name.

    Parameters
    ----------
    name : str
        A name in `DATASETS`.
    expected : type
        `RunTable`, `LayerTable` or `PairTable` where only such a table will do.

    Returns
    -------
    RunTable, LayerTable or PairTable
        The measured rows; which of the three follows from the `kind` of the data set.

    Raises
    ------
    UnknownNameError
        No data set has that name, or it is not of the expected kind.
    InputError
        A shipped file is missing or was altered.

    Examples
    --------
    >>> len(load("default")), len(load("cde-layers")), len(load("profet-pairs"))
    (6459, 60000, 3684)
    """
    check_name("data set", name, DATASETS)
    dataset = DATASETS[name]
    if not issubclass(_TABLES[dataset.kind], expected):
        (wanted,) = [kind for kind, known in _TABLES.items() if known is expected]
        others = [other.name for other in DATASETS.values() if other.kind == wanted]
        raise UnknownNameError(
            f"expected a data set of {wanted} ({', '.join(others)}), got {name!r}, which holds {dataset.kind}"
        )
    return _read(name)


@cache
def _read(name: str) -> MeasuredTable:
    """Return a data set: the same table each time, which nothing can change."""
    dataset = DATASETS[name]
    table = _TABLES[dataset.kind]
    rows = dataset.select(read_data_table(dataset.file, text_columns=("framework_version",)))
    # Shipped runs lack the columns that the schema gained after them.
    return table(name, with_defaults(rows) if table is RunTable else rows)
