"""The software stack of a run, which decides the kernels of 16-bit convolutions, by rules in `stacks.csv`.

The first rule that fits decides; a rule's empty cells fit any run, the others are patterns of the whole text.
"""

import re
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.datasets.tables.joins import numbered

UNKNOWN = "unknown"
_PATTERNS = (
    "harness",
    "framework",
    "framework_version",
    "gpu",
    "precision",
    "layout",
    "compilation",
    "tuned",
)


def stacks_of(runs: pd.DataFrame) -> NDArray[np.object_]:
    """Return the stack that follows from the other columns of each run, text (n_runs,)."""
    facts = [runs[name] for name in (*_PATTERNS, "bench_year")]
    run_of, first = numbered(facts)
    different = zip(*(fact.to_numpy()[first] for fact in facts), strict=True)
    found = [_stack(tuple(map(str, texts)), float(year)) for *texts, year in different]
    return np.array(found, dtype=object)[run_of]


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
                for place, name in enumerate(_PATTERNS)
                if name in row
            ),
            float(row.get("since_year", 0)),
            row["stack"],
        )
        for row in read_data_rows("stacks.csv")
    )


@cache
def _stack(texts: tuple[str, ...], year: float) -> str:
    """Return the stack of runs with these texts, in the order of `_PATTERNS`; an unknown year is recent."""
    for patterns, since, stack in _rules():
        if not year < since and all(pattern.fullmatch(texts[place]) for place, pattern in patterns):
            return stack
    return UNKNOWN
