"""A sweep over configurations: what is in the files is not measured again, each result is kept at once."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path

from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.datasets.profiler.devices import NotMeasuredError
from trainlaw.datasets.profiler.row_files import RowFile
from trainlaw.datasets.profiler.run_rows import (
    FAILURE_COLUMNS,
    RUN_FILE_COLUMNS,
    Host,
    Measurement,
    configuration_of_failure,
    configuration_of_run,
    failure_row,
    run_row,
)
from trainlaw.formulas.errors import InputError

Measure = Callable[[Configuration], Measurement]
#: Measures and keeps a configuration; returns its median, seconds, and the width of the median's interval.
Keep = Callable[[Configuration], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is after a configuration; `median_s` in seconds, nan where it failed with `reason`."""

    number: int
    total: int
    configuration: Configuration
    remaining_s: float
    median_s: float = nan
    interval: float = nan
    reason: str = ""


class SweepFiles:
    """The two files of a sweep: runs, and beside them what could not be measured and why."""

    def __init__(self, runs: str | os.PathLike[str]) -> None:
        """Open the files; raises InputError where they are not such files."""
        path = Path(runs)
        if path.suffix != ".csv":
            raise InputError(f"expected the name of a CSV file, got {path}: choose --out NAME.csv")
        if not path.parent.is_dir():
            raise InputError(f"expected an existing folder for {path}, there is no {path.parent}")
        self.runs = RowFile(path, RUN_FILE_COLUMNS)
        self.failures = RowFile(path.with_name(f"{path.stem}-failed.csv"), FAILURE_COLUMNS)

    def done(self) -> set[Configuration]:
        """Return what was measured, or tried in vain, before."""
        try:
            return {configuration_of_run(row) for row in self.runs.rows} | {
                configuration_of_failure(row) for row in self.failures.rows
            }
        except ValueError:
            raise InputError(
                f"expected a file that this command wrote, got {self.runs.path} with other values; "
                "choose another --out"
            ) from None

    def single_s(self, configuration: Configuration) -> float:
        """Return the seconds of the same configuration in one process, nan where it was not measured."""
        alone = replace(configuration, processes=1, nodes=1)
        times = [float(row["time_s"]) for row in self.runs.rows if configuration_of_run(row) == alone]
        return times[-1] if times else nan


def pending(configurations: Sequence[Configuration], files: SweepFiles) -> list[Configuration]:
    """Return the configurations that are in neither file, in their order."""
    done = files.done()
    return [configuration for configuration in configurations if configuration not in done]


def sweep(
    configurations: Sequence[Configuration],
    measure: Measure,
    host_of: Callable[[Configuration], Host],
    files: SweepFiles,
    on_progress: Callable[[Progress], None],
    *,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Measure configurations in turn and keep each result at once.

    measure : raises NotMeasuredError where a configuration cannot be measured, which becomes a row of the
    failure file. now : wall clock, seconds, for the time left.
    """

    def kept(configuration: Configuration) -> tuple[float, float]:
        measured = measure(configuration)
        single = files.single_s(configuration)
        files.runs.append(run_row(configuration, measured, host_of(configuration), single))
        return measured.repeats.median_s, measured.repeats.interval

    keep_in_turn(configurations, kept, files.failures, on_progress, now=now)


def keep_in_turn(
    configurations: Sequence[Configuration],
    keep: Keep,
    failures: RowFile,
    on_progress: Callable[[Progress], None],
    *,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Measure and keep configurations in turn; what cannot be measured becomes a row of `failures`.

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
