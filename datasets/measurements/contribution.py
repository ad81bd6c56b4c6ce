"""Measured runs made ready for the shipped tables: columns of the schema only, without private texts."""

import getpass
import re
import socket
from collections import Counter
from dataclasses import dataclass
from math import isnan
from pathlib import Path

import pandas as pd
from trainlaw.datasets.hardware.gpus import FACT_COLUMNS, Gpu, GpuCatalog
from trainlaw.datasets.measurements.runs import RunTable
from trainlaw.formulas.errors import InputError

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


def contribution_folder(runs: RunTable, source: str, parent: Path) -> Path:
    """Return the folder for a contribution: its source and the beginning of the runs' identity."""
    return parent / f"{source}-{runs.sha256[:8]}"
