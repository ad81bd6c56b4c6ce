"""Rows of a benchmark as a Markdown table and as a CSV file."""

import csv
from collections.abc import Sequence
from pathlib import Path


def table_lines(table: Sequence[dict[str, object]]) -> list[str]:
    """Return rows as a Markdown table, numbers with three digits."""
    rows = [
        [f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()]
        for row in table
    ]
    return [f"| {' | '.join(row)} |" for row in (list(table[0]), ["---"] * len(table[0]), *rows)]


def write_csv(path: Path, table: Sequence[dict[str, object]]) -> None:
    """Write rows, each with the keys of the first, as a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
