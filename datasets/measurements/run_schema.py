"""The runs schema: one row per measured configuration of a CNN's training on one or more GPUs."""

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd
from trainlaw.datasets.files.columns import shipped_schema

RUN_COLUMNS = shipped_schema("runs")
TIMED_PARTS = next(column.allowed for column in RUN_COLUMNS if column.name == "timed_parts")
# Columns that tables lacked at first. At their defaults they do not change the identity of a table.
OPTIONAL_COLUMNS: Mapping[str, str | float | None] = MappingProxyType(
    {
        column.name: column.default
        for column in RUN_COLUMNS[[column.name for column in RUN_COLUMNS].index("pool_reason") :]
    }
)


def with_defaults(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `runs` with all columns of the schema, in its order; absent ones hold their default."""
    absent = {column.name: column.default for column in RUN_COLUMNS if column.name not in runs}
    return runs.assign(**absent)[[column.name for column in RUN_COLUMNS]]


def without_defaults(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `runs` without the optional columns that hold nothing but their default."""
    plain = [
        name
        for name, default in OPTIONAL_COLUMNS.items()
        if name in runs and _holds_only(runs[name], default)
    ]
    return runs.drop(columns=plain)


def _holds_only(values: pd.Series, default: str | float | None) -> bool:
    return bool((values.isna() if pd.isna(default) else values == default).all())
