"""The table that a person names: built in, or a file of their own."""

from pathlib import Path

from trainlaw.datasets import DATASETS, RunTable, load
from trainlaw.datasets.importing import import_runs
from trainlaw.formulas import InputError, unknown_name, write_text_atomically


def find_table(text: str) -> RunTable:
    """Return the built-in table of that name, or the runs in the file of that name.

    Raises UnknownNameError where it is neither, InputError for a file with faults or runs on several GPUs.
    """
    if text in DATASETS:
        table = load(text)
    elif Path(text).is_file():
        table = import_runs(text)
    elif Path(text).suffix or "/" in text:
        raise InputError(f"{text}: no such file; the built-in tables are {', '.join(DATASETS)}")
    else:
        raise unknown_name("table", text, DATASETS)
    if (table.frame["n_gpus"] > 1).any():
        raise InputError(
            f"{text}: expected runs on one GPU each, came runs on several; keep the rows with n_gpus = 1"
        )
    return table


def columns_of_options(options: list[str] | None) -> dict[str, str]:
    """Return names of our columns to names in a file, from texts such as "time_s=latency_ms".

    Raises InputError for a text without exactly one equals sign.
    """
    pairs = [option.split("=") for option in options or []]
    for option, pair in zip(options or [], pairs, strict=True):
        if len(pair) != 2 or not all(pair):
            raise InputError(f"expected --column OURS=YOURS, came {option!r}")
    return {ours: yours for ours, yours in pairs}


def write_table(table: RunTable, path: Path) -> None:
    """Write runs as CSV in the columns of the runs schema; raises InputError where the file exists."""
    if path.exists():
        raise InputError(f"{path} exists; choose another file with --to")
    write_text_atomically(path, table.frame.to_csv(index=False))
