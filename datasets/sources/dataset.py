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
    select : callable
        Picks the rows of the set from the table.
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
