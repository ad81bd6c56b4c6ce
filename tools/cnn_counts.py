"""Add CNNs and counts to the tables of CNNs: `python -m tools.cnn_counts`, from the root of a checkout,
after `python -m tools.checksums`.

It writes `cnns.csv`, the two tables of timm's CNNs and their checksums into `datasets/data`. Columns that the
tables have stay as they are; those that `COUNTS` has in addition are counted on the layers. CNNs that the zoo
has in addition are counted at their usual size.
"""

from collections.abc import Iterable
from pathlib import Path

from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, memory_per_sample
from trainlaw.datasets.cnns.zoo import LATER_TIMM_COUNTS_FILE, TIMM_COUNTS_FILE, build, zoo_names
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas.files.text_files import csv_text

from tools.checksums import packed, write_data_files

_FOLDER = Path("datasets/data")


def count_row(cnn: Cnn) -> dict[str, object]:
    """Return the row of a CNN in a table of counts; whole numbers without a point."""
    memory = memory_per_sample(cnn)
    return {
        "cnn": cnn.name,
        "cnn_base": cnn.base,
        "cnn_family": cnn.family,
        "input_size_px": cnn.input_size_px,
        "n_classes": cnn.n_classes,
        **{name: int(value) if value == int(value) else value for name, value in counts(cnn).items()},
        **{name: getattr(memory, name) for name in MEMORY_COLUMNS},
    }


def completed(file: str, names: Iterable[str] = ()) -> bytes:
    """Return a shipped table of counts as CSV, with the counts and those of the named CNNs that it lacks."""
    rows: list[dict[str, object]] = []
    listed = set()
    for known in read_data_rows(file):
        row = count_row(build(known["cnn"], int(known["input_size_px"]), int(known["n_classes"])))
        rows.append({name: known.get(name, value) for name, value in row.items()})
        listed.add(known["cnn"])
    rows += [count_row(build(name)) for name in names if name not in listed]
    return csv_text(list(rows[0]), rows).encode()


if __name__ == "__main__":
    of_timm = {file: packed(file, completed(file)) for file in (TIMM_COUNTS_FILE, LATER_TIMM_COUNTS_FILE)}
    write_data_files({"cnns.csv": completed("cnns.csv", zoo_names()), **of_timm}, _FOLDER)
