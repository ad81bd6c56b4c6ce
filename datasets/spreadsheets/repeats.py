"""Rows of the same configuration, and unread columns that distinguish them."""

import re

import numpy as np
import pandas as pd
from trainlaw.datasets.spreadsheets.answers import choices
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.layout import is_ratio
from trainlaw.datasets.spreadsheets.rows import SheetRows


def ask_separating(rows: SheetRows, frame: pd.DataFrame) -> None:
    """Ask about unread columns of texts that distinguish rows of the same configuration."""
    unread = {
        heading: cells
        for heading, cells in rows.unread.items()
        if len(cells) == len(frame)
        and heading not in rows.answers.ignored
        and read_heading(heading).target in ("", "cnn", "gpu")
        and not is_ratio(heading)
        and not any(heading in option[-1] for issue in rows.issues for option in issue.options)
    }
    if not unread or frame.empty:
        return
    keys = configurations(frame)
    for heading, cells in unread.items():
        texts = pd.Series(["" if cell is None else str(cell) for cell in cells])
        if texts.nunique() > max(len(texts) // 2, 2) or pd.to_numeric(texts, errors="coerce").notna().any():
            continue
        if (texts.groupby(keys).nunique() > 1).any():
            link = re.search(r"connect|net|fabric|fibre|inter", heading, re.I) is not None
            text = (
                f"rows of the same configuration differ in {heading}: is it the framework, the network, ...?"
            )
            options = (
                ("--column", f"network={heading}"),
                *choices("--only", [*dict.fromkeys(texts)][:6], f"{heading}="),
                ("--column", f"framework={heading}"),
                ("--ignore", heading),
            )
            rows.ask("columns", text, options if link else options[1:])


def configurations(frame: pd.DataFrame) -> np.ndarray:
    """Return the same whole number for rows that are equal in all columns, (n,)."""
    found = np.zeros(len(frame), dtype=np.int64)
    for name in frame:
        codes, values = pd.factorize(frame[name].astype(str))
        found = pd.factorize(found * max(len(values), 1) + codes)[0]
    return found
