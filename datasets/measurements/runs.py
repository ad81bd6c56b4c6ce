"""Measured runs: one iteration time per configuration, its schema, features and labels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.datasets.features.run_features import feature_frame
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.tables.joins import Facts, RunJoin
from trainlaw.datasets.tables.measured_table import MeasuredTable, frame_sha256

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


LABELS = (
    "gpu_group",
    "gpu",
    "cnn_base",
    "cnn",
    "cnn_family",
    "source",
    "harness",
    "generation",
    "precision",
    "framework",
)


@dataclass(frozen=True, eq=False)
class RunTable(MeasuredTable):
    """One row per measured configuration, with the columns of the runs schema.

    Attributes
    ----------
    name : str
        Name of the table, for messages and provenance.
    _rows : DataFrame
        The rows, never changed; `frame` gives a copy.
    facts : Facts
        Specifications of the GPUs, links and CNNs that the rows name.
    """

    @cached_property
    def sha256(self) -> str:
        """Identity of the rows: sha256 of all names and values, as hexadecimal digits.

        Optional columns count only where a run differs from their default, so a table keeps its identity when
        the schema grows.
        """
        return frame_sha256(without_defaults(self._rows))

    def features(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """Return the features of these names, float64, shape (n_runs, k), in the units of `FEATURES`.

        names : None for all except `SCALING_FEATURES`, which runs on one GPU lack.
        Raises UnknownNameError for an unknown feature.
        """
        return feature_frame(self._rows, self.facts, names)

    def matrix(self, names: Iterable[str]) -> np.ndarray:
        """Return the features of these names as float64, shape (n_runs, k), in the units of `FEATURES`."""
        return self.features(names).to_numpy()

    def labels(self) -> pd.DataFrame:
        """Return the labels that runs are grouped by, as text columns `LABELS`, shape (n_runs, 10)."""
        joined = RunJoin(self._rows, self.facts)
        return pd.DataFrame({name: joined.texts(name) for name in LABELS}, dtype=object)

    def merged(self, other: "RunTable") -> "RunTable":
        """Return the runs of both tables, those of this table first; all repeats are kept."""
        gpus = self.facts.gpus
        for gpu in other.facts.gpus.gpus:
            if gpu not in gpus.gpus:
                gpus = gpus.with_gpu(gpu)
        facts = Facts(gpus, (*self.facts.cnns, *other.facts.cnns))
        rows = pd.concat([self._rows, other._rows], ignore_index=True)
        return RunTable(f"{self.name}+{other.name}", rows, facts)
