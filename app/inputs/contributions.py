"""A contribution to the shipped tables as a folder of files, written whole or not at all."""

import getpass
import json
import re
import socket
from collections import Counter
from dataclasses import dataclass
from math import isnan
from pathlib import Path

import pandas as pd
from trainlaw.app.inputs.tables import read_runs, run_faults
from trainlaw.datasets import DATASETS, RunTable, load
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.datasets.hardware.gpus import FACT_COLUMNS, Gpu, GpuCatalog
from trainlaw.datasets.measurements.importing import RUN_FILE_COLUMNS
from trainlaw.formulas import InputError
from trainlaw.formulas.files.text_files import read_text, write_text_atomically

# What a text may give away, and what stands for it afterwards.
_PATTERNS = (
    ("an e-mail address", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    (
        "a serial number",
        re.compile(r"\b(?:GPU-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE),
    ),
    (
        "a network address",
        re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", re.I),
    ),
    ("a path", re.compile(r"(?:/(?:home|Users|root|mnt|data|scratch)|[A-Za-z]:\\)[^\s,;]*")),
)
_REMOVED = "removed"
# Shorter names are parts of ordinary words ("pc", "gpu").
_SHORTEST_NAME = 4
# Texts of a profiled file that describe the machine; its other further columns stay behind.
MACHINE_COLUMNS = ("hardware", "software")
_TEXT_COLUMNS = (
    "framework",
    "framework_version",
    "harness",
    "source_path",
    "pool_reason",
    "precision_stated",
)


@dataclass(frozen=True)
class Contribution:
    """Runs ready to be passed on: `machine` describes where they were measured, as JSON values.

    `replaced` counts what was removed from texts, by what it was; `left_out` names the columns of the file
    that are not passed on.
    """

    runs: RunTable
    machine: dict[str, object]
    replaced: dict[str, int]
    left_out: tuple[str, ...]


def contribution(runs: RunTable, file: pd.DataFrame, source: str, licence: str) -> Contribution:
    """Return what to pass on of checked runs.

    runs : as imported from the file; file : all columns of the file, row by row the same runs;
    source, licence : texts for the columns of these names.
    """
    counter: Counter[str] = Counter()
    frame = runs.frame
    for column in _TEXT_COLUMNS:
        frame[column] = [anonymous(str(text), counter) for text in frame[column]]
    frame = frame.assign(source=source, source_commit="not recorded", licence=licence)
    machine = {
        "gpus": [_gpu_facts(name, runs.facts.gpus) for name in sorted(set(frame["gpu"]))],
        **{name: _different_texts(file, name, counter) for name in MACHINE_COLUMNS},
        "years": sorted({int(year) for year in frame["bench_year"].dropna()}),
        "runs": len(frame),
        "source": source,
        "licence": licence,
    }
    left_out = tuple(str(name) for name in file if str(name) not in (*frame, *MACHINE_COLUMNS))
    table = RunTable(source, frame, runs.facts)
    return Contribution(table, machine, dict(counter), left_out)


def anonymous(text: str, counter: Counter[str]) -> str:
    """Return `text` without paths, addresses, serial numbers and the names of this host and user.

    `counter` grows by what was removed.

    >>> anonymous("log in /scratch/ada/runs, node 10.0.0.7", Counter())
    'log in removed, node removed'
    """
    for kind, pattern in _PATTERNS:
        text, number = pattern.subn(_REMOVED, text)
        counter[kind] += number
    for kind, name in (("the name of this host", _host_name()), ("the name of this user", _user_name())):
        if len(name) >= _SHORTEST_NAME:
            text, number = re.subn(rf"\b{re.escape(name)}\b", _REMOVED, text)
            counter[kind] += number
    for kind in [kind for kind, number in counter.items() if not number]:
        del counter[kind]
    return text


def _host_name() -> str:
    return socket.gethostname().partition(".")[0]


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # A container may run under a number that has no name.
        return ""


def _different_texts(file: pd.DataFrame, column: str, counter: Counter[str]) -> list[str]:
    if column not in file:
        return []
    return sorted({anonymous(str(text), counter) for text in file[column].dropna()})


def _gpu_facts(name: str, gpus: GpuCatalog) -> dict[str, object]:
    """Return what is known of a GPU, unknown specifications left out."""
    gpu: Gpu = gpus.find(name)
    facts = {column: getattr(gpu, column) for column in FACT_COLUMNS}
    known = {
        column: value
        for column, value in facts.items()
        if value != "" and not (isinstance(value, float) and isnan(value))
    }
    return {"gpu": gpu.gpu, **known}


def check_source(source: str, known: frozenset[str]) -> str:
    """Return the name of a source; InputError where it is no plain name or belongs to shipped runs."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{2,59}", source):
        raise InputError(
            f"--source: expected 3 to 60 lower-case letters, digits and hyphens, got {source[:80]!r}"
        )
    if source in known:
        raise InputError(f"--source: {source!r} names shipped runs already; choose another name")
    return source


LICENCES = ("CC0-1.0", "CC-BY-4.0", "MIT", "BSD-3-Clause", "Apache-2.0")


def contributed_runs(file: Path, gpu_file: Path | None) -> tuple[RunTable, pd.DataFrame, Path | None]:
    """Return the runs in a file, all of its columns, and the file of its devices; as `write_contribution`."""
    machine_file = file.with_name(f"{file.stem}-machine.csv")
    devices = gpu_file or (machine_file if machine_file.is_file() else None)
    whole = read_table_file(file)
    further = [name for name in map(str, whole.columns) if name not in RUN_FILE_COLUMNS]
    return read_runs(file, None, devices, ignored=further), whole, devices


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
    runs, whole, devices = contributed_runs(file, gpu_file)
    shipped = [load(name, RunTable) for name, dataset in DATASETS.items() if dataset.kind == "runs"]
    known = frozenset(text for table in shipped for text in table.frame["source"])
    made = contribution(runs, whole, check_source(source, known), licence)
    folder = to / f"{source}-{made.runs.sha256[:8]}"
    if folder.exists():
        raise InputError(f"{folder} exists: these runs were written before")
    _write(folder, made, file)
    if devices is not None:
        write_text_atomically(folder / "gpus.csv", read_text(devices))
    faults, _ = run_faults(folder / "runs.csv", None, devices)
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
