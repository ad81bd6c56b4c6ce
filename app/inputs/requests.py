"""The configurations that a prediction is wanted for, from names or from a CSV file."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from math import ceil
from operator import attrgetter, itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.app.inputs.selection import ALL_GPUS, GpuSelection, listed_gpus, named_gpus
from trainlaw.datasets import CnnCounts, Gpu, GpuCatalog, RunTable
from trainlaw.datasets.files.mapping import near_columns
from trainlaw.datasets.hardware.collectives import gpus_of_nodes
from trainlaw.datasets.hardware.hosts import hosts
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.hardware.instances import instances_by_name
from trainlaw.datasets.hardware.possible import impossible_setup, impossible_software
from trainlaw.datasets.hardware.precisions import precision_name
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.runs import (
    PLAN_NOTES,
    PRECISION_OF_PASSES,
    PROFILER_COLUMNS,
    RUN_COLUMNS,
    Setup,
    check_counts,
    configuration_row,
    unmeasured_runs,
)
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import InputError, TrainlawError
from trainlaw.formulas.errors import shown
from trainlaw.formulas.files.text_files import MAX_ROWS, MAX_TEXT_BYTES, opened_csv
from trainlaw.formulas.scopes import FORWARD

_MOST_RUNS = 50_000  # 600 MB with their warnings
# Of a file that is read by blocks.
_MOST_ROWS, _MOST_BYTES = 5_000_000, 2 * 2**30
_MOST_MACHINES = 100_000  # that are remembered, 150 MB
_NEEDED = ("cnn", "gpu", "batch_per_gpu")
# Those of runs and of plans that say nothing about a configuration are not read.
_KNOWN = (*_NEEDED, *(column.name for column in RUN_COLUMNS), *PROFILER_COLUMNS, "fabric", *PLAN_NOTES)
#: Names of columns that are the arguments of `trainlaw.predict`.
SHORT_COLUMNS = {"batch": "batch_per_gpu", "pixels": "input_size_px", "classes": "n_classes"}
_OF_CNN = ("cnn", "input_size_px", "n_classes")
_FLAGS = ("tuned", "bucketed", "peer_access")


DEFAULT_SETUP = Setup()
# What is said of a configuration but its CNN and batch.
_OF_MACHINE = {"gpu", "network", *vars(DEFAULT_SETUP)}


@dataclass(frozen=True)
class RunRequest:
    """The configurations to predict: one CNN and its batches on one GPU or many, or the rows of a file.

    cnn : a name or a file. gpu : names, as for `named_gpus`, or a change ("T4 with 2x bandwidth"). batches
    : images per iteration. pixels : side of an image, n_classes : classes, None for the CNN's own. all_gpus
    : every GPU of `selection`. file : CSV of configurations. ignored : columns of it that are not read.
    gpu_file : table with GPUs to add or correct. restore_batchnorm : of a CNN's file, as for `read_cnn`.
    """

    cnn: str | None = None
    gpu: str | Sequence[str] | None = None
    batches: tuple[int, ...] = ()
    pixels: int | None = None
    n_classes: int | None = None
    all_gpus: bool = False
    file: Path | None = None
    ignored: tuple[str, ...] = ()
    gpu_file: Path | None = None
    setup: Setup = DEFAULT_SETUP
    selection: GpuSelection = ALL_GPUS
    restore_batchnorm: bool | None = None


def check_request(request: RunRequest, single_gpu_s: float | None = None) -> None:
    """Raise InputError for a measured time or a choice of GPUs that fits no run.

    single_gpu_s : measured time of an iteration on one GPU, None where it is not given.
    """
    is_single = request.setup.n_gpus in (None, 1) and not request.setup.allocation
    if single_gpu_s and (is_single or request.all_gpus or request.file):
        raise InputError("--single-gpu-seconds is for one configuration on several --gpus of the kind --gpu")
    if request.selection != ALL_GPUS and not request.all_gpus:
        raise InputError("--vendor and --min-memory choose among --all-gpus")


def check_exchange(setup: Setup, gpus: Sequence[Gpu] = ()) -> None:
    """Raise InputError for what says how GPUs exchange gradients where there is nothing to exchange.

    gpus : kinds of GPUs, whose usual servers give the number of nodes where the setup does not.
    """
    parts = gpus_of_nodes(setup.allocation) if setup.allocation else ()
    n_gpus, n_nodes = sum(parts) or setup.n_gpus or 1, len(parts) or setup.n_nodes or 1
    of_server = min((usual_server(gpu.gpu).gpus_per_node for gpu in gpus), default=0)
    fits_in_server = isinstance(n_gpus, int) and n_gpus <= of_server
    is_in_one = setup.n_nodes or parts or n_gpus == 1 or fits_in_server
    if setup.link and n_gpus == n_nodes:
        raise InputError("--link connects the GPUs of one node: use more --gpus than --nodes")
    if setup.fabric and n_nodes == 1 and is_in_one:
        raise InputError("--fabric connects nodes: use several --nodes")
    if n_gpus == 1 and (setup.algorithm or setup.bucketed is not None):
        name = "--algorithm" if setup.algorithm else "--unbucketed"
        raise InputError(f"{name} says how several GPUs exchange gradients: use several --gpus")


def requested_runs(request: RunRequest) -> RunTable:
    """Return the configurations of a request without a file.

    Raises InputError where parts are missing or contradict each other, UnknownNameError for an unknown name.
    """
    gpus = known_gpus(request.gpu_file)
    cnn, gpu = request.cnn, request.gpu
    if cnn is None or not request.batches or (gpu is None) != request.all_gpus:
        absent = {
            "--cnn": cnn is None,
            "--batch": not request.batches,
            "either --gpu or --all-gpus": (gpu is None) != request.all_gpus,
        }
        missing = " and ".join(name for name, is_absent in absent.items() if is_absent)
        raise InputError(f"expected {missing} as well (or --from FILE)")
    texts = (gpu,) if isinstance(gpu, str) else gpu or ()
    names = listed_gpus(texts, gpus)
    if gpu is not None and not names:
        raise InputError("expected the name of a GPU after --gpu, got none; `trainlaw gpus list` prints them")
    chosen = request.selection.of(gpus) if gpu is None else named_gpus(texts, gpus, counted=True)
    counts = named_cnn(cnn, request.pixels, request.n_classes, request.restore_batchnorm)
    # Each instance has its own number of GPUs and links.
    setups = {
        one.gpu: on_instance(request.setup, name, gpus)
        for name in names
        for one in named_gpus([name], gpus, counted=True)
    }
    for setup in set(setups.values()) or {request.setup}:
        check_exchange(setup, chosen)
    return _runs_on(counts, chosen, request.batches, request.setup, gpus, setups=setups)


def on_instance(setup: Setup, text: str, gpus: GpuCatalog | None = None) -> Setup:
    """Return a setup on as many GPUs as a text says, and on the instance that it names, where it names one.

    The setup's number of GPUs and links come before those of an instance. A forward pass stays on one GPU.
    gpus : known GPUs, None for the built-in ones. Raises InputError for two numbers of GPUs.

    >>> on_instance(DEFAULT_SETUP, "p4d.24xlarge").n_gpus, on_instance(DEFAULT_SETUP, "4x T4").n_gpus
    (8, 4)
    """
    meaning = (gpus or known_gpus()).meaning(text)
    if setup.allocation or setup.timed_parts == FORWARD or not (meaning.instance or meaning.n_gpus > 1):
        return setup
    n_gpus = setup.n_gpus or meaning.n_gpus
    if not meaning.instance:
        if n_gpus != meaning.n_gpus:
            raise InputError(
                f"{shown(text)} says {meaning.n_gpus} GPUs, and their number is {n_gpus}: say one"
            )
        return replace(setup, n_gpus=n_gpus)
    found = instances_by_name()[meaning.instance]
    n_nodes = setup.n_nodes or -(-n_gpus // found.gpus_per_node)
    return replace(
        setup,
        n_gpus=n_gpus,
        n_nodes=n_nodes,
        link=setup.link or found.link or None,
        fabric=setup.fabric or (found.fabric or None if n_nodes > 1 else None),
    )


def one_run(
    cnn: str,
    gpu: str,
    batch: int,
    pixels: int | None = None,
    setup: Setup = DEFAULT_SETUP,
    *,
    classes: int | None = None,
    gpus: GpuCatalog | None = None,
) -> RunTable:
    """Return one configuration; arguments as the fields of `RunRequest`.

    gpus : known GPUs, None for the built-in ones.
    Raises UnknownNameError for a CNN or GPU that is not known, InputError for a faulty file.
    """
    catalog = gpus or known_gpus()
    check_counts(batch)
    for name, value in (("pixels", pixels), ("classes", classes)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InputError(f"expected {name} as a whole number of at least 1, got {shown(value)}")
    on, chosen = on_instance(setup, gpu, catalog), [wanted_gpu(gpu, catalog, counted=True)]
    check_exchange(on, chosen)
    return _runs_on(named_cnn(cnn, pixels, classes), chosen, [batch], on, catalog)


def left_out(request: RunRequest) -> dict[str, str]:
    """Return the GPUs of --all-gpus that cannot train as asked, by name, and why."""
    if not request.all_gpus:
        return {}
    every = request.selection.of(known_gpus(request.gpu_file))
    reasons = {gpu.gpu: impossible(gpu, request.setup) for gpu in every}
    return {name: reason for name, reason in reasons.items() if reason}


def _runs_on(
    cnn: CnnCounts,
    gpus: Sequence[Gpu],
    batches: Iterable[int],
    setup: Setup,
    catalog: GpuCatalog,
    *,
    setups: Mapping[str, Setup] = MappingProxyType({}),
) -> RunTable:
    """Every batch on every GPU that can train so; catalog : known GPUs, to which changed ones are added.

    setups : by GPU, those that replace `setup`.
    """
    able = [gpu for gpu in gpus if not impossible(gpu, setups.get(gpu.gpu, setup))]
    batches = tuple(batches)
    if len(able) * len(batches) > _MOST_RUNS:
        raise InputError(
            f"expected at most {_MOST_RUNS:,} configurations at once, got more: name fewer GPUs or batches"
        )
    rows = [
        configured_row(cnn, gpu, batch, setups.get(gpu.gpu, setup))
        for gpu in able or gpus
        for batch in batches
    ]
    return unmeasured_runs("configurations", rows, Facts.compared(catalog, gpus, cnn))


def configured_row(cnn: CnnCounts, gpu: Gpu, batch: int, setup: Setup) -> dict[str, object]:
    """Return one configuration of a known CNN and GPU as a row for `unmeasured_runs`.

    Raises InputError for a precision or link that the GPU has not, and for more GPUs than a node holds.
    """
    if setup.precision and precision_name(setup.precision) != setup.precision:
        setup = replace(setup, precision=precision_name(setup.precision))
    reason = impossible(gpu, setup)
    if reason:
        raise InputError(reason)
    return configuration_row(cnn, gpu, batch, setup)


def impossible(gpu: Gpu, setup: Setup) -> str:
    """Return why a GPU cannot train so, as `impossible_setup`; "" where it can."""
    parts = gpus_of_nodes(setup.allocation) if setup.allocation else ()
    n_gpus = setup.n_gpus or 1
    try:
        n_nodes = len(parts) or setup.n_nodes or usual_server(gpu.gpu).nodes_of(n_gpus)
    except InputError as error:
        return str(error)
    per_node = max(parts, default=ceil(n_gpus / n_nodes))
    return impossible_software(gpu, setup.compilation, setup.tuned) or impossible_setup(
        gpu, setup.precision, setup.link, setup.fabric, per_node=per_node, n_nodes=n_nodes
    )


def runs_of_csv(
    path: Path, gpus: GpuCatalog | None = None, on: Sequence[str] = (), precision: str | None = None
) -> RunTable:
    """Return the configurations of a CSV file with the columns cnn, gpu and batch_per_gpu.

    They may be named as in `SHORT_COLUMNS`. The columns input_size_px, n_classes, precision, n_gpus, n_nodes,
    link, fabric (or network), algorithm, timed_parts, layout, compilation, tuned, host_launch_s, allocation,
    bucketed and stack may follow, and those of measured runs and plans. gpus : known GPUs, None for the
    built-in ones. on : names of GPUs for a file without the column gpu: each row on each of them. precision :
    of rows without one; None for PyTorch's default on their GPU.
    Raises InputError for a file that is no such table, with the line and column of the first fault, and for
    more than `MAX_ROWS` rows.
    """
    with opened_csv(path, MAX_TEXT_BYTES, MAX_ROWS) as (names, rows):
        spread = bool(on) and "gpu" not in names
        header = _checked_header((*names, "gpu") if spread else names, path, ())
        usual = {"precision": precision} if precision else {}
        reader = _ConfigurationReader(path, header, gpus or known_gpus(), usual)
        return reader.block(((line, [*row, gpu]) for line, row in rows for gpu in on) if spread else rows)


@contextmanager
def run_blocks(request: RunRequest) -> Iterator[tuple[tuple[str, ...], Iterator[RunTable]]]:
    """Give the header of a file as for `runs_of_csv`, and its configurations in tables of `MAX_ROWS` rows.

    The file may have 5,000,000 rows and 2 GiB; "-" is standard input. Of a request without a file these are
    `n_gpus` where there are several, and one table. Raises InputError where the request names more than the
    file and how to read it, and that its rows are forward passes.
    """
    if request.file is None:
        runs = requested_runs(request)
        yield ("n_gpus",) if (runs.frame["n_gpus"] > 1).any() else (), iter([runs])
        return
    usual = stated(request.setup) if request.setup.timed_parts == FORWARD else {}
    setup = DEFAULT_SETUP if usual.keys() <= {"timed_parts", "precision"} else request.setup
    if replace(request, file=None, ignored=(), gpu_file=None, setup=setup) != RunRequest():
        raise InputError(
            "--from names everything in its file; leave out --cnn, --gpu, --batch, --pixels, --all-gpus"
        )
    with opened_csv(request.file, _MOST_BYTES, _MOST_ROWS) as (names, rows):
        place = Path("standard input") if str(request.file) == "-" else request.file
        header = _checked_header(names, place, request.ignored)
        reader = _ConfigurationReader(place, header, known_gpus(request.gpu_file), usual)

        def blocks() -> Iterator[RunTable]:
            yield reader.block(islice(rows, MAX_ROWS))
            for first in rows:
                yield reader.block(chain([first], islice(rows, MAX_ROWS - 1)))

        yield header, blocks()


def stated(setup: Setup) -> dict[str, str]:
    """Return what a setup states, as a row of a file does: texts by column."""
    return {name: str(value) for name, value in vars(setup).items() if value is not None}


def frame_blocks(
    frame: pd.DataFrame, usual: Mapping[str, str] = MappingProxyType({}), lines: Iterable[int] | None = None
) -> Iterator[RunTable]:
    """Yield the configurations of a frame with columns as for `runs_of_csv`, in tables of `MAX_ROWS` rows.

    usual : by column what rows have that do not state it. lines : by which messages name the rows; counted
    from 1 by default.
    """
    name = Path("the frame")
    header = _checked_header(list(map(str, frame.columns)), name, ())
    frame = frame.set_axis(header, axis=1)
    for column in header:
        if column not in _FLAGS and infer_dtype(frame[column]) == "boolean":
            raise InputError(f"{name}: expected {column} as numbers or texts, got True or False")
    reader = _ConfigurationReader(name, header, known_gpus(), usual)
    cells = map(list, zip(*(_cells(frame[column]) for column in frame), strict=True))
    rows = zip(count(1) if lines is None else lines, cells, strict=False)
    for _ in range(0, max(len(frame), 1), MAX_ROWS):
        yield reader.block(islice(rows, MAX_ROWS))


def _cells(column: pd.Series) -> list[str]:
    """Return the values as a CSV file has them: whole numbers without a point, 1 and 0, empty for none."""

    def text(value: Any) -> str:
        if pd.isna(value):
            return ""
        is_whole = isinstance(value, bool | np.bool_) or (isinstance(value, float) and value.is_integer())
        return str(int(value)) if is_whole else str(value)

    codes, values = pd.factorize(column, use_na_sentinel=False)
    texts = list(map(text, values))
    return [texts[code] for code in codes.tolist()]


def _checked_header(names: Sequence[str], path: Path, ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns without short ones; InputError for what is missing, twice or not known."""
    header = tuple(SHORT_COLUMNS.get(name, name) for name in names)
    for name in {*header} & {*SHORT_COLUMNS.values()}:
        if header.count(name) > 1:
            raise InputError(f"{path}: expected {name} once, got it twice, with its short name")
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise InputError(f"{path}: expected the columns {', '.join(_NEEDED)}; missing: {', '.join(missing)}")
    for name in ignored:
        if name not in header or name in _NEEDED:
            raise InputError(f"{path}: expected --ignore with a column that is not needed, got {shown(name)}")
    for name in header:
        if name not in (*_KNOWN, *ignored):
            near = near_columns(name, _KNOWN)
            raise InputError(
                f"{path}: unknown column {shown(name)}: {near} Leave it out with --ignore {name}"
            )
    return header


class _ConfigurationReader:
    """Makes tables of rows; each CNN is read once, and what else rows share but the batch is checked once."""

    def __init__(self, path: Path, header: Sequence[str], gpus: GpuCatalog, usual: Mapping[str, str]) -> None:
        """Read rows of `path` with the columns `header`; usual : by column what rows have without a text."""
        self._path, self._gpus, self._usual = path, gpus, usual
        self._header = tuple(header)
        self._named_gpus: dict[str, Gpu] = {}
        # By the cells that say it; columns that say nothing about a configuration may differ in every row.
        self._cnns: dict[object, CnnCounts] = {}
        self._machines: dict[object, dict[str, object]] = {}
        self._of_cnn = itemgetter(*self._places(_OF_CNN))
        self._of_machine = itemgetter(*self._places(_OF_MACHINE))

    def _places(self, names: Collection[str]) -> list[int]:
        return [place for place, name in enumerate(self._header) if name in names]

    def block(self, rows: Iterable[tuple[int, list[str]]]) -> RunTable:
        """Return rows, each with its line, as a table; InputError with the line of the first fault."""
        if len(self._machines) > _MOST_MACHINES:
            self._machines.clear()
            self._named_gpus.clear()
        place_of_batch = self._header.index("batch_per_gpu")
        places: dict[object, int] = {}
        sizes: dict[str, int] = {}
        cnns, codes, batches = [], [], []
        for line, row in rows:
            cnn, machine, batch = self._of_cnn(row), self._of_machine(row), row[place_of_batch]
            try:
                if cnn not in self._cnns:
                    self._cnns[cnn] = _row_cnn(self._named(row))
                if machine not in self._machines:
                    self._machines[machine] = _row_run(
                        self._named(row), self._gpus, self._named_gpus, self._cnns[cnn]
                    )
                if batch not in sizes:
                    sizes[batch] = _batch_of(batch)
            except TrainlawError as error:
                raise InputError(f"{self._path} line {line}: {error}") from None
            cnns.append(self._cnns[cnn])
            codes.append(places.setdefault(machine, len(places)))
            batches.append(sizes[batch])
        if not codes:
            raise InputError(f"{self._path}: expected at least one row under the header")
        _refuse_namesakes(self._cnns.values(), self._path)
        facts = Facts(self._gpus.with_gpus(self._named_gpus.values()), tuple(self._cnns.values()))
        machines = unmeasured_runs("configurations", map(self._machines.__getitem__, places), facts)
        of_cnn = {name: list(map(attrgetter(name), cnns)) for name in _OF_CNN}
        frame = machines.frame.take(codes).reset_index(drop=True)
        return RunTable(machines.name, frame.assign(batch_per_gpu=batches, **of_cnn), facts)

    def _named(self, cells: Sequence[str]) -> dict[str, str]:
        row = dict(zip(self._header, cells, strict=True))
        return row | {name: row.get(name) or text for name, text in self._usual.items()}


def _batch_of(text: str) -> int:
    batch = _whole_number({"batch_per_gpu": text}, "batch_per_gpu")
    check_counts(batch)
    return batch


def _refuse_namesakes(cnns: Iterable[CnnCounts], path: Path) -> None:
    known: dict[tuple[str, int, int], CnnCounts] = {}
    for facts in cnns:
        if known.setdefault(facts.key, facts).counts != facts.counts:
            raise InputError(f"{path}: two different CNNs are called {facts.cnn}; rename one of the files")


def _row_cnn(row: Mapping[str, str | None]) -> CnnCounts:
    return named_cnn(_text(row, "cnn"), _number(row, "input_size_px"), _number(row, "n_classes"))


def _row_run(
    row: Mapping[str, str | None], gpus: GpuCatalog, named_gpus: dict[str, Gpu], cnn: CnnCounts
) -> dict[str, object]:
    gpu, batch = _text(row, "gpu"), _whole_number(row, "batch_per_gpu")
    if gpu not in named_gpus:
        named_gpus[gpu] = wanted_gpu(gpu, gpus, counted=True)
    if row.get("fabric") and row.get("network") not in (None, "", row["fabric"]):
        raise InputError(f"expected one link between nodes, got {row['fabric']} and {row['network']}")
    row = {**row, "fabric": row.get("fabric") or row.get("network")}
    if row.get("timed_parts") == FORWARD and not row.get("precision"):
        row = {**row, "precision": PRECISION_OF_PASSES}
    setup = Setup(**{name: _READERS.get(name, _plain)(row, name) for name in vars(DEFAULT_SETUP)})
    return configured_row(cnn, named_gpus[gpu], batch, on_instance(setup, gpu, gpus))


def _stated(row: Mapping[str, str | None], column: str) -> str | None:
    """Return a text; None where it is empty or, as in tables of runs, "unknown"."""
    value = (row.get(column) or "").strip()
    return None if value in ("", "unknown") else value


def _number(row: Mapping[str, str | None], column: str) -> int | None:
    return _whole_number(row, column) if row.get(column) else None


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


def _plain(row: Mapping[str, str | None], column: str) -> str | None:
    return row.get(column) or None


# How a setting is read from its cell; others are texts.
_READERS: Mapping[str, Callable[[Mapping[str, str | None], str], Any]] = {
    **dict.fromkeys(("n_gpus", "n_nodes"), _number),
    **dict.fromkeys(("layout", "compilation", "allocation"), _stated),
    **dict.fromkeys(("tuned", "bucketed"), _flag),
    "host_launch_s": _seconds,
}
_TIME = re.compile(r"(\d{1,9}(?:\.\d{0,9})?(?:e-?\d{1,2})?) ?(s|ms|us|µs|μs|)", re.ASCII)


def host_launch_of(text: str) -> float:
    """Return the seconds of a time, in microseconds where it has no unit, or of a host of `hosts.csv`.

    Raises InputError for any other text.

    >>> host_launch_of("40us"), host_launch_of("0.04 ms"), host_launch_of("40"), host_launch_of("wsl2")
    (4e-05, 4e-05, 4e-05, 7e-05)
    """
    if text.strip().lower() in hosts():
        return hosts()[text.strip().lower()].launch_s
    match = _TIME.fullmatch(text.strip())
    if match is None:
        known = ", ".join(hosts())
        raise InputError(
            f"expected --host-launch as a time per layer, such as 40us, or one of {known}, got {shown(text)}"
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
