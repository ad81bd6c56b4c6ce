"""`trainlaw suggest` with its options: a pool of configurations, then a suggestion, as text."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.inputs.requests import runs_of_csv
from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.app.inputs.selection import listed_gpus, named_gpus, whole_numbers
from trainlaw.app.suggest.candidates import StudiedFront, Suggestion, Suggestions, find_front, suggested_runs
from trainlaw.app.suggest.options import SuggestOptions
from trainlaw.app.text.numbers import show_number, show_percent, show_seconds
from trainlaw.app.text.steps import OnStep, part_of, unseen
from trainlaw.app.text.tables import Table, terminal_width
from trainlaw.datasets import CnnCounts, GpuCatalog, RunTable
from trainlaw.datasets.cnns.zoo import zoo_names
from trainlaw.datasets.hardware.possible import has_precision
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, memory_needs
from trainlaw.datasets.measurements.runs import PLAN_NOTES, Setup, configuration_row, unmeasured_runs
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import InputError

_PLANNED = ("cnn", "batch_per_gpu", "input_size_px", "n_classes", "precision")
_SHOWN_RANGES = 2


def suggestions_text(found: Suggestions, pool: RunTable, front: StudiedFront, note: str) -> str:
    """Return the suggested measurements and their reasons as a table; note : a line about the pool."""
    rows = [[number, *_cells(member, pool)] for number, member in enumerate(found.members, start=1)]
    header = ["", "CNN", "batch", "px", "GPU", "time", "cost", "represents", "uncertain", "disagree"]
    numbered = enumerate(found.members, start=1)
    ranges = [f"{number}: {_new_ranges(member, _SHOWN_RANGES)}" for number, member in numbered if member.new]
    before, after = (show_percent(100 * share) for share in found.covered)
    cost = show_seconds(sum(member.cost_s for member in found.members))
    prose = (
        *([f"outside the measured ranges: {'; '.join(ranges)}"] if ranges else []),
        f"together: distance of the pool to what is measured {_less(found.represented)}, variance of its "
        f"predicted times {_less(found.removed)}, ranges of the features covered {before} -> {after} %, "
        f"{cost} of iterations",
        "represents: share of that distance, after those above; uncertain: by the constants; disagree: "
        "formulas of the front, fitted to resampled runs",
        f"formula: {front.origin}, and {len(front.near_equals)} more of its front; "
        f"{len(front.measured):,} runs measured so far",
    )
    wrapped = [textwrap.fill(text, terminal_width(), break_on_hyphens=False) for text in prose]
    return "\n".join([note, Table.of(header, rows).text(), "", *wrapped])


def _less(share: float) -> str:
    return f"-{show_percent(100 * share)} %"


def _cells(member: Suggestion, pool: RunTable) -> list[object]:
    run = pool.frame.iloc[member.row]
    return [
        *(run[name] for name in ("cnn", "batch_per_gpu", "input_size_px", "gpu")),
        *map(show_seconds, (member.predicted_s, member.cost_s)),
        *(f"{show_percent(percent)} %" for percent in member.percents),
    ]


def _new_ranges(member: Suggestion, most: int | None = None) -> str:
    """Return by how much features lie beyond the measured ranges; most : how many are named, None for all."""
    texts = [f"{name} x {show_number(factor, 2)}" for name, factor in member.new[:most]]
    more = len(member.new) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")


def plan_csv(found: Suggestions, pool: RunTable) -> str:
    """Return the plan for `trainlaw profile --plan`: its columns, the GPU, and the reasons in percent, s."""
    rows = []
    for member in found.members:
        run = pool.frame.iloc[member.row]
        device = pool.facts.gpus.find(str(run["gpu"]))
        threads = int(device.sm_count) if device.device == "CPU" else ""
        where = (*(run[name] for name in _PLANNED), threads, run["n_gpus"], run["gpu"])
        why = (member.predicted_s, member.cost_s, *member.percents, _new_ranges(member))
        rows.append([*where, *why])
    return Table.of([*_PLANNED, "threads", "n_gpus", "gpu", *PLAN_NOTES], rows).csv()


_MOST = 20_000
#: Columns that identify a configuration.
SAME = ("gpu", "cnn", "input_size_px", "n_classes", "batch_per_gpu", "precision", "n_gpus")


def cnn_pool(
    cnns: Sequence[str],
    batches: Sequence[int],
    inputs: Sequence[int],
    *,
    gpus: GpuCatalog,
    named: Sequence[str],
    precision: str = "fp32",
    on_step: OnStep = unseen,
) -> RunTable:
    """Return every combination of CNNs (none: the whole zoo), batches, sides in pixels and GPUs.

    inputs : none means the default of each CNN; a size at which a CNN cannot be built is omitted. on_step :
    called before each CNN. Raises UnknownNameError for an unknown name.
    """
    if not named:
        raise InputError("expected --pool FILE, or --gpu NAME for the built-in CNNs on that GPU")
    targets = named_gpus(named, gpus)
    known_names = cnns or list(zoo_names())
    counts = [known for name in known_names for known in _at_sizes(name, inputs, bool(cnns))]
    size = len(counts) * len(batches) * len(targets)
    if not 0 < size <= _MOST:
        raise InputError(f"expected 1 to {_MOST:,} configurations, got {size:,}")
    rows, setup = [], Setup(precision)
    for number, known in enumerate(counts):
        on_step(f"configurations of {known.cnn}", number / len(counts))
        rows += [configuration_row(known, *where, setup) for where in product(targets, batches)]
    return unmeasured_runs("configurations", rows, Facts(gpus.with_gpus(targets), tuple(counts)))


def _at_sizes(name: str, inputs: Sequence[int], asked: bool) -> list[CnnCounts]:
    found = []
    for side in inputs or (None,):
        try:
            found.append(named_cnn(name, side))
        except InputError as error:
            # Some CNNs of the zoo are too deep for small images; for those requested by name it is an error.
            if asked:
                raise InputError(f"{name}: {error}") from None
    return found


def worth_measuring(pool: RunTable, measured: Iterable[RunTable]) -> tuple[RunTable, str]:
    """Return the pool without runs measured, repeated, too large or impossible, and a line about it.

    Raises InputError where nothing is left.
    """
    keys = _keys(pool)
    known = {key for table in measured for key in _keys(table)}
    old = keys.isin(known).to_numpy() | keys.duplicated().to_numpy()
    large = (memory_needs(pool)["fits"] == CANNOT_FIT).to_numpy()
    setups = zip(pool.frame["gpu"], pool.frame["precision"], strict=True)
    lacks = np.array([not has_precision(pool.facts.gpus.find(gpu), precision) for gpu, precision in setups])
    left = pool.where(~old & ~large & ~lacks)
    note = f"{len(left):,} configurations to choose from"
    for number, words in (
        (old.sum(), "already measured"),
        ((large & ~old).sum(), "that cannot fit"),
        ((lacks & ~large & ~old).sum(), "in a precision that the GPU lacks"),
    ):
        note += f"; without {int(number):,} {words}" if number else ""
    if not len(left):
        raise InputError(f"no configuration can be measured ({note})")
    return left, note


def _keys(table: RunTable) -> pd.Series:
    """A text per run that identifies its configuration; an unstated precision counts as fp32."""
    return table.frame[list(SAME)].astype(str).replace({"unknown": "fp32"}).agg("|".join, axis=1)


def run_suggest(options: SuggestOptions, on_step: OnStep = unseen) -> tuple[str, str]:
    """Return the printed text and the plan as CSV; InputError for options that contradict each other.

    on_step : called when a step begins.
    """
    on_step("reading the runs", 0.0)
    front = find_front(options, Path.cwd())
    pool, note = worth_measuring(_pool(options, part_of(on_step, 0.1, 0.5)), [front.measured])
    found = suggested_runs(
        front, pool, options.number, options.repeats, seed=options.seed, on_step=part_of(on_step, 0.5, 1.0)
    )
    return suggestions_text(found, pool, front, note), plan_csv(found, pool)


def _pool(options: SuggestOptions, on_step: OnStep) -> RunTable:
    gpus = known_gpus(options.gpu_file)
    if options.pool is not None:
        pool = runs_of_csv(options.pool, gpus, listed_gpus(options.gpu or (), gpus), "fp32")
        if len(pool) > _MOST:
            raise InputError(f"expected at most {_MOST:,} configurations, got {len(pool):,}")
        return pool
    names = [name.strip() for name in options.cnns.split(",") if name.strip()]
    return cnn_pool(
        [*names, *map(str, options.cnn_file or ())],
        whole_numbers(options.batch, "--batch"),
        whole_numbers(options.input_px, "--pixels"),
        gpus=gpus,
        named=options.gpu or (),
        precision=options.precision,
        on_step=on_step,
    )
