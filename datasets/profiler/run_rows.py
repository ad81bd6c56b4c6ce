"""Measurements as rows of the runs schema, with further columns of the profiler."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from math import isfinite, nan
from statistics import median

from trainlaw.datasets.hardware.collectives import EVEN
from trainlaw.datasets.measurements.runs import PROFILER_COLUMNS, RUN_COLUMNS
from trainlaw.datasets.profiler.configurations import (
    CONFIGURATION_COLUMNS,
    FORWARD_PASS,
    RUN_NAMES,
    Configuration,
)
from trainlaw.datasets.profiler.devices import stated_precision
from trainlaw.datasets.profiler.machine import Interference
from trainlaw.datasets.profiler.timing import Repeats

FRAMEWORK, HARNESS = "pytorch", "trainlaw-profile"
OPTIMIZER = "sgd with momentum"
RUN_FILE_COLUMNS = (*(column.name for column in RUN_COLUMNS), *PROFILER_COLUMNS)
FAILURE_COLUMNS = (*CONFIGURATION_COLUMNS, "reason", "measured_at")


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """The part that all rows of a device share: name in the GPU table, hardware and software as text."""

    gpu: str
    hardware: str
    software: str
    framework_version: str
    link: str = "none"
    network: str = "none"


@dataclass(frozen=True, slots=True)
class AllReduce:
    """All-reduce of all gradients alone, and the iteration without it, medians in seconds."""

    all_reduce_s: float
    local_s: float

    def cells(self, total_s: float) -> dict[str, float]:
        """Return the columns of the run file, from the seconds of the iteration.

        Shares, 0 to 1: of the all-reduce alone in the iteration, and of the part of it that overlaps with the
        backward pass.

        >>> AllReduce(0.2, 1.0).cells(1.05)["all_reduce_overlap"]
        0.75
        """
        exposed = max(total_s - self.local_s, 0.0)
        return {
            "all_reduce_s": self.all_reduce_s,
            "time_without_all_reduce_s": self.local_s,
            "all_reduce_share": self.all_reduce_s / total_s,
            "all_reduce_overlap": round(min(max(1.0 - exposed / self.all_reduce_s, 0.0), 1.0), 12),
        }


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement of one configuration, and the interference observed meanwhile.

    `host_launch_s` : time that the host needs to launch the kernels of one layer, nan where not measured.
    """

    repeats: Repeats
    interference: Interference = field(default_factory=Interference)
    all_reduce: AllReduce | None = None
    host_launch_s: float = nan


def run_row(
    configuration: Configuration, measured: Measurement, host: MeasuredDevice, single_s: float = nan
) -> dict[str, object]:
    """Return a measurement as a row of the run file; times in seconds.

    single_s : measured time of the same configuration in one process, nan where it was not measured.
    """
    several, several_hosts = configuration.processes > 1, configuration.nodes > 1
    disturbed_by = measured.interference.remark
    return {
        **configuration.run_cells,
        "gpu": host.gpu,
        "link": host.link if configuration.processes > configuration.nodes else "none",
        "network": host.network if several_hosts else "none",
        "algorithm": "ring" if several else "none",
        "allocation": EVEN,
        "bucketed": 1,
        "precision_stated": stated_precision(configuration.device, configuration.precision),
        "single_gpu_time_s": single_s if several else nan,
        **_measured_cells(measured),
        "framework": FRAMEWORK,
        "framework_version": host.framework_version,
        "harness": HARNESS,
        "source": "own measurement",
        "source_commit": f"trainlaw {version('trainlaw')}",
        "source_path": "trainlaw profile",
        "licence": "own",
        "bench_year": datetime.date.today().year,
        # Measurements disturbed by other programs are not suitable for pooling with other sources.
        "pool": int(not disturbed_by),
        "pool_reason": disturbed_by or "none",
        "remark": disturbed_by,
        "layout": "channels_last" if configuration.stack == "channels_last" else "nchw",
        "compilation": "eager",
        "data": "synthetic",
        "tuned": 0,
        "optimizer": "none" if configuration.timed_parts == FORWARD_PASS else OPTIMIZER,
        "hardware": host.hardware,
        "software": host.software,
        "measured_at": now_text(),
    }


def _measured_cells(measured: Measurement) -> dict[str, float]:
    repeats, seen = measured.repeats, measured.interference
    return {
        "time_s": repeats.median_s,
        "time_min_s": min(repeats.total_s),
        "time_max_s": max(repeats.total_s),
        "n_repeats": len(repeats.total_s),
        "forward_s": median(repeats.forward_s),
        "backward_s": median(repeats.backward_s),
        "update_s": median(repeats.update_s),
        "interval_percent": repeats.interval * 100 if isfinite(repeats.interval) else nan,
        "warm_up_iterations": repeats.warm_up,
        "other_load": seen.other_load,
        "clock_hz": seen.clock_hz,
        "host_launch_s": measured.host_launch_s,
        **(measured.all_reduce.cells(repeats.median_s) if measured.all_reduce else {}),
    }


def failure_row(configuration: Configuration, reason: str) -> dict[str, object]:
    """Return a configuration that could not be measured, and why, as a row of the failure file."""
    cells = {name: getattr(configuration, name) for name in CONFIGURATION_COLUMNS}
    return {**cells, "reason": reason, "measured_at": now_text()}


_TEXTS = frozenset(("device", "precision", "cnn", "stack", "timed_parts"))


def configuration_from_run(row: Mapping[str, str]) -> Configuration:
    """Return the configuration of a row of the run file (texts)."""
    return configuration_from_failure(
        {name: row[RUN_NAMES.get(name, name)] for name in CONFIGURATION_COLUMNS}
    )


def configuration_from_failure(row: Mapping[str, str]) -> Configuration:
    """Return the configuration of a row of the failure file (texts)."""
    cells = {name: row[name] if name in _TEXTS else int(row[name]) for name in CONFIGURATION_COLUMNS}
    return Configuration(**cells)  # type: ignore[arg-type]


def now_text() -> str:
    """Return the current time, UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
