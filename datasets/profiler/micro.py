"""Micro-benchmarks: the rates that a device achieves, as the table of `trainlaw study --rates`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainlaw.datasets.profiler.configurations import MEASURABLE_PRECISIONS
from trainlaw.datasets.profiler.devices import set_precision
from trainlaw.datasets.profiler.local_device import measured_device, torch_package, torch_part
from trainlaw.datasets.profiler.row_files import MachineFile, RowFile, sibling
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
