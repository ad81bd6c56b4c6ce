"""The table that the user names: built in, or a file."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.datasets import DATASETS, RunTable, load
from trainlaw.datasets.files.faults import Fault, FaultsError
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.measurements.runs import LAYOUTS
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import check_name, unknown_name
from trainlaw.formulas.files.text_files import write_text_atomically


def find_table(text: str, gpu_file: Path | None = None, cnn_files: Iterable[Path] | None = None) -> RunTable:
    """Return the built-in table of that name, or the runs in the file of that name.

    gpu_file, cnn_files : custom GPUs and CNNs, for the runs in a file.
    Raises UnknownNameError where it is neither, InputError for a file with faults or runs on several GPUs.
    """
    table = any_table(text, gpu_file=gpu_file, cnn_files=cnn_files)
    if (table.frame["n_gpus"] > 1).any():
        raise InputError(
            f"{text}: expected runs on one GPU each, got runs on several; keep the rows with n_gpus = 1, or "
            "study several GPUs: trainlaw study --of multi"
        )
    return table


def any_table(
    text: str,
    columns: Mapping[str, str] | None = None,
    *,
    gpu_file: Path | None = None,
    cnn_files: Iterable[Path] | None = None,
    ignored: Iterable[str] = (),
) -> RunTable:
    """Return the runs of a built-in table or of a file, on any number of GPUs; as `find_table`.

    columns : names of our columns to names in the file. ignored : columns of the file that say nothing.
    """
    if text in DATASETS:
        return load(text, RunTable)
    return read_runs(named_file(text), columns, gpu_file, cnn_files, ignored)


def named_file(text: str) -> Path:
    """Return the path that a text names which is no built-in table; raises as `find_table` without a file."""
    path = Path(text)
    if not path.exists():
        if path.suffix or "/" in text:
            raise InputError(f"{text}: no such file; the built-in tables are {', '.join(DATASETS)}")
        raise unknown_name("table", text, DATASETS)
    return path


def runs_of(
    table: RunTable, gpu: str | None = None, precision: str | None = None, layout: str | None = None
) -> RunTable:
    """Return the runs of a table on GPUs of one chip, in a precision, in a layout; None for any.

    gpu : name of a GPU; those with its chip and number of multiprocessors count as the same. A run whose
    layout is not known is in nchw. Raises UnknownNameError for an unknown name, InputError without any run.

    >>> from trainlaw.datasets import load
    >>> len(runs_of(load("default"), "Tesla T4", "fp32"))
    359
    """
    chosen = np.ones(len(table), dtype=bool)
    if gpu is not None:
        group = table.facts.gpus.find(gpu).gpu_group
        chosen &= table.labels()["gpu_group"].to_numpy(dtype=str) == group
        if not chosen.any():
            raise InputError(f"{table.name}: expected runs on {gpu} or GPUs of its chip, got none")
    if precision is not None:
        check_name("precision", precision, PRECISIONS)
        chosen = _narrowed(table, chosen, table.frame["precision"].to_numpy(dtype=str), precision)
    if layout is not None:
        check_name("layout", layout, LAYOUTS)
        known = table.frame["layout"].to_numpy(dtype=str)
        chosen = _narrowed(table, chosen, np.where(known == "unknown", LAYOUTS[0], known), layout)
    return table.where(chosen)


def _narrowed(table: RunTable, chosen: np.ndarray, values: np.ndarray, wanted: str) -> np.ndarray:
    """Return the chosen runs, bool (n_runs,), that have a value; InputError where none is left."""
    found: np.ndarray = chosen & (values == wanted)
    if not found.any():
        others = ", ".join(np.unique(values[chosen]).tolist())
        raise InputError(f"{table.name}: expected runs in {wanted}, got runs in {others} only")
    return found


def read_runs(
    path: Path,
    columns: Mapping[str, str] | None = None,
    gpu_file: Path | None = None,
    cnn_files: Iterable[Path] | None = None,
    ignored: Iterable[str] = (),
) -> RunTable:
    """Return the runs in a file; arguments as `any_table`.

    Raises FaultsError, with one fault per cell, InputError for a file that is no table.
    """
    from trainlaw.datasets.measurements.importing import import_runs  # noqa: PLC0415 (checks load slowly)

    user_cnns = [named_cnn(str(file)) for file in cnn_files or ()]
    return import_runs(path, columns, gpus=known_gpus(gpu_file), cnns=user_cnns, ignored=ignored)


def run_faults(
    path: Path,
    columns: Mapping[str, str] | None = None,
    gpu_file: Path | None = None,
    cnn_files: Iterable[Path] | None = None,
    ignored: Iterable[str] = (),
) -> tuple[list[Fault], RunTable | None]:
    """Return the faults of the runs in a file, and the runs when there are none; as `read_runs`."""
    try:
        return [], read_runs(path, columns, gpu_file, cnn_files, ignored)
    except FaultsError as error:
        # Faults of another file, such as the one with GPUs, are no faults of these runs.
        if error.path != path.name:
            raise
        return list(error.faults), None


@contextmanager
def built_in_file(name: str) -> Iterator[Path]:
    """Write a built-in table into a file as of a user, for as long as the context lasts."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.csv"
        load(name, RunTable).frame.to_csv(path, index=False)
        yield path


def file_options(gpu_file: Path | None, cnn_files: Iterable[Path] | None) -> str:
    """Return the options that name the same custom GPUs and CNNs, with a space before each.

    >>> file_options(Path("my-gpus.csv"), None)
    ' --gpu-file my-gpus.csv'
    """
    gpus = f" --gpu-file {gpu_file}" if gpu_file else ""
    return gpus + "".join(f" --cnn-file {file}" for file in cnn_files or ())


def merged_text(table: RunTable, other: RunTable) -> str:
    """Return how many runs a merge brings together, and how many configurations are in both tables."""
    keys = ["gpu", "cnn", "input_size_px", "n_classes", "batch_per_gpu", "n_gpus", "precision"]
    here, there = (set(part.frame[keys].itertuples(index=False, name=None)) for part in (table, other))
    numbers = f"{len(table):,} runs and {len(other):,} of {other.name}"
    shared = len(here & there)
    return f"{numbers}; configurations in both, kept as repeats: {shared:,}"


def write_table(table: RunTable, path: Path) -> None:
    """Write runs as CSV in the columns of the runs schema; raises InputError where the file exists."""
    if path.exists():
        raise InputError(f"{path} exists; choose another file with --out")
    write_text_atomically(path, table.frame.to_csv(index=False))
