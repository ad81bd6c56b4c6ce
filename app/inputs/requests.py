"""The configurations that a person asks a prediction for, from names or from a CSV file."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from trainlaw.app.inputs.resolve import known_gpus, named_cnn, notes_of, unknown_facts
from trainlaw.datasets import CnnCounts, Gpu, GpuCatalog, RunTable, configuration
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.measurements.memory_fit import memory_warnings
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import InputError, TrainlawError
from trainlaw.formulas.files import read_csv

_NEEDED = ("cnn", "gpu", "batch_per_gpu")
# Columns that a file may have beside those, as arguments of `configuration`.
_TEXTS = ("precision", "link", "network", "algorithm", "timed_parts")
_NUMBERS = ("n_gpus", "n_nodes")


def one_run(
    cnn: str,
    gpu: str,
    batch: int,
    pixels: int | None = None,
    precision: str = "fp32",
    *,
    gpus: GpuCatalog | None = None,
    **settings: object,
) -> RunTable:
    """Return one configuration.

    cnn : a name or a file. gpu : a name, or a change ("T4 with 2x bandwidth"). batch : images per iteration.
    pixels : side of an image, None for the CNN's own. gpus : known cards, None for the built-in ones.
    settings : further arguments of `trainlaw.datasets.measurements.configurations`, such as n_gpus.
    Raises UnknownNameError for a CNN or GPU that is not known, InputError for a faulty file.
    """
    card, facts = wanted_gpu(gpu, gpus), named_cnn(cnn, pixels)
    return configuration(cnn=facts, gpu=card, batch_per_gpu=batch, precision=precision, gpus=gpus, **settings)


def on_all_gpus(
    cnn: str,
    batch: int,
    pixels: int | None = None,
    precision: str = "fp32",
    gpus: GpuCatalog | None = None,
    **settings: object,
) -> RunTable:
    """Return a configuration on every known GPU whose peak rate and bandwidth are known; see `one_run`."""
    catalog, facts = gpus or known_gpus(), named_cnn(cnn, pixels)
    runs = [
        configuration(
            cnn=facts, gpu=gpu, batch_per_gpu=batch, precision=precision, gpus=catalog, **settings
        ).frame
        for gpu in catalog.gpus
        if gpu.peak_fp32_flop_per_s > 0 and gpu.bandwidth_byte_per_s > 0
    ]
    return RunTable("configurations", pd.concat(runs, ignore_index=True), Facts(catalog, (facts,)))


def wanted_runs(
    *,
    cnn: str | None,
    gpu: str | None,
    batch: int | None,
    pixels: int | None,
    all_gpus: bool,
    file: Path | None,
    gpu_file: Path | None = None,
    **settings: object,
) -> RunTable:
    """Return what a person asked for by the options of `trainlaw predict`: names, or a CSV file.

    gpu_file : CSV with cards to add or correct. settings : `precision` and further arguments of
    `trainlaw.datasets.measurements.configurations`; None means that the person said nothing.
    Raises InputError where options are missing or contradict each other.
    """
    gpus = known_gpus(gpu_file)
    given = {name: value for name, value in settings.items() if value is not None}
    if file is not None:
        if cnn or gpu or batch or pixels or all_gpus or given:
            raise InputError(
                "--from names everything in its file; leave out --cnn, --gpu, --batch, --pixels, --all-gpus"
            )
        return runs_of_csv(file, gpus)
    if cnn is None or batch is None or (gpu is None) != all_gpus:
        raise InputError("expected --cnn, --batch and either --gpu or --all-gpus (or --from FILE)")
    if gpu is None:
        return on_all_gpus(cnn, batch, pixels, gpus=gpus, **given)
    return one_run(cnn, gpu, batch, pixels, gpus=gpus, **given)


def run_warnings(runs: RunTable) -> list[tuple[str, ...]]:
    """Return per run what its user should know: memory that cannot do, what its CNN's file or GPU lacks."""
    notes = {facts.key: notes_of(facts) for facts in runs.facts.cnns}
    unknown = {name: unknown_facts(runs.facts.gpus.find(name)) for name in runs.frame["gpu"].unique()}
    frame, memory = runs.frame, memory_warnings(runs)
    keys = frame[["cnn", "input_size_px", "n_classes"]].itertuples(index=False, name=None)
    return [
        (*notes.get(key, ()), *unknown[gpu], *filter(None, [text]))
        for key, gpu, text in zip(keys, frame["gpu"], memory, strict=True)
    ]


def runs_of_csv(path: Path, gpus: GpuCatalog | None = None, on: Sequence[str] = ()) -> RunTable:
    """Return the configurations of a CSV file with the columns cnn, gpu and batch_per_gpu.

    The columns input_size_px, n_classes, precision, n_gpus, n_nodes, link, network, algorithm and timed_parts
    may follow; other columns are not read. gpus : known cards, None for the built-in ones. on : names of GPUs
    that stand in for a column gpu that is not there: each row on each of them.
    Raises InputError for a file that is no such table, with the row and column of the first fault.
    """
    columns, rows = read_csv(path)
    numbered, header = list(enumerate(rows, start=2)), list(columns)
    if on and "gpu" not in header:
        numbered, header = [(n, {**row, "gpu": gpu}) for n, row in numbered for gpu in on], [*header, "gpu"]
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise InputError(f"{path}: expected the columns {', '.join(_NEEDED)}; missing: {', '.join(missing)}")
    if not rows:
        raise InputError(f"{path}: expected at least one row under the header")
    return _together(numbered, path, gpus or known_gpus())


def _together(rows: Iterable[tuple[int, Mapping[str, str | None]]], path: Path, gpus: GpuCatalog) -> RunTable:
    """One table of all rows, each with its line; each GPU is sought and each CNN's file read once."""
    cards: dict[str, Gpu] = {}
    networks: dict[tuple[object, ...], CnnCounts] = {}
    frames = []
    for line, row in rows:
        try:
            frames.append(_run_of_row(row, gpus, cards, networks))
        except TrainlawError as error:
            raise InputError(f"{path} line {line}: {error}") from None
    for card in cards.values():
        gpus = gpus.with_gpu(card) if card not in gpus.gpus else gpus
    _refuse_namesakes(networks.values(), path)
    return RunTable(
        "configurations", pd.concat(frames, ignore_index=True), Facts(gpus, tuple(networks.values()))
    )


def _refuse_namesakes(networks: Iterable[CnnCounts], path: Path) -> None:
    known: dict[tuple[str, int, int], CnnCounts] = {}
    for facts in networks:
        if known.setdefault(facts.key, facts).counts != facts.counts:
            raise InputError(f"{path}: two different networks are called {facts.cnn}; rename a file")


def _run_of_row(
    row: Mapping[str, str | None],
    gpus: GpuCatalog,
    cards: dict[str, Gpu],
    networks: dict[tuple[object, ...], CnnCounts],
) -> pd.DataFrame:
    gpu, cnn = _text(row, "gpu"), _text(row, "cnn")
    sizes = tuple(
        _whole_number(row, name) if row.get(name) else None for name in ("input_size_px", "n_classes")
    )
    settings = {name: row[name] for name in _TEXTS if row.get(name)}
    settings |= {name: _whole_number(row, name) for name in _NUMBERS if row.get(name)}
    if gpu not in cards:
        cards[gpu] = wanted_gpu(gpu, gpus)
    if (cnn, *sizes) not in networks:
        networks[cnn, *sizes] = named_cnn(cnn, *sizes)
    batch = _whole_number(row, "batch_per_gpu")
    return configuration(
        cnn=networks[cnn, *sizes], gpu=cards[gpu], batch_per_gpu=batch, gpus=gpus, **settings
    ).frame


def _text(row: Mapping[str, str | None], column: str) -> str:
    value = (row.get(column) or "").strip()
    if not value:
        raise InputError(f"expected a value in column {column}, got nothing")
    return value


def _whole_number(row: Mapping[str, str | None], column: str) -> int:
    value = _text(row, column)
    if not value.isdecimal() or len(value) > 9 or not int(value):
        raise InputError(f"expected a whole number of at least 1 in column {column}, got {value[:40]!r}")
    return int(value)
