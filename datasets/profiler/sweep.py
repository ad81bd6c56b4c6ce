"""The sweep over whole training iterations: what is in the files is not measured again."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import nan
from pathlib import Path

from trainlaw.datasets.hardware.links import find_link
from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.datasets.profiler.devices import NotMeasuredError
from trainlaw.datasets.profiler.row_files import MachineFile, RowFile
from trainlaw.datasets.profiler.run_rows import (
    FAILURE_COLUMNS,
    RUN_FILE_COLUMNS,
    MeasuredDevice,
    Measurement,
    configuration_from_failure,
    configuration_from_run,
    failure_row,
    run_row,
)
from trainlaw.datasets.profiler.setup import (
    Setup,
    check_meeting,
    measured_device,
    torch_package,
    torch_part,
)
from trainlaw.formulas.errors import InputError

Measure = Callable[[Configuration], Measurement]
#: Measures a configuration and stores the result; returns its median, seconds, and the relative interval.
Keep = Callable[[Configuration], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a sweep after a configuration; `median_s` in seconds, nan where it failed for `reason`."""

    number: int
    total: int
    configuration: Configuration
    remaining_s: float
    median_s: float = nan
    interval: float = nan
    reason: str = ""


OnProgress = Callable[[Progress], None]


class SweepFiles:
    """The two files of a sweep: runs, and failures with their reasons."""

    def __init__(self, runs: str | os.PathLike[str]) -> None:
        """Open the files; raises InputError for files of another kind."""
        path = Path(runs)
        if path.suffix != ".csv":
            raise InputError(f"expected the name of a CSV file, got {path}: choose --out NAME.csv")
        if not path.parent.is_dir():
            raise InputError(
                f"expected an existing folder for {path}, got {path.parent}, which does not exist"
            )
        self.runs = RowFile(path, RUN_FILE_COLUMNS)
        self.failures = RowFile(path.with_name(f"{path.stem}-failed.csv"), FAILURE_COLUMNS)

    def left(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Return the configurations that were neither measured nor failed before, in their order."""
        try:
            done = {configuration_from_run(row) for row in self.runs.rows}
            done |= {configuration_from_failure(row) for row in self.failures.rows}
        except ValueError:
            raise InputError(
                f"expected a file that this command wrote, got {self.runs.path} with other values; "
                "choose another --out"
            ) from None
        return [configuration for configuration in configurations if configuration not in done]

    def single_s(self, configuration: Configuration) -> float:
        """Return the seconds of the same configuration in one process, nan where it was not measured."""
        alone = replace(configuration, processes=1, nodes=1)
        times = [float(row["time_s"]) for row in self.runs.rows if configuration_from_run(row) == alone]
        return times[-1] if times else nan


def sweep(
    configurations: Sequence[Configuration],
    measure: Measure,
    measured_device: Callable[[Configuration], MeasuredDevice],
    files: SweepFiles,
    on_progress: OnProgress,
) -> None:
    """Measure configurations in turn and store each result immediately.

    measure : raises NotMeasuredError for a configuration that cannot be measured, which becomes a row of the
    failure file.
    """

    def kept(configuration: Configuration) -> tuple[float, float]:
        measured = measure(configuration)
        single = files.single_s(configuration)
        files.runs.append(run_row(configuration, measured, measured_device(configuration), single))
        return measured.repeats.median_s, measured.repeats.interval

    keep_in_turn(configurations, kept, files.failures, on_progress)


def keep_in_turn(
    configurations: Sequence[Configuration],
    keep: Keep,
    failures: RowFile,
    on_progress: OnProgress,
    *,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Measure configurations in turn and store results; failures become rows of `failures`.

    now : wall clock, seconds, for the time left.
    """
    began = now()
    for number, configuration in enumerate(configurations, start=1):
        progress = Progress(number, len(configurations), configuration, nan)
        try:
            median_s, interval = keep(configuration)
        except (NotMeasuredError, InputError) as error:
            failures.append(failure_row(configuration, str(error)))
            progress = replace(progress, reason=str(error))
        else:
            progress = replace(progress, median_s=median_s, interval=interval)
        left = (now() - began) / number * (len(configurations) - number)
        on_progress(replace(progress, remaining_s=left))


def profile_runs(configurations: Sequence[Configuration], setup: Setup, on_progress: OnProgress) -> int:
    """Measure the configurations that are not in the files yet; return their number.

    Rows go to `setup.out` in the runs schema, failures and devices that the GPU table lacks to files next to
    it. `on_progress`, a function of a module, is called after each. Raises MissingDependencyError without
    torch, InputError.
    """
    torch_package()
    files = SweepFiles(setup.out)
    left = files.left(configurations)
    _check_links(left, setup)
    machine = MachineFile(setup.out)
    devices = dict.fromkeys((each.device, each.threads) for each in left)
    hosts = {key: measured_device(*key, setup, machine) for key in devices}

    def measured(configuration: Configuration) -> Measurement:
        found: Measurement = torch_part("torch_measure").measure(configuration, setup.rule)
        return found

    for (device, processes, nodes), members in groupby(left, lambda c: (c.device, c.processes, c.nodes)):
        if processes == 1:
            # Other processes may have written the files since.
            alone = SweepFiles(setup.out)
            sweep(list(members), measured, lambda c: hosts[c.device, c.threads], alone, on_progress)
            continue
        together = torch_part("torch_processes")
        known = {threads: host for (kind, threads), host in hosts.items() if kind == device}
        shared = together.SharedSweep(tuple(members), setup.rule, os.fspath(setup.out), known)
        gathering = together.Gathering(device, processes, nodes, setup.rendezvous)
        together.sweep_together(gathering, shared, on_progress)
    return len(left)


def _check_links(configurations: Iterable[Configuration], setup: Setup) -> None:
    for name in filter(None, (setup.link, setup.network)):
        find_link(name)
    for each in configurations:
        check_meeting(each.processes, each.nodes, setup)
        if each.processes > each.nodes and each.device == "cuda" and not setup.link:
            raise InputError(
                "several GPUs need --link NAME, the link between them, such as nvlink3-x12 or pcie4-x16"
            )
