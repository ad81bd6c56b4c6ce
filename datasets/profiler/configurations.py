"""Configurations to measure: from lists of values or from a plan file."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.cnns.zoo import zoo_entry
from trainlaw.datasets.files.checks import typed_frame, value_faults
from trainlaw.datasets.files.columns import Column
from trainlaw.datasets.files.faults import Fault, refuse
from trainlaw.datasets.files.mapping import column_faults
from trainlaw.datasets.files.storage import records
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.datasets.measurements.runs import PLAN_NOTES
from trainlaw.formulas.errors import InputError, TrainlawError, check_name

MEASURABLE_PRECISIONS = ("fp32", "tf32", "default", "amp", "bf16")
MEASURABLE_STACKS = ("eager", "channels_last")
WHOLE_ITERATION, FORWARD_PASS = "forward+backward+optimizer", "forward"
MAX_CONFIGURATIONS = 100_000  # of a plan: at 10 s each, eleven days


@dataclass(frozen=True, slots=True, order=True)
class Configuration:
    """One training iteration, or one forward pass in evaluation mode, to measure.

    `batch` is images per iteration, `input_size_px` the side of the image in pixels, `threads` the number of
    threads (0 on a GPU: chosen by torch). `stack` is one of `MEASURABLE_STACKS`, `timed_parts` is
    `WHOLE_ITERATION` or `FORWARD_PASS`.
    """

    device: str
    threads: int
    precision: str
    cnn: str
    input_size_px: int
    n_classes: int
    batch: int
    stack: str = "eager"
    timed_parts: str = WHOLE_ITERATION

    @property
    def title(self) -> str:
        """Short description of the configuration.

        >>> Configuration("cpu", 2, "fp32", "resnet18", 64, 10, 8).title
        'resnet18, batch 8, 64 px, fp32, 2 threads'
        """
        ending = "" if self.threads == 1 else "s"
        threads = f", {self.threads} thread{ending}" if self.threads else ""
        stack = "" if self.stack == "eager" else f", {self.stack}"
        parts = "" if self.timed_parts == WHOLE_ITERATION else ", forward pass"
        sizes = f"batch {self.batch}, {self.input_size_px} px, {self.precision}"
        return f"{self.cnn}, {sizes}{stack}{parts}{threads}"


CONFIGURATION_COLUMNS = tuple(field.name for field in fields(Configuration))
#: Columns of the run file that are not called as the fields of a configuration.
RUN_NAMES = {"batch": "batch_per_gpu"}

_PLAN_COLUMNS = (
    Column("cnn", "text", "name of the CNN"),
    Column("batch_per_gpu", "integer", "images per iteration", "", 1, 1e7),
    Column("input_size_px", "integer", "side of the input", "px", 1, 8192, default="", may_be_empty=True),
    Column("n_classes", "integer", "width of the classifier", "", 1, 1e6, default="", may_be_empty=True),
    Column("precision", "text", "precision", allowed=MEASURABLE_PRECISIONS, default="fp32"),
    Column("threads", "integer", "threads", "", 1, 4096, default="", may_be_empty=True),
    Column("stack", "text", "layout of the activations", allowed=MEASURABLE_STACKS, default="eager"),
    Column(
        "timed_parts",
        "text",
        "timed parts of an iteration",
        allowed=(WHOLE_ITERATION, FORWARD_PASS),
        default=WHOLE_ITERATION,
    ),
    Column("n_gpus", "integer", "GPUs of a run: one", "", 1, 1, default="", may_be_empty=True),
    Column("gpu", "text", "device to measure on", default="", may_be_empty=True),
)
_PLAN_FILE_COLUMNS = (*(column.name for column in _PLAN_COLUMNS), *PLAN_NOTES, "remark")


def configuration_grid(
    cnns: Iterable[str],
    batches: Sequence[int],
    inputs: Sequence[int],
    precisions: Sequence[str],
    *,
    device: str,
    threads: Sequence[int],
    n_classes: int | None = None,
    stacks: Sequence[str] = ("eager",),
    timed_parts: str = WHOLE_ITERATION,
) -> list[Configuration]:
    """Return every combination of the values, sorted.

    No `inputs`: each CNN's usual size. Raises UnknownNameError for an unknown CNN, precision or stack.

    >>> [c.batch for c in configuration_grid(["lenet5"], [8, 2], [], ["fp32"], device="cpu", threads=[1])]
    [2, 8]
    """
    for precision in precisions:
        check_name("precision", precision, MEASURABLE_PRECISIONS)
    for stack in stacks:
        check_name("stack", stack, MEASURABLE_STACKS)
    found = set()
    for name in map(cnn_name, cnns):
        usual = zoo_entry(name)
        classes, sizes = n_classes or usual.n_classes, inputs or (usual.input_size_px,)
        for count, precision, size, batch, stack in product(threads, precisions, sizes, batches, stacks):
            found.add(Configuration(device, count, precision, name, size, classes, batch, stack, timed_parts))
    return sorted(found)


def read_plan(
    path: str | os.PathLike[str],
    *,
    device: str,
    threads: Sequence[int],
    is_here: Callable[[str, int], bool] = lambda gpu, threads: True,
) -> list[Configuration]:
    """Return the configurations of a CSV file, in its order, each once.

    Columns `cnn` and `batch_per_gpu` are required; `input_size_px`, `n_classes`, `precision`, `threads`,
    `stack`, `timed_parts`, `gpu` and `n_gpus` (1) are optional, as are `PLAN_NOTES` and `remark`, which are
    not read. The arguments supply the columns that the file lacks. is_here : whether this machine has the
    device of that name and number of threads; rows for other devices are skipped.
    Raises FaultsError with one fault per cell and per other column, InputError when the file is not a table
    or no row is for this machine.
    """
    name = Path(path).name
    table = read_table_file(path, text_columns=("cnn", "precision", "stack", "timed_parts", "gpu"))
    refuse(name, column_faults(table, _PLAN_COLUMNS, _PLAN_FILE_COLUMNS, "remove it: it is not measured"))
    typed, faults = typed_frame(table, _PLAN_COLUMNS)
    refuse(name, faults + value_faults(typed, _PLAN_COLUMNS))
    if not 0 < len(typed) <= MAX_CONFIGURATIONS:
        refuse(name, [Fault(None, "", len(typed), f"1 to {MAX_CONFIGURATIONS} configurations")])
    planned: dict[Configuration, None] = {}
    for number, row in enumerate(records(typed), start=1):
        given = {key: value for key, value in row.items() if not pd.isna(value)}
        try:
            found = _configurations_of_row(given, device, threads)
            planned |= dict.fromkeys(
                each for each in found if "gpu" not in given or is_here(str(given["gpu"]), each.threads)
            )
        except TrainlawError as error:
            faults.append(Fault(number, "cnn", row["cnn"], f"a known CNN ({error})"))
    refuse(name, faults)
    if not planned:
        devices = ", ".join(dict.fromkeys(map(str, typed["gpu"].dropna())))
        raise InputError(f"{name}: expected a row for a device of this machine, got rows only for {devices}")
    return list(planned)


def _configurations_of_row(row: dict[str, Any], device: str, threads: Sequence[int]) -> list[Configuration]:
    return configuration_grid(
        [row["cnn"]],
        [int(row["batch_per_gpu"])],
        [int(row["input_size_px"])] if "input_size_px" in row else [],
        [row.get("precision", "fp32")],
        device=device,
        threads=[int(row["threads"])] if "threads" in row and device == "cpu" else threads,
        n_classes=int(row["n_classes"]) if "n_classes" in row else None,
        stacks=[row.get("stack", "eager")],
        timed_parts=row.get("timed_parts", WHOLE_ITERATION),
    )
