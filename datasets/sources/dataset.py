"""The built-in data sets: their tables, and what to know before trusting them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd
from trainlaw.datasets.files.storage import read_data_file
from trainlaw.datasets.measurements.pairs import profile_pairs


@dataclass(frozen=True)
class Dataset:
    """One data set of `datasets.toml`.

    Attributes
    ----------
    name, title : str
        Unique name, and what the table holds.
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


def shipped_datasets() -> Mapping[str, Dataset]:
    """Return the built-in data sets by name, in the order of `datasets.toml`."""
    rows = tomllib.loads(read_data_file("datasets.toml").decode())
    return MappingProxyType({name: Dataset(name, **_fields(rows, name)) for name in rows})


def _fields(rows: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    row = dict(rows[name])
    like = row.pop("like", None)
    if "anomalies" in row:
        row["anomalies"] = tuple(row["anomalies"])
    return row if like is None else {**_fields(rows, like), **row}
