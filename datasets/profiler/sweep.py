"""The sweep over whole training iterations; configurations in the files are not measured again."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from math import nan
from pathlib import Path

from trainlaw.datasets.measurements.runs import RUN_FILE_COLUMNS
from trainlaw.datasets.profiler.configurations import CONFIGURATION_COLUMNS, RUN_NAMES, Configuration
from trainlaw.datasets.profiler.devices import NotMeasuredError
from trainlaw.datasets.profiler.local_device import measured_device, torch_package, torch_part
from trainlaw.datasets.profiler.row_files import MachineFile, RowFile, sibling
from trainlaw.datasets.profiler.run_rows import (
    FAILURE_COLUMNS,
    MeasuredDevice,
    Measurement,
    now_text,
    run_row,
)
from trainlaw.datasets.profiler.timing import StoppingRule
from trainlaw.formulas.errors import InputError

Measure = Callable[[Configuration], Measurement]


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """Progress of a sweep after a configuration; `median_s` in seconds, nan where it failed for `reason`."""

    number: int
    total: int
    configuration: Configuration
    remaining_s: float
    median_s: float = nan
    interval: float = nan
    reason: str = ""


OnProgress = Callable[[SweepProgress], None]


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
        self.failures = RowFile(sibling(path, "failed"), FAILURE_COLUMNS)

    def left(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Return the configurations that were neither measured nor failed before, in their order."""
        in_runs = [RUN_NAMES.get(name, name) for name in CONFIGURATION_COLUMNS]
        done = {tuple(row[name] for name in in_runs) for row in self.runs.rows}
        done |= {tuple(row[name] for name in CONFIGURATION_COLUMNS) for row in self.failures.rows}
        return [each for each in configurations if tuple(map(str, astuple(each))) not in done]


def sweep(
    configurations: Sequence[Configuration],
    measure: Measure,
    device_of: Callable[[Configuration], MeasuredDevice],
    files: SweepFiles,
    on_progress: OnProgress,
    *,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Measure configurations in turn and store each result immediately; failures become rows, too.

    measure : raises NotMeasuredError for a configuration that cannot be measured. now : wall clock, seconds,
    for the time left.
    """
    began = now()
    for number, configuration in enumerate(configurations, start=1):
        progress = SweepProgress(number, len(configurations), configuration, nan)
        try:
            measured = measure(configuration)
        except (NotMeasuredError, InputError) as error:
            files.failures.append({**asdict(configuration), "reason": str(error), "measured_at": now_text()})
            progress = replace(progress, reason=str(error))
        else:
            files.runs.append(run_row(configuration, measured, device_of(configuration)))
            repeats = measured.repeats
            progress = replace(progress, median_s=repeats.median_s, interval=repeats.interval)
        left = (now() - began) / number * (len(configurations) - number)
        on_progress(replace(progress, remaining_s=left))


def profile_runs(
    configurations: Sequence[Configuration],
    out: str | os.PathLike[str],
    rule: StoppingRule,
    on_progress: OnProgress,
) -> int:
    """Measure the configurations that are not in the files yet; return their number.

    Rows go to `out` in the runs schema, failures and devices that the GPU table lacks to files next to it.
    `on_progress` is called after each. Raises MissingDependencyError without torch, InputError.
    """
    torch_package()
    files, machine = SweepFiles(out), MachineFile(out)
    left = files.left(configurations)
    different = dict.fromkeys((each.device, each.threads) for each in left)
    devices = {key: measured_device(*key, machine) for key in different}

    def measure(configuration: Configuration) -> Measurement:
        found: Measurement = torch_part("torch_measure").measure(configuration, rule)
        return found

    sweep(left, measure, lambda each: devices[each.device, each.threads], files, on_progress)
    return len(left)
