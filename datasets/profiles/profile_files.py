"""Operation profiles of a training iteration from exports of profilers: seconds per operation.

Supported are the table printed by `key_averages().table()` of PyTorch, and CSV tables with a row per
operation, such as the op statistics of TensorFlow.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainlaw.datasets.files.numbers import decimal_marks, number_of
from trainlaw.datasets.files.table_files import read_as
from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.text_files import csv_rows, read_text

MAX_BYTES = 64 * 2**20
MAX_OPERATIONS = 100_000  # different names in a profile; the shipped ones have 65
MAX_SECONDS = 1e6  # of one operation; a longer time has a wrong unit
_UNITS_S: Mapping[str, float] = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "μs": 1e-6, "ns": 1e-9}
_STEP = "ProfilerStep"


@dataclass(frozen=True)
class OperationProfile:
    """Seconds of each operation in one training iteration.

    device, host : name of the operation to seconds, on the GPU (or on a CPU that computes) and on the host.
    step_s : the whole iteration, nan where the file does not state it. kind : description of the file.
    """

    device: Mapping[str, float]
    host: Mapping[str, float]
    step_s: float
    kind: str

    @property
    def total_s(self) -> float:
        """Seconds of all device operations together."""
        return math.fsum(self.device.values())


def read_profile(path: str | os.PathLike[str], steps: int = 1) -> OperationProfile:
    """Read the operation profile in an export of a profiler.

    steps : training iterations that the profile covers, where the file does not state them. InputError for a
    file that is too large, of an unknown kind, or has no operation.
    """
    place = Path(path)
    text = read_text(place, MAX_BYTES)
    if not 1 <= steps <= 1_000_000:
        raise InputError(f"expected 1 to 1000000 steps of a profile, got {steps}")
    with read_as(place, "a profile"):
        profile = _reader_of(text, place)(text, place, steps)
    _check(profile, place)
    return profile


def _reader_of(text: str, place: Path) -> "Callable[[str, Path, int], OperationProfile]":
    start = text.lstrip()[:1]
    if not start:
        raise InputError(f"expected a profile in {place}, got an empty file")
    if start in "{[":
        advice = "write print(prof.key_averages().table(row_limit=-1)) to a text file"
        raise InputError(f"expected a table of operations in {place}, got JSON, perhaps a trace: {advice}")
    head = text[:20_000]
    if "Self CPU" in head and "# of Calls" in head:
        return _read_torch_table
    return _read_statistics


def _check(profile: OperationProfile, place: Path) -> None:
    for name, seconds in (*profile.device.items(), *profile.host.items()):
        if not 0.0 <= seconds <= MAX_SECONDS:
            raise InputError(f"{place}: expected 0 to {MAX_SECONDS:g} s for {shown(name)}, got {seconds:g}")
    if len(profile.device) > MAX_OPERATIONS:
        raise InputError(f"{place}: expected at most {MAX_OPERATIONS} operations, got {len(profile.device)}")
    if not profile.total_s > 0.0:
        raise InputError(f"expected times of operations in {place}, got none")
    if not (math.isnan(profile.step_s) or 0.0 < profile.step_s <= MAX_SECONDS):
        raise InputError(f"{place}: expected a step above 0 s, got {profile.step_s:g}")


def _per_step(seconds: Mapping[str, float], steps: int) -> dict[str, float]:
    return {name: value / steps for name, value in seconds.items()}


# --- PyTorch's table ----------------------------------------------------------------------------------


def _read_torch_table(text: str, place: Path, steps: int) -> OperationProfile:
    """Read the table of `key_averages().table()`: lines of dashes mark its columns."""
    lines = text.splitlines()
    rulers = [number for number, line in enumerate(lines) if re.fullmatch(r"\s*-{3,}(\s+-{3,}){3,}\s*", line)]
    if len(rulers) < 2:
        raise InputError(f"expected lines of dashes around the header of the table in {place}, got none")
    spans = [match.span() for match in re.finditer("-+", lines[rulers[0]])]
    header = _cells(lines[rulers[1] - 1], spans)
    body = lines[rulers[1] + 1 : rulers[2] if len(rulers) > 2 else None]
    rows = [dict(zip(header, _cells(line, spans), strict=True)) for line in body if line.strip()]
    column = next((name for name in ("Self CUDA", "Self XPU", "Self CPU") if name in header), None)
    if "Name" not in header or column is None:
        raise InputError(
            f"expected the columns Name and Self CPU in the table of {place}, got {shown(header)}"
        )
    seconds: dict[str, float] = {}
    counted, whole_s = steps, math.nan
    for row in rows:
        if row["Name"].startswith(_STEP):
            counted = _count(row.get("# of Calls", ""), place)
            if steps not in (1, counted):
                raise InputError(f"{place} states {counted} steps of its profile, got {steps}")
            whole_s = _seconds(row["CPU total"], place) / counted if row.get("CPU total") else math.nan
        elif re.match(r"[A-Za-z_]\w*::", row["Name"]) and not row["Name"].startswith("autograd::"):
            # Kernels have separate rows next to the operators that launch them: only the latter count.
            seconds[row["Name"]] = seconds.get(row["Name"], 0.0) + _seconds(row[column], place)
    what = "PyTorch's table, " + ("CPU" if column == "Self CPU" else "GPU")
    return OperationProfile(_per_step(seconds, counted), {}, whole_s, what)


def _cells(line: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    return [line[first:last].strip() for first, last in spans]


def _count(text: str, place: Path) -> int:
    if not text.isdecimal() or len(text) > 9 or not int(text):
        raise InputError(f"{place}: expected the number of steps, got {shown(text)}")
    return int(text)


def _seconds(text: str, place: Path) -> float:
    """Return the seconds of a text such as 12.5ms."""
    match = re.fullmatch(r"(\d{1,30}(?:\.\d{0,30})?)\s*([a-zμ]*)", text, re.ASCII)
    if match and match[2] in _UNITS_S:
        return float(match[1]) * _UNITS_S[match[2]]
    raise InputError(f"{place}: expected a time such as 12.5ms, got {shown(text)}")


# --- tables with a row per operation ------------------------------------------------------------------

_NAMES = ("type", "optype", "operationtype", "operation", "operationname", "opname", "op", "name")
_SELF, _TOTAL = ("totalselftime", "selftime"), ("totaltime", "time", "duration", "dur")
_PLACE = ("hostdevice", "hostordevice", "device")


def _read_statistics(text: str, place: Path, steps: int) -> OperationProfile:
    """Read a CSV with a row per operation: TensorFlow's op statistics, or just name and total time."""
    header, rows = _csv_rows(text, place)
    plain = [_plain_title(title) for title in header]
    name = _column(plain, _NAMES)
    time = _column(plain, _SELF) if _column(plain, _SELF) is not None else _column(plain, _TOTAL)
    if name is None or time is None:
        raise InputError(
            f"expected a profile in {place}: PyTorch's table, or a CSV with the columns "
            f"operation and total_time_us; got the columns {shown(', '.join(header))}"
        )
    unit, where = _unit_of(header[time]), _column(plain, _PLACE)
    decimal = _decimal_mark([row[time] for row in rows.values()], place)
    found: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for line, row in rows.items():
        seconds = _number(row[time], line, decimal) * unit
        on_host = where is not None and row[where].strip().lower() == "host"
        operation = _operation(row[name])
        found[on_host][operation] = found[on_host].get(operation, 0.0) + seconds
    device, host = (_per_step(part, steps) for part in found)
    return OperationProfile(device, host, math.nan, "a table of operations")


def _csv_rows(text: str, place: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Return the header, and the cells of each row below by the words that say where it is."""
    header, *rows = csv_rows(text, place)
    if not rows:
        raise InputError(f"expected a row per operation under the header of {place}, got none")
    found = {f"{place} line {number}": row for number, row in enumerate(rows, start=2)}
    for line, row in found.items():
        if len(row) != len(header):
            raise InputError(f"{line}: expected {len(header)} cells, got {len(row)}")
    return header, found


def _plain_title(title: str) -> str:
    """Return the letters of a title without its unit.

    >>> _plain_title("Total self-time (us)"), _plain_title("total_time_s")
    ('totalselftime', 'totaltime')
    """
    without_unit = re.sub(r"\(.*?\)$|_(us|μs|ms|ns|s|sec)$", "", title.strip().lower())
    return re.sub(r"[^a-z]", "", without_unit)


def _column(titles: Sequence[str], known: Iterable[str]) -> int | None:
    return next((titles.index(name) for name in known if name in titles), None)


def _unit_of(title: str) -> float:
    """Return the seconds of one unit of a column: as its title states, else a microsecond."""
    match = re.search(r"(?:\(|_|\b)(us|μs|ms|ns|s|sec)\)?\s*$", title.strip().lower())
    return _UNITS_S[match[1]] if match else 1e-6


def _decimal_mark(texts: Iterable[str], place: Path) -> str:
    """Return the decimal mark of the times; InputError where they do not show which of two it is."""
    marks = decimal_marks(texts)
    shown_marks = marks & {".", ","}
    if len(shown_marks) == 2 or marks == {"?,"}:
        raise InputError(
            f"{place}: it is not clear whether commas in its times are decimal or separate thousands; export "
            "it without thousands separators"
        )
    return shown_marks.pop() if shown_marks else "."


def _number(text: str, where: str, decimal: str = ".") -> float:
    value = number_of(text, decimal)
    if not math.isfinite(value):
        raise InputError(f"{where}: expected a number, got {shown(text)}")
    return value


def _operation(text: str) -> str:
    """Return the kind of an operation that is named by its path in the CNN.

    >>> _operation("model/conv2d_3/Conv2D"), _operation("AddV2_12"), _operation("aten::mm")
    ('Conv2D', 'AddV2', 'aten::mm')
    """
    return re.sub(r"_\d+$", "", text.strip().rpartition("/")[2]) or text.strip()
