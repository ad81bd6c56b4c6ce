"""The base of all tables of measurements: immutable rows with an identity, times and selection."""

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.files.constants import COPIES_ON_WRITE, detached
from trainlaw.datasets.tables.joins import Facts, built_in_facts
from trainlaw.formulas.errors import InputError, unknown_name


def frame_sha256(frame: pd.DataFrame) -> str:
    """Return the sha256 of a table's names and values, columns in their order, as hexadecimal digits."""
    digest = hashlib.sha256()
    for name in frame.columns:
        digest.update(str(name).encode() + b"\x00")
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values):
            digest.update(np.ascontiguousarray(values.to_numpy(dtype="<f8")).tobytes())
        else:
            # Hash the different texts once and their codes: ten times faster than a million texts.
            codes, texts = pd.factorize(values)
            digest.update("\x1f".join(map(str, texts)).encode() + b"\x00")
            digest.update(codes.astype("<i8").tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """An immutable table with one row per measurement; equal to a table of the same class, names and values.

    `name` states the origin of the rows; `facts` are the GPUs and CNNs that they are joined with.
    """

    name: str
    _rows: pd.DataFrame = field(repr=False)
    facts: Facts = field(default_factory=built_in_facts, repr=False)

    def __post_init__(self) -> None:
        """Keep the frame as a copy that no later change of the source reaches, with rows numbered from 0."""
        object.__setattr__(self, "_rows", detached(self._rows))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        """Return whether both tables have the same class and rows."""
        return type(self) is type(other) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        """Return a hash that agrees with equality."""
        return hash(self.sha256)

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a new frame, shape (n_rows, n_columns of the schema)."""
        return detached(self._rows)

    def column(self, name: str) -> pd.Series:
        """Return one column of `frame`, shape (n_rows,)."""
        return self._rows[name].copy(deep=not COPIES_ON_WRITE)

    @cached_property
    def sha256(self) -> str:
        """Identity of the rows: sha256 of all names and values, as hexadecimal digits."""
        return frame_sha256(self._rows)

    @property
    def seconds(self) -> np.ndarray:
        """Measured times in seconds, float64, shape (n_rows,); nan where not measured."""
        return self._rows["time_s"].to_numpy(dtype=np.float64, copy=True)

    def where(self, mask: np.ndarray | None = None, **values: object) -> Self:
        """Return the rows where `mask` (bool, shape (n_rows,)) holds and each named column has its value.

        A value may be a list, which matches any of its entries. Raises UnknownNameError for an unknown
        column, InputError for a mask of another type or shape.

        >>> from trainlaw.datasets import load
        >>> len(load("fp32-2026").where(source="profet", gpu=["K80", "T4"]))
        658
        """
        chosen = np.ones(len(self), dtype=bool) if mask is None else np.asarray(mask)
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            raise InputError(
                f"expected a bool mask of shape ({len(self)},), got {chosen.dtype} {chosen.shape}"
            )
        for column, value in values.items():
            if column not in self._rows:
                raise unknown_name("column", column, self._rows.columns)
            wanted = list(value) if isinstance(value, (list, tuple, set)) else [value]
            chosen = chosen & self._rows[column].isin(wanted).to_numpy(dtype=bool)
        return replace(self, _rows=self._rows[chosen])
