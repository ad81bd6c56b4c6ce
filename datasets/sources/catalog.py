"""The registered data sets with licence, sources and anomalies; their tables are loaded on demand."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeVar, overload

import pandas as pd
from trainlaw.datasets.files.storage import read_data_file, read_data_table
from trainlaw.datasets.measurements.layers import LayerTable
from trainlaw.datasets.measurements.pairs import PairTable, profile_pairs
from trainlaw.datasets.measurements.runs import RunTable, with_defaults
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas.errors import UnknownNameError, check_name


@dataclass(frozen=True)
class Dataset:
    """One data set of `datasets.toml`.

    Attributes
    ----------
    name, title : str
        Unique name, and contents of the table.
    kind : str
        "runs", "pairs" or "layers": the schema of its rows.
    file : str
        The shipped table.
    coverage, licence, commit, noise_floor : str
        Text for users; the licence and commit of each row are in its columns.
    anomalies : tuple of str
        What a user must know before trusting the rows.
    pooled : bool
        Whether the set leaves out runs with `pool` 0.
    precision_stated : str
        The only stated precision of its runs; "" for all.
    """

    name: str
    kind: str
    file: str
    title: str
    coverage: str
    licence: str
    commit: str
    anomalies: tuple[str, ...]
    noise_floor: str
    pooled: bool = False
    precision_stated: str = ""

    def select(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the set from its table."""
        if self.kind == "pairs":
            return profile_pairs(table)
        if self.pooled:
            table = table[table["pool"] == 1]
        return table[table["precision_stated"] == self.precision_stated] if self.precision_stated else table


def _fields(rows: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    row = dict(rows[name])
    like = row.pop("like", None)
    if "anomalies" in row:
        row["anomalies"] = tuple(row["anomalies"])
    return row if like is None else {**_fields(rows, like), **row}


_ROWS = tomllib.loads(read_data_file("datasets.toml").decode())
#: The built-in data sets by name, in the order of `datasets.toml`.
DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {name: Dataset(name, **_fields(_ROWS, name)) for name in _ROWS}
)
_TABLES: Mapping[str, type[MeasuredTable]] = {"runs": RunTable, "layers": LayerTable, "pairs": PairTable}
_Table = TypeVar("_Table", bound=MeasuredTable)
# Names whose type a checker knows; a test compares them with `DATASETS`.
RunSet = Literal[
    "default",
    "single-fp32",
    "precisions",
    "multi",
    "atlas",
    "atlas-all",
    "atlas-multi",
    "atlas-multi-all",
    "fp32-2026",
    "precisions-2026",
    "forward",
    "compiled",
    "h100",
    "h100-forward",
]


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
    (6860, 60000, 3684)
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
