"""The configurations that a person asks a prediction for, from names or from a CSV file."""

import csv
import io
from pathlib import Path

import pandas as pd
from trainlaw.datasets import RunTable, built_in_gpus, configuration
from trainlaw.formulas import InputError, TrainlawError, read_text

_MAX_BYTES = 10_000_000
_NEEDED = ("cnn", "gpu", "batch_per_gpu")
_OPTIONAL = ("input_size_px", "n_classes", "precision")


def one_run(cnn: str, gpu: str, batch: int, pixels: int | None = None, precision: str = "fp32") -> RunTable:
    """Return one configuration.

    batch : images per iteration. pixels : side of an image, None for the CNN's own.
    Raises UnknownNameError for a CNN or GPU that is not known.
    """
    return configuration(cnn=cnn, gpu=gpu, batch_per_gpu=batch, input_size_px=pixels, precision=precision)


def on_all_gpus(cnn: str, batch: int, pixels: int | None = None, precision: str = "fp32") -> RunTable:
    """Return a configuration on every known GPU whose peak rate and bandwidth are known."""
    usable = [
        gpu for gpu in built_in_gpus().gpus if gpu.peak_fp32_flop_per_s > 0 and gpu.bandwidth_byte_per_s > 0
    ]
    return _together([one_run(cnn, gpu.gpu, batch, pixels, precision) for gpu in usable])


def wanted_runs(
    *,
    cnn: str | None,
    gpu: str | None,
    batch: int | None,
    pixels: int | None,
    all_gpus: bool,
    file: Path | None,
) -> RunTable:
    """Return what a person asked for by the options of `trainlaw predict`: names, or a CSV file.

    Raises InputError where options are missing or contradict each other.
    """
    if file is not None:
        if cnn or gpu or batch or pixels or all_gpus:
            raise InputError(
                "--runs names everything in its file; leave out --cnn, --gpu, --batch, --pixels, --all-gpus"
            )
        return runs_of_csv(file)
    if cnn is None or batch is None or (gpu is None) != all_gpus:
        raise InputError("expected --cnn, --batch and either --gpu or --all-gpus (or --runs FILE)")
    return one_run(cnn, gpu, batch, pixels) if gpu is not None else on_all_gpus(cnn, batch, pixels)


def runs_of_csv(path: Path) -> RunTable:
    """Return the configurations of a CSV file with the columns cnn, gpu and batch_per_gpu.

    The columns input_size_px, n_classes and precision may follow; other columns are not read.
    Raises InputError for a file that is no such table, with the row and column of the first fault.
    """
    reader = csv.DictReader(io.StringIO(read_text(path, _MAX_BYTES)))
    try:
        rows, header = list(reader), reader.fieldnames or []
    except csv.Error as error:
        raise InputError(f"expected a CSV table in {path}: {error}") from None
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise InputError(f"{path}: expected the columns {', '.join(_NEEDED)}; missing: {', '.join(missing)}")
    if not rows:
        raise InputError(f"{path}: expected at least one row under the header")
    return _together([_run_of_row(row, f"{path} line {line}") for line, row in enumerate(rows, start=2)])


def _run_of_row(row: dict[str, str | None], where: str) -> RunTable:
    try:
        return configuration(
            cnn=_text(row, "cnn"),
            gpu=_text(row, "gpu"),
            batch_per_gpu=_whole_number(row, "batch_per_gpu"),
            input_size_px=_whole_number(row, "input_size_px") if row.get("input_size_px") else None,
            n_classes=_whole_number(row, "n_classes") if row.get("n_classes") else None,
            precision=row.get("precision") or "fp32",
        )
    except TrainlawError as error:
        raise InputError(f"{where}: {error}") from None


def _text(row: dict[str, str | None], column: str) -> str:
    value = (row.get(column) or "").strip()
    if not value:
        raise InputError(f"expected a value in column {column}, came nothing")
    return value


def _whole_number(row: dict[str, str | None], column: str) -> int:
    value = _text(row, column)
    if not value.isdecimal() or len(value) > 9 or not int(value):
        raise InputError(f"expected a whole number of at least 1 in column {column}, came {value[:40]!r}")
    return int(value)


def _together(runs: list[RunTable]) -> RunTable:
    """One table instead of many; all name built-in cards and networks."""
    return RunTable("configurations", pd.concat([table.frame for table in runs], ignore_index=True))
