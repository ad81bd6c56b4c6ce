"""The configurations that a prediction is wanted for, from names or from a CSV file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.app.inputs.selection import ALL_GPUS, GpuSelection
from trainlaw.datasets import CnnCounts, Gpu, GpuCatalog, RunTable
from trainlaw.datasets.files.mapping import near_columns
from trainlaw.datasets.hardware.collectives import gpus_of_nodes
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.hardware.possible import impossible_setup
from trainlaw.datasets.measurements.runs import (
    PROFILER_COLUMNS,
    RUN_COLUMNS,
    configuration_row,
    unmeasured_runs,
)
from trainlaw.datasets.profiler.configurations import PLAN_NOTES
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import InputError, TrainlawError
from trainlaw.formulas.errors import shown
from trainlaw.formulas.files.text_files import read_csv

_MOST_RUNS = 50_000  # 600 MB with their warnings
_NEEDED = ("cnn", "gpu", "batch_per_gpu")
# Those of runs and of plans that say nothing about a configuration are not read.
_KNOWN = (*_NEEDED, *(column.name for column in RUN_COLUMNS), *PROFILER_COLUMNS, "fabric", *PLAN_NOTES)


@dataclass(frozen=True)
class Setup:
    """How a configuration trains; None where the default of `configuration` holds.

    precision : such as "fp32". n_gpus, n_nodes : GPUs, and nodes that they are spread over. link : within a
    node. fabric : between nodes. algorithm : of the all-reduce. timed_parts : what the time covers.
    layout, compilation, tuned, host_launch_s, allocation, bucketed, stack : as for `configuration`. Without a
    precision PyTorch's default on the GPU holds.
    """

    precision: str | None = None
    n_gpus: int | None = None
    n_nodes: int | None = None
    link: str | None = None
    fabric: str | None = None
    algorithm: str | None = None
    timed_parts: str | None = None
    layout: str | None = None
    compilation: str | None = None
    tuned: bool | None = None
    host_launch_s: float | None = None
    allocation: str | None = None
    bucketed: bool | None = None
    stack: str | None = None


DEFAULT_SETUP = Setup()


@dataclass(frozen=True)
class RunRequest:
    """What a prediction is wanted for: one CNN and its batches on one GPU or many, or the rows of a file.

    cnn : a name or a file. gpu : a name, or a change ("T4 with 2x bandwidth"). batches : images per
    iteration. pixels : side of an image, None for the CNN's own. all_gpus : every GPU of `selection`. file :
    CSV of configurations. ignored : columns of it that are not read. gpu_file : table with GPUs to add or
    correct. restore_batchnorm : of a CNN's file, as for `read_cnn`.
    """

    cnn: str | None = None
    gpu: str | None = None
    batches: tuple[int, ...] = ()
    pixels: int | None = None
    all_gpus: bool = False
    file: Path | None = None
    ignored: tuple[str, ...] = ()
    gpu_file: Path | None = None
    setup: Setup = DEFAULT_SETUP
    selection: GpuSelection = ALL_GPUS
    restore_batchnorm: bool | None = None


def check_request(request: RunRequest, single_gpu_s: float | None = None) -> None:
    """Raise InputError for links without GPUs or nodes to connect, or a measured time that fits no run.

    single_gpu_s : measured time of an iteration on one GPU, None where it is not given.
    """
    setup = request.setup
    parts = gpus_of_nodes(setup.allocation) if setup.allocation else ()
    n_gpus, n_nodes = sum(parts) or setup.n_gpus or 1, len(parts) or setup.n_nodes or 1
    if setup.link and n_gpus == n_nodes:
        raise InputError("--link connects the GPUs of one node: use more --gpus than --nodes")
    if setup.fabric and n_nodes == 1:
        raise InputError("--fabric connects nodes: use several --nodes")
    if single_gpu_s and (n_gpus == 1 or request.all_gpus or request.file):
        raise InputError("--single-gpu-seconds is for one configuration on several --gpus of the kind --gpu")
    if request.selection != ALL_GPUS and not request.all_gpus:
        raise InputError("--vendor and --min-memory choose among --all-gpus")


def requested_runs(request: RunRequest) -> RunTable:
    """Return the configurations of a request.

    Raises InputError where parts are missing or contradict each other, UnknownNameError for an unknown name.
    """
    gpus = known_gpus(request.gpu_file)
    cnn, gpu = request.cnn, request.gpu
    if request.file is not None:
        if replace(request, file=None, ignored=(), gpu_file=None) != RunRequest():
            raise InputError(
                "--from names everything in its file; leave out --cnn, --gpu, --batch, --pixels, --all-gpus"
            )
        return runs_of_csv(request.file, gpus, ignored=request.ignored)
    if cnn is None or not request.batches or (gpu is None) != request.all_gpus:
        raise InputError("expected --cnn, --batch and either --gpu or --all-gpus (or --from FILE)")
    chosen = request.selection.of(gpus) if gpu is None else [wanted_gpu(gpu, gpus)]
    counts = named_cnn(cnn, request.pixels, restore_batchnorm=request.restore_batchnorm)
    return _runs_on(counts, chosen, request.batches, request.setup, gpus)


def one_run(
    cnn: str,
    gpu: str,
    batch: int,
    pixels: int | None = None,
    setup: Setup = DEFAULT_SETUP,
    *,
    gpus: GpuCatalog | None = None,
) -> RunTable:
    """Return one configuration; arguments as the fields of `RunRequest`.

    gpus : known GPUs, None for the built-in ones.
    Raises UnknownNameError for a CNN or GPU that is not known, InputError for a faulty file.
    """
    catalog = gpus or known_gpus()
    return _runs_on(named_cnn(cnn, pixels), [wanted_gpu(gpu, catalog)], [batch], setup, catalog)


def _runs_on(
    cnn: CnnCounts, gpus: Sequence[Gpu], batches: Iterable[int], setup: Setup, catalog: GpuCatalog
) -> RunTable:
    """Every batch on every GPU that can train so; catalog : known GPUs, to which changed ones are added."""
    able, batches = [gpu for gpu in gpus if not impossible(gpu, setup)], tuple(batches)
    if len(able) * len(batches) > _MOST_RUNS:
        raise InputError(
            f"expected at most {_MOST_RUNS:,} configurations at once, got more: name fewer GPUs or batches"
        )
    rows = [configured_row(cnn, gpu, batch, setup) for gpu in able or gpus for batch in batches]
    return unmeasured_runs("configurations", rows, Facts(catalog.with_gpus(gpus), (cnn,)))


def configured_row(cnn: CnnCounts, gpu: Gpu, batch: int, setup: Setup) -> dict[str, object]:
    """Return one configuration of a known CNN and GPU as a row for `unmeasured_runs`.

    Raises InputError for a precision or link that the GPU has not, and for more GPUs than a node holds.
    """
    reason = impossible(gpu, setup)
    if reason:
        raise InputError(reason)
    given = {name: value for name, value in vars(setup).items() if value is not None}
    if "fabric" in given:
        given["network"] = given.pop("fabric")
    return configuration_row(cnn, gpu, batch, **given)


def impossible(gpu: Gpu, setup: Setup) -> str:
    """Return why a GPU cannot train so, as `impossible_setup`; "" where it can."""
    parts = gpus_of_nodes(setup.allocation) if setup.allocation else ()
    n_gpus, n_nodes = (max(parts), 1) if parts else (setup.n_gpus or 1, setup.n_nodes or 1)
    return impossible_setup(gpu, setup.precision, setup.link, n_gpus, n_nodes)


def runs_of_csv(
    path: Path,
    gpus: GpuCatalog | None = None,
    on: Sequence[str] = (),
    precision: str | None = None,
    ignored: Sequence[str] = (),
) -> RunTable:
    """Return the configurations of a CSV file with the columns cnn, gpu and batch_per_gpu.

    The columns input_size_px, n_classes, precision, n_gpus, n_nodes, link, fabric (or network), algorithm,
    timed_parts, layout, compilation, tuned, host_launch_s, allocation, bucketed and stack may follow, and
    those of measured runs and plans; others must be `ignored`. gpus : known GPUs, None for the built-in
    ones. on : names of GPUs for a file without the column gpu: each row on each of them. precision : of rows
    without one; None for PyTorch's default on their GPU.
    Raises InputError for a file that is no such table, with the line and column of the first fault.
    """
    columns, rows = read_csv(path)
    numbered, header = list(enumerate(rows, start=2)), list(columns)
    if on and "gpu" not in header:
        numbered, header = [(n, {**row, "gpu": gpu}) for n, row in numbered for gpu in on], [*header, "gpu"]
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise InputError(f"{path}: expected the columns {', '.join(_NEEDED)}; missing: {', '.join(missing)}")
    for name in header:
        if name not in (*_KNOWN, *ignored):
            near = near_columns(name, _KNOWN)
            raise InputError(
                f"{path}: unknown column {shown(name)}: {near} Leave it out with --ignore {name}"
            )
    if not rows:
        raise InputError(f"{path}: expected at least one row under the header")
    if precision:
        numbered = [(n, {**row, "precision": row.get("precision") or precision}) for n, row in numbered]
    return _together(numbered, path, gpus or known_gpus())


def _together(rows: Iterable[tuple[int, Mapping[str, str | None]]], path: Path, gpus: GpuCatalog) -> RunTable:
    """One table of all rows, each with its line; each GPU is looked up and each CNN's file read once."""
    named_gpus: dict[str, Gpu] = {}
    cnns: dict[tuple[object, ...], CnnCounts] = {}
    found = []
    for line, row in rows:
        try:
            found.append(_row_run(row, gpus, named_gpus, cnns))
        except TrainlawError as error:
            raise InputError(f"{path} line {line}: {error}") from None
    gpus = gpus.with_gpus(named_gpus.values())
    _refuse_namesakes(cnns.values(), path)
    return unmeasured_runs("configurations", found, Facts(gpus, tuple(cnns.values())))


def _refuse_namesakes(cnns: Iterable[CnnCounts], path: Path) -> None:
    known: dict[tuple[str, int, int], CnnCounts] = {}
    for facts in cnns:
        if known.setdefault(facts.key, facts).counts != facts.counts:
            raise InputError(f"{path}: two different CNNs are called {facts.cnn}; rename one of the files")


def _row_run(
    row: Mapping[str, str | None],
    gpus: GpuCatalog,
    named_gpus: dict[str, Gpu],
    cnns: dict[tuple[object, ...], CnnCounts],
) -> dict[str, object]:
    gpu, cnn = _text(row, "gpu"), _text(row, "cnn")
    pixels, classes, n_gpus, n_nodes = (
        _whole_number(row, name) if row.get(name) else None
        for name in ("input_size_px", "n_classes", "n_gpus", "n_nodes")
    )
    if gpu not in named_gpus:
        named_gpus[gpu] = wanted_gpu(gpu, gpus)
    key = cnn, pixels, classes
    if key not in cnns:
        cnns[key] = named_cnn(cnn, pixels, classes)
    batch = _whole_number(row, "batch_per_gpu")
    setup = Setup(
        row.get("precision") or None,
        n_gpus,
        n_nodes,
        link=row.get("link") or None,
        fabric=row.get("fabric") or row.get("network") or None,
        algorithm=row.get("algorithm") or None,
        timed_parts=row.get("timed_parts") or None,
        layout=_stated(row, "layout"),
        compilation=_stated(row, "compilation"),
        tuned=_flag(row, "tuned"),
        host_launch_s=_seconds(row, "host_launch_s"),
        allocation=_stated(row, "allocation"),
        bucketed=_flag(row, "bucketed"),
        stack=row.get("stack") or None,
    )
    return configured_row(cnns[key], named_gpus[gpu], batch, setup)


def _stated(row: Mapping[str, str | None], column: str) -> str | None:
    """Return a text; None where it is empty or, as in tables of runs, "unknown"."""
    value = (row.get(column) or "").strip()
    return None if value in ("", "unknown") else value


def _flag(row: Mapping[str, str | None], column: str) -> bool | None:
    value = _stated(row, column)
    if value not in (None, "0", "1"):
        raise InputError(f"expected 0 or 1 in column {column}, got {shown(value)}")
    return None if value is None else value == "1"


def _seconds(row: Mapping[str, str | None], column: str) -> float | None:
    value = _stated(row, column)
    try:
        return None if value is None else float(value)
    except ValueError:
        raise InputError(f"expected a number of seconds in column {column}, got {shown(value)}") from None


_TIME = re.compile(r"(\d{1,9}(?:\.\d{0,9})?(?:e-?\d{1,2})?) ?(s|ms|us|µs|μs)", re.ASCII)


def host_launch_of(text: str) -> float:
    """Return the seconds of a time with a unit; InputError for any other text.

    >>> host_launch_of("40us"), host_launch_of("0.04 ms")
    (4e-05, 4e-05)
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"expected --host-launch as a time per layer with its unit, such as 40us, got {shown(text)}"
        )
    # Divided, because 1e6 is exact and 1e-6 is not: 40us is the number 40e-6.
    return float(match[1]) / {"s": 1.0, "ms": 1e3}.get(match[2], 1e6)


def _text(row: Mapping[str, str | None], column: str) -> str:
    value = (row.get(column) or "").strip()
    if not value:
        raise InputError(f"column {column} is empty")
    return value


def _whole_number(row: Mapping[str, str | None], column: str) -> int:
    value = _text(row, column)
    if not value.isdecimal() or len(value) > 9 or not int(value):
        raise InputError(f"expected a whole number of at least 1 in column {column}, got {value[:40]!r}")
    return int(value)
