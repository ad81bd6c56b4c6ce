"""Achieved rates of GPUs from micro-benchmarks: a small table in CSV or JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trainlaw.datasets.hardware.gpus import GpuCatalog
from trainlaw.formulas.errors import InputError, unknown_name
from trainlaw.formulas.files.text_files import read_csv, read_json

#: Numeric columns, with their unit in the name; each may be missing or empty.
RATE_COLUMNS = ("achieved_matmul_flop_per_s", "achieved_copy_byte_per_s", "launch_latency_s")
# A rate below a thousandth of the data sheet's, or a launch above 1 ms, is in a wrong unit.
_LEAST_SHARE, _MOST_SHARE, _MOST_LAUNCH_S = 1e3, 1.5, 1e-3
_TEXT_COLUMNS = ("gpu", "precision", "remark")


@dataclass(frozen=True)
class MeasuredRates:
    """Rates measured on one GPU; None if not measured.

    gpu : name in the catalogue. precision : of the matrix product. achieved_matmul_flop_per_s : of a large
    matrix product, FLOP/s. achieved_copy_byte_per_s : bytes read and written per second by a large copy on
    the GPU. launch_latency_s : of an empty kernel, seconds.
    """

    gpu: str
    precision: str = "fp32"
    achieved_matmul_flop_per_s: float | None = None
    achieved_copy_byte_per_s: float | None = None
    launch_latency_s: float | None = None


def read_rates(path: Path, gpus: GpuCatalog | None = None) -> tuple[MeasuredRates, ...]:
    """Return the achieved rates in a file, one entry per row.

    path : CSV file, or JSON file with a list of objects; a column `gpu`, optionally `precision` and `remark`,
    and the columns `RATE_COLUMNS`. gpus : where the GPUs of the rates are looked up, so that rates in another
    unit are noticed. InputError, with file and row, for an unknown column, a missing GPU, two rows for one
    GPU and precision, or a rate that is not a positive number; with `gpus` also for a rate that its GPU
    cannot have, and UnknownNameError for a GPU that they lack: its rates would be of no use.
    """
    rows = _json_rows(path) if path.suffix.lower() == ".json" else read_csv(path)[1]
    if not rows:
        raise InputError(f"{path}: expected at least one row of achieved rates, got none")
    rates = tuple(_rates(row, f"{path} row {number}") for number, row in enumerate(rows, start=1))
    keys = [(row.gpu, row.precision) for row in rates]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"{path}: {key[0]} in {key[1]} occurs more than once; keep one row of each")
    if gpus is not None:
        _check_possible(rates, gpus)
    return rates


def _check_possible(rates: Iterable[MeasuredRates], gpus: GpuCatalog) -> None:
    for row in rates:
        gpu = gpus.find(row.gpu)
        peak = max(gpu.peak_fp32_flop_per_s, gpu.peak_tf32_flop_per_s, gpu.peak_fp16_flop_per_s)
        for name, value, most in (
            ("achieved_matmul_flop_per_s", row.achieved_matmul_flop_per_s, peak),
            ("achieved_copy_byte_per_s", row.achieved_copy_byte_per_s, gpu.bandwidth_byte_per_s),
            ("launch_latency_s", row.launch_latency_s, _MOST_LAUNCH_S),
        ):
            # Boost clocks and caches may exceed a data sheet a little.
            if value and not most / _LEAST_SHARE <= value <= _MOST_SHARE * most:
                expected = f"{most / _LEAST_SHARE:.2g} to {_MOST_SHARE * most:.2g}"
                raise InputError(f"rates of {row.gpu}: expected {name} of {expected}, got {value:g}")


def _json_rows(path: Path) -> list[Mapping[str, object]]:
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: expected a list of objects, one per GPU")
    return rows


def _rates(row: Mapping[str, object], where: str) -> MeasuredRates:
    for name in row:
        if name not in (*_TEXT_COLUMNS, *RATE_COLUMNS):
            raise unknown_name(f"column of {where}", str(name), (*_TEXT_COLUMNS, *RATE_COLUMNS))
    gpu = str(row.get("gpu") or "").strip()
    if not gpu:
        raise InputError(f"{where}: column gpu is empty")
    numbers = {name: _positive(row.get(name), f"{where}, {name}") for name in RATE_COLUMNS}
    return MeasuredRates(gpu, str(row.get("precision") or "fp32"), **numbers)


def _positive(value: object, where: str) -> float | None:
    # An empty cell is a rate that was not measured, not an error.
    if value is None or value == "":
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < float("inf"):
        raise InputError(f"{where}: expected a positive number, got {str(value)[:40]!r}")
    return number
