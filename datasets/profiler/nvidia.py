"""State of an NVIDIA GPU as its driver reports it: clocks, temperature, reasons for throttling."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan

_FIELDS = (
    "name",
    "driver_version",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.max.mem",
    "temperature.gpu",
    "power.draw",
    "memory.used",
    "clocks_throttle_reasons.active",
)
# Bits of clocks_throttle_reasons.active (nvml.h, nvmlClocksEventReasons); idle and set clocks do not count.
_REASONS = (
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "power brake"),
)
_WAIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class GpuState:
    """State of a GPU: clocks in Hz, temperature in degrees Celsius, power in watts, nan where unknown.

    `used_bytes` is the memory that all programs hold on it.
    """

    name: str = ""
    driver: str = ""
    clock_hz: float = nan
    max_clock_hz: float = nan
    max_memory_clock_hz: float = nan
    temperature_c: float = nan
    power_w: float = nan
    used_bytes: float = nan
    throttled: tuple[str, ...] = ()


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_WAIT_SECONDS, check=True)
    return done.stdout


def gpu_state(gpu: str, run: Callable[[Sequence[str]], str] = _run) -> GpuState:
    """Return the state of a GPU as nvidia-smi reports it; an empty state where that fails.

    gpu : its index or, as indices of torch may be others, its UUID. run : returns the output of a command.
    """
    command = (
        "nvidia-smi",
        f"--id={gpu}",
        f"--query-gpu={','.join(_FIELDS)}",
        "--format=csv,noheader,nounits",
    )
    try:
        cells = [cell.strip() for cell in run(command).strip().split(",")]
    except (OSError, subprocess.SubprocessError):
        return GpuState()
    if len(cells) != len(_FIELDS):
        return GpuState()
    clock, top, memory, temperature, power, used = (_number(cell) for cell in cells[2:8])
    return GpuState(
        cells[0],
        cells[1],
        clock * 1e6,
        top * 1e6,
        memory * 1e6,
        temperature,
        power,
        used * 2**20,
        _reasons(cells[8]),
    )


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        # "[N/A]", "[Not Supported]"
        return nan


def _reasons(cell: str) -> tuple[str, ...]:
    try:
        bits = int(cell, 16)
    except ValueError:
        return ()
    return tuple(name for bit, name in _REASONS if bits & bit)
