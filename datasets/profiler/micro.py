"""Micro-benchmarks: operations and sizes, and the table of achieved rates."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan
from pathlib import Path
from statistics import median

from trainlaw.datasets.profiler.configurations import MEASURABLE_PRECISIONS
from trainlaw.datasets.profiler.devices import set_precision
from trainlaw.datasets.profiler.local_device import measured_device, torch_package, torch_part
from trainlaw.datasets.profiler.row_files import MachineFile, RowFile, sibling
from trainlaw.datasets.profiler.run_rows import now_text
from trainlaw.datasets.profiler.timing import Clock, check_clock
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.files.text_files import csv_text, write_text_atomically

# Sides of square matrices; (batch, channels, side) of 3 x 3 convolutions; bytes of a copy. The smallest take
# about as long as a launch, the largest keep a CPU or GPU busy.
MATRIX_SIDES = (128, 256, 512, 1024, 2048)
GPU_MATRIX_SIDES = (*MATRIX_SIDES, 4096, 8192)
CONVOLUTIONS = ((1, 64, 56), (8, 64, 56), (8, 128, 28), (8, 256, 14), (32, 256, 14))
GPU_CONVOLUTIONS = (*CONVOLUTIONS, (64, 64, 56), (128, 256, 28))
COPY_BYTES = (2**12, 2**16, 2**20, 2**24, 2**27)
DETAIL_COLUMNS = ("gpu", "threads", "precision", "benchmark", "size", "time_s", "rate", "unit")
MICRO_COLUMNS = (
    "gpu",
    "threads",
    "precision",
    "achieved_matmul_flop_per_s",
    "achieved_conv_flop_per_s",
    "achieved_copy_byte_per_s",
    "launch_latency_s",
    "host_overhead_per_layer_s",
    "measured_at",
)
# Columns that a study reads to calibrate a formula: the newest row per device and precision.
RATE_COLUMNS = (
    "gpu",
    "precision",
    "achieved_matmul_flop_per_s",
    "achieved_copy_byte_per_s",
    "launch_latency_s",
)


@dataclass(frozen=True, slots=True)
class MicroTime:
    """One micro-benchmark at one size: `amount` is FLOP or bytes of one call, `time_s` its seconds."""

    benchmark: str
    size: str
    amount: float
    time_s: float

    @property
    def unit(self) -> str:
        """Unit of `rate`."""
        return "FLOP/s" if self.benchmark in ("matmul", "conv") else "B/s"

    @property
    def rate(self) -> float:
        """Amount in one second; nan for a benchmark that moves nothing."""
        return self.amount / self.time_s if self.amount else nan

    @property
    def cells(self) -> dict[str, object]:
        """The columns of the file of all sizes."""
        cells = {name: getattr(self, name) for name in ("benchmark", "size", "time_s", "rate")}
        return {**cells, "unit": self.unit if self.amount else ""}


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


def matmul_flop(side: int) -> float:
    """Return the FLOP of the product of two square matrices: 2 n^3."""
    return 2.0 * side**3


def conv_flop(batch: int, channels: int, side: int) -> float:
    """Return the FLOP of a 3 x 3 convolution that keeps channels and size: 2 x 9 b c^2 s^2."""
    return 18.0 * batch * channels**2 * side**2


def per_layer_overhead(times: Mapping[int, float]) -> float:
    """Return the seconds that one more layer without work costs, from seconds by number of layers.

    >>> per_layer_overhead({10: 1.0, 20: 3.0, 30: 5.0})
    0.2
    """
    ordered = sorted(times.items())
    return median((later - earlier) / (more - fewer) for (fewer, earlier), (more, later) in pairwise(ordered))


def rate_cells(times: Iterable[MicroTime]) -> dict[str, object]:
    """Return achieved rates and latencies: best matrix product and convolution, and largest copy.

    `times` holds all benchmarks of one device and precision; rates in FLOP/s and B/s, latencies in seconds.
    """
    by_name: dict[str, list[MicroTime]] = {}
    for one in sorted(times, key=lambda one: one.amount):
        by_name.setdefault(one.benchmark, []).append(one)

    def of(name: str, value: Callable[[list[MicroTime]], float]) -> float:
        return value(by_name[name]) if name in by_name else nan

    return {
        "achieved_matmul_flop_per_s": of("matmul", lambda found: max(each.rate for each in found)),
        "achieved_conv_flop_per_s": of("conv", lambda found: max(each.rate for each in found)),
        "achieved_copy_byte_per_s": of("copy", lambda found: found[-1].rate),
        "launch_latency_s": of("launch", lambda found: found[0].time_s),
        "host_overhead_per_layer_s": of("layer", lambda found: found[0].time_s),
    }


def profile_micro(
    device: str,
    threads: Sequence[int],
    precisions: Sequence[str],
    out: str | os.PathLike[str],
    on_time: Callable[[str, MicroTime], None],
) -> int:
    """Run the micro-benchmarks for each number of threads and precision; return the number of rows.

    Files next to `out` end in `-micro` (one row each), `-micro-sizes` (every size) and `-rates` (for a
    study's calibration). `on_time` is called with the device's name after each benchmark. Raises
    MissingDependencyError without torch, UnknownNameError for an unknown precision, NotMeasuredError for one
    that the device does not have.
    """
    # Refuse a precision at once that would fail after minutes.
    for precision in precisions:
        check_name("precision", precision, MEASURABLE_PRECISIONS)
        set_precision(torch_package(), device, precision)
    machine = MachineFile(out)
    rows = RowFile(sibling(out, "micro"), MICRO_COLUMNS)
    details = RowFile(sibling(out, "micro-sizes"), DETAIL_COLUMNS)
    for number in threads:
        host = measured_device(device, number, machine)
        if number:
            torch_package().set_num_threads(number)
        for precision in precisions:
            shared = {"gpu": host.gpu, "threads": number, "precision": precision}
            times = []
            for each in torch_part("torch_micro").micro_times(device, precision):
                times.append(each)
                details.append({**shared, **each.cells})
                on_time(host.gpu, each)
            rows.append({**shared, **rate_cells(times), "measured_at": now_text()})
            _write_rates(rows.rows, sibling(out, "rates"))
    return len(threads) * len(precisions)


def _write_rates(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Write the newest row of each device and precision, with the columns of a table of rates."""
    newest = {(row["gpu"], row["precision"]): row for row in rows}
    write_text_atomically(path, csv_text(RATE_COLUMNS, newest.values()))
