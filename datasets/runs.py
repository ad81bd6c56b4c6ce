"""Measured runs as an immutable table with an identity, and their features."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from trainlaw.datasets.features import feature_frame
from trainlaw.datasets.joining import Facts, JoinedColumns, built_in_facts
from trainlaw.formulas.errors import InputError, unknown_name

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


def frame_sha256(frame: pd.DataFrame) -> str:
    """Return the sha256 of a table's names and values, columns in their order, as hexadecimal digits."""
    digest = hashlib.sha256()
    for name in frame.columns:
        digest.update(str(name).encode() + b"\x00")
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values):
            digest.update(np.ascontiguousarray(values.to_numpy(dtype=np.float64)).tobytes())
        else:
            digest.update("\x1f".join(values.fillna("").astype(str)).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class RunTable:
    """One row per measured configuration, in the columns of the runs schema; never changed.

    `name` says where the runs come from; `facts` are the cards and networks that they are joined with.
    """

    name: str
    _runs: pd.DataFrame = field(repr=False)
    facts: Facts = field(default_factory=built_in_facts, repr=False)

    def __post_init__(self) -> None:
        """Keep a copy of the frame, with rows numbered from 0, so that nobody else can change it."""
        object.__setattr__(self, "_runs", self._runs.reset_index(drop=True).copy())

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._runs)

    def __eq__(self, other: object) -> bool:
        """Return whether both tables hold the same runs."""
        return isinstance(other, RunTable) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        """Return a hash that agrees with equality."""
        return hash(self.sha256)

    @property
    def frame(self) -> pd.DataFrame:
        """The runs as a new frame, shape (n_runs, n_columns of the schema)."""
        return self._runs.copy()

    @cached_property
    def sha256(self) -> str:
        """Identity of the runs: sha256 of all names and values, as hexadecimal digits."""
        return frame_sha256(self._runs)

    @property
    def seconds(self) -> np.ndarray:
        """Measured iteration times in seconds, float64, shape (n_runs,); nan where not measured."""
        return self._runs["time_s"].to_numpy(dtype=np.float64, copy=True)

    def where(self, mask: np.ndarray | None = None, **values: object) -> "RunTable":
        """Return the runs where `mask` (bool, shape (n_runs,)) holds and each named column has its value.

        A value may be a list: any of them. Raises UnknownNameError for an unknown column, InputError for a
        bad mask.

        >>> from trainlaw.datasets import load
        >>> len(load("default").where(source="profet", gpu=["K80", "T4"]))
        658
        """
        chosen = np.ones(len(self), dtype=bool) if mask is None else np.asarray(mask)
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            raise InputError(
                f"expected a bool mask of shape ({len(self)},), came {chosen.dtype} {chosen.shape}"
            )
        for column, value in values.items():
            if column not in self._runs:
                raise unknown_name("column", column, self._runs.columns)
            wanted = list(value) if isinstance(value, (list, tuple, set)) else [value]
            chosen = chosen & self._runs[column].isin(wanted).to_numpy(dtype=bool)
        return RunTable(self.name, self._runs[chosen], self.facts)

    def features(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """Return the features of these names (None: all), float64, shape (n_runs, k), units as in `FEATURES`.

        Raises UnknownNameError for an unknown feature.
        """
        return feature_frame(self._runs, self.facts, names)

    def matrix(self, names: Iterable[str]) -> np.ndarray:
        """Return the features of these names as float64, shape (n_runs, k), in the units of `FEATURES`."""
        return self.features(names).to_numpy()

    def labels(self) -> pd.DataFrame:
        """Return what groups of runs are made by, as text columns `LABELS`, shape (n_runs, 10)."""
        columns = JoinedColumns(self._runs, self.facts)
        return pd.DataFrame({name: columns.texts(name) for name in LABELS}, dtype=object)

    def merged(self, other: "RunTable") -> "RunTable":
        """Return the runs of both tables, these first; repeats of a configuration are all kept."""
        gpus = self.facts.gpus
        for gpu in other.facts.gpus.gpus:
            if gpu not in gpus.gpus:
                gpus = gpus.with_gpu(gpu)
        facts = Facts(gpus, (*self.facts.cnns, *other.facts.cnns))
        runs = pd.concat([self._runs, other._runs], ignore_index=True)
        return RunTable(f"{self.name}+{other.name}", runs, facts)
