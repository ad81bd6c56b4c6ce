"""Write the covariances of the factors on times: `python -m tools.time_covariances`, from a checkout's root.

They are those between the sets of the default table: the runs of a source on a GPU in a precision.
"""

from pathlib import Path

import numpy as np
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.scopes import formula_rows
from trainlaw.datasets import RunTable, load
from trainlaw.formulas import load_formula
from trainlaw.validate.time_covariances import time_covariances

from tools.checksums import write_data_files


def sets_of(table: RunTable) -> np.ndarray:
    """Return the set of each run as text, (n_runs,)."""
    frame = table.frame
    return (frame["source"] + " " + frame["gpu"] + " " + frame["precision"]).to_numpy(dtype=str)


def main() -> None:
    """Write the table, with four decimals."""
    table, law = load("default", RunTable), load_formula(BUILT_IN)
    groups = table.labels()["gpu_group"].to_numpy(dtype=str)
    found = time_covariances(law, formula_rows(law, table), table.seconds, sets_of(table), groups)
    text = found.round(4).to_csv(index_label="name", lineterminator="\n")
    write_data_files({"time_covariances.csv": text.encode()}, Path("datasets/data"))


if __name__ == "__main__":
    main()
