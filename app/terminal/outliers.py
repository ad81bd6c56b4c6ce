"""The outlier report as text."""

from collections import Counter

from trainlaw.app.text.fitted_tables import fitted_table
from trainlaw.datasets import Outlier, RunTable

_SHOWN = 40


def outliers_text(table: RunTable, found: list[Outlier], show_all: bool = False) -> str:
    """Return suspicious runs, one per line with its configuration; `show_all` lifts the limit of 40 lines."""
    if not found:
        return f"{table.name}: nothing suspicious in {len(table):,} runs"
    runs = table.frame
    rows = [
        [outlier.row, *(runs[name].iloc[outlier.row - 1] for name in ("gpu", "cnn", "batch_per_gpu")),
         outlier.text]
        for outlier in (found if show_all else found[:_SHOWN])
    ]  # fmt: skip
    rules = ", ".join(f"{number} x {rule}" for rule, number in Counter(o.rule for o in found).items())
    hidden = len(found) - len(rows)
    more = f"\n... and {hidden} more; --all shows them" if hidden else ""
    head = f"{table.name}: {len({o.row for o in found}):,} of {len(table):,} runs deserve a look: {rules}"
    return f"{head}\n{fitted_table(['row', 'GPU', 'CNN', 'batch', 'why'], rows)}{more}"
