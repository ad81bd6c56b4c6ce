"""What a run table covers: GPUs by CNNs, with the batches measured."""

import pandas as pd
from trainlaw.datasets.runs import RunTable


def coverage(table: RunTable) -> pd.DataFrame:
    """Return a row per GPU and a column per base CNN; a cell is "runs (batches)", "" where there are none.

    >>> from trainlaw.datasets import load
    >>> coverage(load("default")).loc["T4", "vgg16"]
    '23 (16-256)'
    """
    labels = table.labels()
    runs = pd.DataFrame(
        {"gpu": labels["gpu"], "cnn": labels["cnn_base"], "batch": table.frame["batch_per_gpu"].to_numpy()}
    )
    cells = runs.groupby(["gpu", "cnn"])["batch"].agg(["size", "min", "max"])
    text = [
        f"{size} ({low})" if low == high else f"{size} ({low}-{high})"
        for size, low, high in cells.itertuples(index=False)
    ]
    return pd.Series(text, index=cells.index, dtype=object).unstack(fill_value="").rename_axis(None, axis=1)


def coverage_of_batches(table: RunTable) -> pd.DataFrame:
    """Return how many runs there are: columns gpu, cnn (base), batch_per_gpu, runs."""
    labels = table.labels()
    runs = pd.DataFrame(
        {
            "gpu": labels["gpu"],
            "cnn": labels["cnn_base"],
            "batch_per_gpu": table.frame["batch_per_gpu"].to_numpy(),
        }
    )
    return runs.value_counts(sort=False).rename("runs").reset_index()
