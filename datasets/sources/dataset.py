"""What a registered data set is: its table, and what a user must know before trusting it."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd


def all_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as it is."""
    return frame


@dataclass(frozen=True)
class Dataset:
    """One registered data set.

    `kind` is "runs", "pairs" or "layers" (which schema its rows follow), `file` its shipped table and
    `select` the part of it that belongs to the set. `coverage`, `licence`, `commit`, `anomalies` and
    `noise_floor` are text for the reader; licence and commit of each row stand in the row.
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
    select: Callable[[pd.DataFrame], pd.DataFrame] = all_rows
