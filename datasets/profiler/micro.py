"""Micro-benchmarks: the rates that a device achieves, as the table of `trainlaw study --rates`."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from trainlaw.datasets.profiler.configurations import MEASURABLE_PRECISIONS
from trainlaw.datasets.profiler.devices import set_precision
from trainlaw.datasets.profiler.local_device import measured_device, torch_package, torch_part
from trainlaw.datasets.profiler.row_files import MachineFile, RowFile, sibling
from trainlaw.datasets.profiler.timing import Clock, check_clock
from trainlaw.formulas.errors import check_name

#: Columns that a study reads to calibrate a formula: a row per device and precision.
RATE_COLUMNS = (
    "gpu",
    "precision",
    "achieved_matmul_flop_per_s",
    "achieved_copy_byte_per_s",
    "launch_latency_s",
)


@dataclass(frozen=True, slots=True)
class AchievedRates:
    """Rates of a large matrix product, convolution and copy, FLOP/s and B/s, and the time of a launch, s."""

    achieved_matmul_flop_per_s: float
    achieved_conv_flop_per_s: float
    achieved_copy_byte_per_s: float
    launch_latency_s: float


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """The marks of a clock, the clock of the host `now` (s), and `wait`, which waits for the device."""

    clock: Clock
    wait: Callable[[], None]
    now: Callable[[], float] = time.perf_counter


def time_calls(call: Callable[[], object], watch: Stopwatch, seconds: float) -> float:
    """Return the seconds of one call: median of five series that share about `seconds`, after a warm-up.

    Within a series, calls follow each other without waiting for the device. Raises ClockError if the clock
    does not wait for the device.
    """
    call()
    marked_s, wall_s = _series(call, watch, 1)
    count = int(min(max(seconds / 5 / max(marked_s, wall_s, 1e-7), 1), 100_000))
    spans = [_series(call, watch, count) for _ in range(5)]
    check_clock(spans)
    return median(marked_s for marked_s, _ in spans) / count


def _series(call: Callable[[], object], watch: Stopwatch, count: int) -> tuple[float, float]:
    """Return the seconds of `count` calls between the marks, and on the wall clock."""
    clock = watch.clock
    clock.finish()
    watch.wait()
    began = watch.now()
    first = clock.mark()
    for _ in range(count):
        call()
    last = clock.mark()
    clock.finish()
    watch.wait()
    return clock.seconds(first, last), watch.now() - began


def profile_micro(
    device: str,
    threads: Sequence[int],
    precisions: Sequence[str],
    out: str | os.PathLike[str],
    on_rates: Callable[[str, AchievedRates], None],
) -> Path:
    """Measure the rates for each number of threads and precision; return the file with a row for each.

    It lies next to `out`, ends in `-rates`, and keeps its rows of other devices and precisions. `on_rates` is
    called with the device's name after each. Raises MissingDependencyError without torch, UnknownNameError
    for an unknown precision, NotMeasuredError for one that the device does not have.
    """
    # Refuse a precision at once that would fail after minutes.
    for precision in precisions:
        check_name("precision", precision, MEASURABLE_PRECISIONS)
        set_precision(torch_package(), device, precision)
    machine, file = MachineFile(out), RowFile(sibling(out, "rates"), RATE_COLUMNS)
    for number in threads:
        host = measured_device(device, number, machine)
        if number:
            torch_package().set_num_threads(number)
        for precision in precisions:
            rates: AchievedRates = torch_part("torch_micro").achieved_rates(device, precision)
            found = {name: getattr(rates, name) for name in RATE_COLUMNS[2:]}
            file.put({"gpu": host.gpu, "precision": precision, **found}, "gpu", "precision")
            on_rates(host.gpu, rates)
    return file.path
