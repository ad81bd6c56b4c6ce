"""The micro-benchmarks of a device: achieved rates in one row, and every size beside it."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trainlaw.datasets.profiler.machine_file import MachineFile
from trainlaw.datasets.profiler.means import Means, host_of, torch_package, torch_part
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
from trainlaw.formulas.files import write_text_atomically


def profile_micro(
    device: str,
    threads: Sequence[int],
    precisions: Sequence[str],
    processes: int,
    *,
    means: Means,
    on_time: Callable[[str, MicroTime], None],
) -> int:
    """Run the micro-benchmarks for each number of threads and precision; return how many rows that gave.

    Beside `means.out` appear files ending in `-micro` (one row each), `-micro-sizes` (every size) and
    `-rates` (what a study's calibration reads). With several `processes` their all-reduce is measured too.
    `on_time` is called with the device's name after each benchmark. Raises MissingDependencyError without
    torch, NotMeasuredError for a precision that the device does not have.
    """
    machine = MachineFile(means.out)
    rows, details = (
        RowFile(means.beside("micro"), MICRO_COLUMNS),
        RowFile(means.beside("micro-sizes"), DETAIL_COLUMNS),
    )
    reduced = _all_reduce(device, processes) if processes > 1 else []
    count = 0
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
            rows.append(
                {**micro_row(host.gpu, number, precision, times, processes), "measured_at": now_text()}
            )
            count += 1
    _write_rates(rows.rows, means.beside("rates"))
    return count


def _write_rates(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Write the newest row of each device and precision, with the columns of a table of rates."""
    newest = {(row["gpu"], row["precision"]): row for row in rows}
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, RATE_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(newest.values())
    write_text_atomically(path, text.getvalue())


def _all_reduce(device: str, processes: int) -> list[MicroTime]:
    together = torch_part("torch_processes")
    found = together.all_reduce_together(together.Gathering(device, processes))
    return [MicroTime("allreduce", size, amount, seconds) for size, amount, seconds in found]
