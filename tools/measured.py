"""Writes the measured times that stand next to predictions: `python -m tools.measured`, from a checkout."""

from pathlib import Path

import pandas as pd
from trainlaw.datasets import load
from trainlaw.datasets.cnns.catalog import find_cnn_counts
from trainlaw.datasets.cnns.zoo import zoo_entry
from trainlaw.datasets.measurements.nearest import FILE, LETTERS

from tools.checksums import write_data_files

# Some runs are without the optimizer's step, which is a small share.
_PARTS = "forward+backward"
_KEY = ["cnn", "gpu"]
# With more of its MACs in linear layers, a CNN takes longer by default than in tf32.
_MOST_LINEAR = 0.2
_SETUP = ["letter", "input_size_px", "batch_per_gpu"]


def measured_csv() -> str:
    """Return a line per CNN and GPU with the measured iterations of both, packed."""
    runs = load("default").frame
    plain = (runs["tuned"] != 1) & runs["compilation"].isin(["eager", "unknown"])
    runs = runs[plain & runs["timed_parts"].str.startswith(_PARTS) & runs["precision"].isin(list(LETTERS))]
    usual = {cnn: zoo_entry(cnn) for cnn in runs["cnn"].unique()}
    runs = runs[runs["n_classes"] == runs["cnn"].map(lambda cnn: usual[cnn].n_classes)]
    share = {name: find_cnn_counts(name).counts for name in usual}
    linear = runs["cnn"].map({name: one["linear_macs"] / one["macs"] for name, one in share.items()})
    runs = runs[(linear <= _MOST_LINEAR) | ~runs["precision"].isin(["tf32", "default"])]
    letters = runs["precision"].map(LETTERS)
    letters = letters.where(runs["layout"] != "channels_last", letters.str.upper())
    runs = runs.assign(letter=letters)
    grouped = runs.groupby([*_KEY, *_SETUP])
    found = grouped.agg(low=("time_s", "min"), high=("time_s", "max"), sources=("source", "nunique"))
    rows = found.reset_index()
    rows["packed"] = [_packed(row, usual[row.cnn].input_size_px) for row in rows.itertuples()]
    lines = rows.groupby(_KEY)["packed"].agg(" ".join)
    return "".join(["cnn,gpu,runs\n", *(f"{cnn},{gpu},{packed}\n" for (cnn, gpu), packed in lines.items())])


def _packed(row: "pd.core.frame.Row", usual_px: int) -> str:  # type: ignore[name-defined]
    low, high = (f"{1e3 * seconds:.3g}" for seconds in (row.low, row.high))
    low, high = (f"{float(text):g}" for text in (low, high))
    return (
        f"{row.batch_per_gpu}{row.letter}{low}"
        + (f"-{high}" if high != low else "")
        + (f"*{row.sources}" if row.sources > 1 else "")
        + (f"@{row.input_size_px}" if row.input_size_px != usual_px else "")
    )


if __name__ == "__main__":
    write_data_files({FILE: measured_csv().encode()}, Path("datasets/data"))
