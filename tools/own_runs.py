"""Convert runs of `trainlaw profile` into shipped tables: `python -m tools.own_runs RUNS.csv NAME COMMIT`.

Writes `NAME.csv.xz` with the training iterations and `NAME_forward.csv.xz` with the forward passes of
RUNS.csv. COMMIT is that of the profiler. The tables stay outside the default one: the built-in formulas
have not seen them.
"""

import sys
from pathlib import Path

import pandas as pd
from trainlaw.datasets.measurements.runs import OPTIONAL_COLUMNS, RUN_COLUMNS, without_defaults

from tools.checksums import packed, write_data_files

_SOURCE = {"source": "trainlaw", "licence": "BSD-3-Clause"}


def convert(path: Path, name: str, commit: str) -> dict[str, bytes]:
    """Return the content of both tables by file name."""
    measured = pd.read_csv(path, keep_default_na=False, na_values=[""])
    runs = measured[[column.name for column in RUN_COLUMNS if column.name in measured]].assign(
        source_commit=commit, **_SOURCE
    )
    is_forward = runs["timed_parts"] == "forward"
    parts = {f"{name}.csv.xz": runs[~is_forward], f"{name}_forward.csv.xz": runs[is_forward]}
    return {file: packed_runs(file, rows.reset_index(drop=True)) for file, rows in parts.items()}


def packed_runs(file: str, runs: pd.DataFrame) -> bytes:
    """Return a table of runs as its file is shipped: without optional columns that hold defaults alone."""
    used = without_defaults(runs)
    unused = [name for name in OPTIONAL_COLUMNS if name in runs and name not in used]
    return packed(file, runs.drop(columns=unused).to_csv(index=False, lineterminator="\n").encode())


if __name__ == "__main__":
    write_data_files(convert(Path(sys.argv[1]), *sys.argv[2:]), Path("datasets/data"))
