"""What a table of measurements covers: GPUs by CNNs, layers or target GPUs, with the batches measured."""

import pandas as pd
from trainlaw.datasets.measurements.runs import RunTable
from trainlaw.datasets.tables.measured_table import MeasuredTable


def coverage(table: MeasuredTable) -> pd.DataFrame:
    """Return a row per GPU; a cell is "rows (batches)", "" where there are none.

    The columns are base CNNs for runs, kinds and phases for layers, target GPUs for pairs (rows: anchors).

    >>> from trainlaw.datasets import load
    >>> coverage(load("default")).loc["T4", "vgg16"]
    '23 (16-256)'
    """
    rows = _keys(table)
    cells = rows.groupby(["gpu", "column"])["batch"].agg(["size", "min", "max"])
    text = [
        f"{size} ({low})" if low == high else f"{size} ({low}-{high})"
        for size, low, high in cells.itertuples(index=False)
    ]
    return pd.Series(text, index=cells.index, dtype=object).unstack(fill_value="").rename_axis(None, axis=1)


def _keys(table: MeasuredTable) -> pd.DataFrame:
    """The GPU, the column and the batch of each row."""
    frame = table.frame
    if isinstance(table, RunTable):
        labels = table.labels()
        parts = (labels["gpu"], labels["cnn_base"], frame["batch_per_gpu"])
    elif "anchor_gpu" in frame:
        parts = (frame["anchor_gpu"], frame["target_gpu"], frame["batch_per_gpu"])
    else:
        parts = (frame["gpu"], frame["kind"] + " " + frame["phase"].astype(str), frame["batch"])
    names = ("gpu", "column", "batch")
    return pd.DataFrame({name: part.to_numpy() for name, part in zip(names, parts, strict=True)})


def coverage_of_batches(table: RunTable) -> pd.DataFrame:
    """Return how many runs there are: columns gpu, cnn (base), batch_per_gpu, runs."""
    keys = _keys(table).set_axis(["gpu", "cnn", "batch_per_gpu"], axis=1)
    return keys.value_counts(sort=False).rename("runs").reset_index()
