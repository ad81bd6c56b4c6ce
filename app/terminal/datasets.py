"""The built-in data sets and the suspicious runs of a table, as text."""

import textwrap
from collections import Counter
from collections.abc import Iterator

import pandas as pd
from trainlaw.app.text.numbers import show_seconds
from trainlaw.app.text.tables import fitted_table, terminal_width, text_table
from trainlaw.datasets import DATASETS, Dataset, RunTable, coverage, load
from trainlaw.datasets.measurements.inspection import Outlier
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas.errors import unknown_name

_GPU_COLUMNS, _BATCH_COLUMNS = ("gpu", "target_gpu"), ("batch_per_gpu", "batch")


def list_text() -> str:
    """Return the built-in data sets: one line each, then the notes to read before using each."""
    rows = [_summary(dataset, load(name)) for name, dataset in DATASETS.items()]
    header = ["data set", "rows", "GPUs", "CNNs", "batch", "description"]
    notes = [f"{name}\n{_notes(dataset)}" for name, dataset in DATASETS.items()]
    return "\n\n".join([fitted_table(header, rows), *notes])


def _summary(dataset: Dataset, table: MeasuredTable) -> list[object]:
    frame = table.frame
    gpus, batches = (
        next(frame[name] for name in names if name in frame) for names in (_GPU_COLUMNS, _BATCH_COLUMNS)
    )
    cnns = frame["cnn"].nunique() if "cnn" in frame else "-"
    return [
        dataset.name, f"{len(frame):,}", gpus.nunique(), cnns, f"{batches.min()}-{batches.max()}",
        dataset.title,
    ]  # fmt: skip


def _notes(dataset: Dataset) -> str:
    parts = [
        ("covers", dataset.coverage),
        ("licence", dataset.licence),
        ("commit", dataset.commit),
        ("noise", dataset.noise_floor),
        *(("caution", anomaly) for anomaly in dataset.anomalies),
    ]
    return "\n".join(
        textwrap.fill(
            f"{title}: {text}",
            terminal_width(),
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        for title, text in parts
    )


def table_text(name: str) -> str:
    """Return size, sources and coverage of the data set `name`: GPUs by CNNs, with runs and batch sizes.

    Raises UnknownNameError for an unknown name.
    """
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    table, dataset = load(name), DATASETS[name]
    shortest, longest = (show_seconds(float(value)) for value in (table.seconds.min(), table.seconds.max()))
    head = [
        f"{name}: {dataset.title}",
        f"  {len(table):,} {dataset.kind}, {shortest} to {longest}",
        f"  sha256 {table.sha256}",
        _notes(dataset),
    ]
    frame = table.frame
    rows = []
    if "source" in frame:
        counts = frame.value_counts(["source", "licence"]).rename("rows").reset_index()
        rows = [[row.source, row.rows, row.licence] for row in counts.itertuples()]
    parts = ["\n".join(head), fitted_table(["source", dataset.kind, "licence"], rows) if rows else ""]
    title = f"{dataset.kind} (smallest-largest batch), by GPU and {_COLUMNS[dataset.kind]}:"
    return "\n\n".join([*filter(None, parts), title, *_blocks(coverage(table))])


_COLUMNS = {"runs": "CNN", "layers": "kind of layer", "pairs": "target GPU"}


def _blocks(cells: pd.DataFrame) -> Iterator[str]:
    """Yield the table in blocks of columns that fit the terminal, without empty rows."""
    width = terminal_width() - max(map(len, cells.index))
    columns: list[str] = []
    free = width
    for name in cells.columns:
        needs = 2 + max(len(str(name)), int(cells[name].str.len().max()))
        if columns and needs > free:
            yield _block(cells[columns])
            columns, free = [], width
        columns.append(str(name))
        free -= needs
    yield _block(cells[columns])


def _block(cells: pd.DataFrame) -> str:
    filled = cells[(cells != "").any(axis=1)]
    rows = [[gpu, *row] for gpu, row in zip(filled.index, filled.to_numpy().tolist(), strict=True)]
    return text_table(["", *map(str, cells.columns)], rows, indent="")


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
    head = f"{table.name}: {len({o.row for o in found}):,} of {len(table):,} runs are suspicious: {rules}"
    return f"{head}\n{fitted_table(['row', 'GPU', 'CNN', 'batch', 'reason'], rows)}{more}"
