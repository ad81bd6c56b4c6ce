"""Measurements as rows of the runs schema, with further columns of the profiler."""

import datetime
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from math import isfinite, nan
from statistics import median

from trainlaw.datasets.hardware.collectives import EVEN
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
FAILURE_COLUMNS = (*CONFIGURATION_COLUMNS, "reason", "measured_at")


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """The part that all rows of a device share: name in the GPU table, hardware and software as text."""

    gpu: str
    hardware: str
    software: str
    framework_version: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement of one configuration, and the interference observed meanwhile.

    `host_launch_s` : time that the host needs to launch the kernels of one layer, nan where not measured.
    """

    repeats: Repeats
    interference: Interference = field(default_factory=Interference)
    host_launch_s: float = nan


def run_row(configuration: Configuration, measured: Measurement, host: MeasuredDevice) -> dict[str, object]:
    """Return a measurement as a row of the run file; times in seconds."""
    disturbed_by = measured.interference.remark
    return {
        **{RUN_NAMES.get(name, name): cell for name, cell in asdict(configuration).items()},
        "gpu": host.gpu,
        "n_gpus": 1,
        "n_nodes": 1,
        "link": "none",
        "network": "none",
        "algorithm": "none",
        "allocation": EVEN,
        "bucketed": 1,
        "precision_stated": stated_precision(configuration.device, configuration.precision),
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
    }


def now_text() -> str:
    """Return the current time, UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
