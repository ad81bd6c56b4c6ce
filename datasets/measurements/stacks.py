"""The software stack of a run, which decides the kernels of 16-bit convolutions, by rules in `stacks.csv`.

The first rule that fits decides; a rule's empty cells fit any run, the others are patterns of the whole text.
"""

import re
from functools import cache
from math import inf, isnan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.datasets.tables.joins import numbered

UNKNOWN = "unknown"
#: Columns from which the stack of a run follows; the texts of all but the last are matched by patterns.
STACK_COLUMNS = (
    "harness",
    "framework",
    "framework_version",
    "gpu",
    "precision",
    "layout",
    "compilation",
    "tuned",
    "bench_year",
)


def stacks_of(runs: pd.DataFrame) -> NDArray[np.object_]:
    """Return the stack that follows from the other columns of each run, text (n_runs,)."""
    facts = [runs[name] for name in STACK_COLUMNS]
    run_of, first = numbered(facts)
    different = zip(*(fact.to_numpy()[first] for fact in facts), strict=True)
    return np.array([implied_stack(*texts) for texts in different], dtype=object)[run_of]


def implied_stack(*values: Any) -> str:
    """Return the stack that follows from the values of `STACK_COLUMNS`."""
    *texts, year = values
    return _stack(tuple(map(str, texts)), inf if isnan(year) else float(year))


def layout_of(stack: str | None) -> str:
    """Return the layout of activations that a stack implies, where none is stated."""
    return "channels_last" if stack == "channels_last" else "nchw"


@cache
def _rules() -> tuple[tuple[tuple[tuple[int, re.Pattern[str]], ...], float, str], ...]:
    """Return patterns by the place of their column, earliest year and stack of each rule."""
    return tuple(
        (
            tuple(
                (place, re.compile(row[name], re.IGNORECASE))
                for place, name in enumerate(STACK_COLUMNS)
                if name in row
            ),
            float(row.get("since_year", 0)),
            row["stack"],
        )
        for row in read_data_rows("stacks.csv")
    )


@cache
def _stack(texts: tuple[str, ...], year: float) -> str:
    """Return the stack of runs with these texts, those of `STACK_COLUMNS`; an unknown year is inf."""
    for patterns, since, stack in _rules():
        if not year < since and all(pattern.fullmatch(texts[place]) for place, pattern in patterns):
            return stack
    return UNKNOWN
