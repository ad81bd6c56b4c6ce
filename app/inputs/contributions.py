"""A contribution to the shipped tables as a folder of files, written whole or not at all."""

import json
from pathlib import Path

from trainlaw.app.inputs.tables import read_runs, run_faults
from trainlaw.datasets import DATASETS, RunTable, load
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.datasets.measurements.contribution import (
    Contribution,
    check_source,
    contribution,
    contribution_folder,
)
from trainlaw.formulas import InputError
from trainlaw.formulas.files import write_text_atomically

LICENCES = ("CC0-1.0", "CC-BY-4.0", "MIT", "BSD-3-Clause", "Apache-2.0")


def write_contribution(
    file: Path, to: Path, source: str, licence: str, gpu_file: Path | None = None
) -> tuple[Path, Contribution]:
    """Check a file of runs and write `runs.csv`, `machine.json` and `README.md` into a folder below `to`.

    gpu_file : devices that the GPU table lacks (None: the file that `trainlaw profile` writes next to the
    runs, where it exists). Raises FaultsError or InputError for runs with faults, an unknown licence or a
    name that ships already.
    """
    if licence not in LICENCES:
        raise InputError(f"--licence: expected one of {', '.join(LICENCES)}, got {licence!r}")
    machine_file = file.with_name(f"{file.stem}-machine.csv")
    devices = gpu_file or (machine_file if machine_file.is_file() else None)
    shipped = [load(name, RunTable) for name, dataset in DATASETS.items() if dataset.kind == "runs"]
    known = frozenset(text for table in shipped for text in table.frame["source"])
    runs = read_runs(file, None, devices)
    made = contribution(runs, read_table_file(file), check_source(source, known), licence)
    folder = contribution_folder(made.runs, source, to)
    if folder.exists():
        raise InputError(f"{folder} exists: these runs were written before")
    _write(folder, made, file)
    if devices is not None:
        write_text_atomically(folder / "gpus.csv", devices.read_text(encoding="utf-8"))
    faults = run_faults(folder / "runs.csv", None, devices)
    if faults:
        raise InputError(f"{folder / 'runs.csv'}: {faults[0]}")
    return folder, made


def _write(folder: Path, made: Contribution, file: Path) -> None:
    folder.mkdir(parents=True)
    write_text_atomically(folder / "runs.csv", made.runs.frame.to_csv(index=False))
    write_text_atomically(folder / "machine.json", json.dumps(made.machine, indent=2) + "\n")
    write_text_atomically(folder / "README.md", f"# Measured runs\n\n{contribution_text(made, file.name)}\n")


def contribution_text(made: Contribution, file: str) -> str:
    """Return what is passed on, what was removed and what to do next."""
    frame = made.runs.frame
    pooled = int((frame["pool"] == 1).sum())
    removed = ", ".join(f"{number} x {kind}" for kind, number in made.replaced.items()) or "nothing found"
    left_out = ", ".join(made.left_out) or "none"
    return (
        f"{len(frame):,} runs of {frame['cnn'].nunique()} CNNs on {', '.join(sorted(set(frame['gpu'])))}, "
        f"{pooled:,} for pooling; licence {frame['licence'].iloc[0]}.\n\n"
        f"Removed from texts of {file}: {removed}.\n"
        f"Columns that are not passed on: {left_out}. Of the time of measurement the year stays.\n\n"
        "Passed on are the columns of the runs schema (runs.csv), the specifications of the GPUs and the\n"
        "lines `hardware` and `software` of the profile (machine.json). Read both files before you publish\n"
        "them.\n\n"
        "For a pull request: add the folder under `contributions/` and say what else ran on the machine."
    )
