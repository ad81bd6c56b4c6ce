"""A registered data set: its table, and what to know before trusting it."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd


def all_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as it is."""
    return frame


@dataclass(frozen=True)
class Dataset:
    """One registered data set.

    `kind` is "runs", "pairs" or "layers" (the schema of its rows), `file` the shipped table and `select` the
    function that picks the rows of the set from it. `coverage`, `licence`, `commit`, `anomalies` and
    `noise_floor` are text for users; the licence and commit of each row are in its columns.
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
