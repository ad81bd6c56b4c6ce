"""The micro-benchmarks of a device: achieved rates in one row, and every size beside it."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trainlaw.datasets.profiler.configurations import PRECISIONS
from trainlaw.datasets.profiler.devices import set_precision
from trainlaw.datasets.profiler.machine_file import MachineFile
from trainlaw.datasets.profiler.micro import (
    DETAIL_COLUMNS,
    MICRO_COLUMNS,
    RATE_COLUMNS,
    MicroTime,
    detail_row,
    micro_row,
)
from trainlaw.datasets.profiler.row_files import RowFile
from trainlaw.datasets.profiler.run_rows import now_text
from trainlaw.datasets.profiler.setup import (
    Means,
    check_meeting,
    host_of,
    torch_package,
    torch_part,
)
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files import write_text_atomically


def profile_micro(
    device: str,
    threads: Sequence[int],
    precisions: Sequence[str],
    processes: int,
    *,
    means: Means,
    on_time: Callable[[str, MicroTime], None],
    nodes: int = 1,
) -> int:
    """Run the micro-benchmarks for each number of threads and precision; return how many rows that gave.

    Beside `means.out` appear files ending in `-micro` (one row each), `-micro-sizes` (every size) and
    `-rates` (what a study's calibration reads). With several `processes`, on one host or on `nodes`, their
    all-reduce is measured too. `on_time` is called with the device's name after each benchmark. Raises
    MissingDependencyError without torch, UnknownNameError for an unknown precision, NotMeasuredError for one
    that the device does not have, InputError for hosts that cannot meet.
    """
    _check_precisions(device, precisions)
    machine = MachineFile(means.out)
    rows = RowFile(means.beside("micro"), MICRO_COLUMNS)
    details = RowFile(means.beside("micro-sizes"), DETAIL_COLUMNS)
    reduced = _all_reduce(device, processes, nodes, means) if processes > 1 else []
    for number in threads:
        host = host_of(device, number, means, machine)
        if number:
            torch_package().set_num_threads(number)
        for precision in precisions:
            times = []
            for time in (*torch_part("torch_micro").micro_times(device, precision), *reduced):
                times.append(time)
                details.append(detail_row(host.gpu, number, precision, time, processes))
                on_time(host.gpu, time)
            found = micro_row(host.gpu, number, precision, times, processes)
            rows.append({**found, "measured_at": now_text()})
            _write_rates(rows.rows, means.beside("rates"))
    return len(threads) * len(precisions)


def _check_precisions(device: str, precisions: Sequence[str]) -> None:
    """Refuse at once what would be refused after minutes."""
    for precision in precisions:
        if precision not in PRECISIONS:
            raise unknown_name("precision", precision, PRECISIONS)
        set_precision(torch_package(), device, precision)


def _write_rates(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Write the newest row of each device and precision, with the columns of a table of rates."""
    newest = {(row["gpu"], row["precision"]): row for row in rows}
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, RATE_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(newest.values())
    write_text_atomically(path, text.getvalue())


def _all_reduce(device: str, processes: int, nodes: int, means: Means) -> list[MicroTime]:
    check_meeting(processes, nodes, means)
    together = torch_part("torch_processes")
    found = together.all_reduce_together(together.Gathering(device, processes, nodes, means.rendezvous))
    return [MicroTime("allreduce", size, amount, seconds) for size, amount, seconds in found]
