"""This machine: its CPU and NVIDIA GPU as the system reports them, and interference by other programs."""

import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path

_FIELDS = (
    "name",
    "driver_version",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.max.mem",
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
_WAIT_SECONDS = 10.0  # nvidia-smi takes up to seconds when no program holds the GPU


@dataclass(frozen=True, slots=True)
class GpuState:
    """State of a GPU: clocks in Hz, nan where unknown.

    `used_bytes` is the memory that all programs hold on it.
    """

    name: str = ""
    driver: str = ""
    clock_hz: float = nan
    max_clock_hz: float = nan
    max_memory_clock_hz: float = nan
    used_bytes: float = nan
    throttled: tuple[str, ...] = ()


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_WAIT_SECONDS, check=True)
    return done.stdout


def gpu_state(gpu: str, run: Callable[[Sequence[str]], str] = _run) -> GpuState:
    """Return the state of a GPU as nvidia-smi reports it; an empty state where that fails.

    gpu : its index or, as indices of torch may be others, its UUID. run : returns the output of a command.
    """
    asked = (f"--id={gpu}", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits")
    try:
        cells = [cell.strip() for cell in run(("nvidia-smi", *asked)).strip().split(",")]
    except (OSError, subprocess.SubprocessError):
        return GpuState()
    if len(cells) != len(_FIELDS):
        return GpuState()
    name, driver, *numbers, throttled = cells
    clock, top, memory, used = map(_number, numbers)
    try:
        bits = int(throttled, 16)
    except ValueError:
        bits = 0
    reasons = tuple(reason for bit, reason in _REASONS if bits & bit)
    return GpuState(name, driver, clock * 1e6, top * 1e6, memory * 1e6, used * 2**20, reasons)


# Share of the machine's processors above which a remark is added: an idle system stays below it.
_NOTED_LOAD = 0.05
# Torch itself takes up to about a gigabyte of GPU memory before it computes anything.
_NOTED_GPU_BYTES = 2e9


@dataclass(frozen=True, slots=True)
class Interference:
    """Interference that was observed: share of processor time (nan where unknown), and events as text."""

    other_load: float = nan
    clock_hz: float = nan
    events: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """One line on possible disturbances of the measurement; "" when nothing was observed.

        >>> Interference(0.5).remark
        'other programs used 50 % of the processors'
        """
        parts = list(self.events)
        if self.other_load > _NOTED_LOAD:
            parts.append(f"other programs used {self.other_load * 100:.0f} % of the processors")
        return "; ".join(parts)


class Watch:
    """A watch on the machine, from its creation until `seen`.

    The processor time of this process does not count as interference. `gpu` returns the state of the GPU,
    `root` is the root of the Linux file system, `process_seconds` the processor time of this process.
    """

    def __init__(
        self,
        gpu: Callable[[], GpuState] = GpuState,
        root: Path = Path("/"),
        process_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        """Start watching."""
        self._gpu, self._root, self._process_seconds = gpu, root, process_seconds
        self._began, self._state = self._seconds(), gpu()

    def seen(self) -> Interference:
        """Return the interference since the watch began."""
        at_s, other_s = (after - before for before, after in zip(self._began, self._seconds(), strict=True))
        state, held = self._gpu(), self._state.used_bytes
        events = [f"the GPU was throttled: {reason}" for reason in state.throttled]
        if held > _NOTED_GPU_BYTES:
            events.append(f"other programs held {held / 1e9:.1f} GB of the GPU's memory")
        whole = at_s * (os.cpu_count() or 1)
        load = max(other_s, 0.0) / whole if whole and not isnan(other_s) else nan
        return Interference(load, state.clock_hz, tuple(events))

    def _seconds(self) -> tuple[float, float]:
        """Return the time, and the seconds that other programs used all processors for since boot."""
        try:
            line = (self._root / "proc/stat").read_text(encoding="ascii").partition("\n")[0]
            # proc(5): user, nice, system, idle, waiting, interrupts.
            user, nice, system, _, _, interrupt, soft = (int(cell) for cell in line.split()[1:8])
        except (OSError, ValueError):
            return time.monotonic(), nan
        busy = (user + nice + system + interrupt + soft) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), busy - self._process_seconds()


# fp32 lanes of a register and bf16 products per fp32 product, by a flag of /proc/cpuinfo, widest first.
_LANES: Mapping[str, int] = {"avx512f": 16, "avx2": 8, "avx": 8, "sse2": 4, "asimd": 4}
_BF16_GAIN: Mapping[str, int] = {"amx_bf16": 16, "avx512_bf16": 2}
# Server cores since 2017 start two multiply-adds a cycle; each counts two operations.
_UNITS = 2
_FLOP_PER_LANE = 2


@dataclass(frozen=True, slots=True)
class Processor:
    """Description of a CPU by the operating system: clock in Hz, sizes in bytes, nan where unknown."""

    model: str
    cores: int
    lanes: int = 0
    clock_hz: float = nan
    memory_bytes: float = nan
    l3_bytes: float = nan
    l1_bytes: float = nan
    bf16_gain: int = 1

    def device_name(self, threads: int) -> str:
        """Return the name of the CPU with that number of threads; other numbers count as other devices.

        >>> Processor("AMD EPYC", 2).device_name(1)
        'AMD EPYC, 1 thread'
        """
        return f"{self.model}, {threads} thread{'' if threads == 1 else 's'}"

    def peak_flop_per_s(self, threads: int) -> float:
        """Return the peak fp32 rate, cores x lanes x units x clock, FLOP/s; nan where one is unknown."""
        lanes = min(threads, self.cores) * self.lanes * _UNITS
        return lanes * _FLOP_PER_LANE * self.clock_hz if lanes else nan

    def gpu_row(self, threads: int, measured_flop_per_s: float, copy_byte_per_s: float) -> dict[str, object]:
        """Return the CPU as a row of the GPU schema, from its description and measured rates.

        The peak is the theoretical one, or the measured one where that is higher (the clock can exceed its
        stated value).
        """
        stated = self.peak_flop_per_s(threads)
        peak = stated if stated >= measured_flop_per_s else measured_flop_per_s
        lanes = min(threads, self.cores) * (self.lanes or 4) * _UNITS
        origin = "cores x lanes x 2 units x clock" if peak == stated else "measured products and convolutions"
        name = self.device_name(threads)
        return {
            "gpu": name,
            "generation": "CPU",
            "device": "CPU",
            "gpu_group": name,
            "sm_count": min(threads, self.cores),
            "core_count": lanes,
            "boost_clock_hz": peak / lanes / _FLOP_PER_LANE,
            "base_clock_hz": min(self.clock_hz, peak / lanes / _FLOP_PER_LANE),
            "peak_fp32_flop_per_s": peak,
            # On a CPU the only 16-bit floats in use are bf16, also under autocast.
            "peak_fp16_flop_per_s": peak * self.bf16_gain,
            "peak_bf16_flop_per_s": peak * self.bf16_gain,
            "memory_bytes": self.memory_bytes,
            "bandwidth_byte_per_s": copy_byte_per_s,
            "l2_bytes": self.l3_bytes,
            "l1_bytes_per_sm": self.l1_bytes,
            "source": "trainlaw profile on this machine",
            "remark": f"peak by {origin}; bandwidth by a measured copy",
        }


def read_processor(root: Path = Path("/"), cores: int | None = None) -> Processor:
    """Read the description of the CPU from the Linux files under `root`; on other systems less is known.

    cores : those that this process may use (None: as the operating system states).
    """
    info = _text(root / "proc/cpuinfo")
    flags = {*_field(info, "flags").split(), *_field(info, "Features").split()}
    cpu = root / "sys/devices/system/cpu/cpu0"
    # The highest clock of the governor, in kHz, or the one of the moment, in MHz.
    limit = _number(_text(cpu / "cpufreq/cpuinfo_max_freq")) * 1e3
    return Processor(
        model=_name(_field(info, "model name") or platform.processor() or platform.machine()),
        cores=cores or usable_cores(),
        lanes=next((lanes for flag, lanes in _LANES.items() if flag in flags), 0),
        clock_hz=_number(_field(info, "cpu MHz")) * 1e6 if isnan(limit) else limit,
        memory_bytes=_number(_field(_text(root / "proc/meminfo"), "MemTotal")) * 1024,
        l3_bytes=_number(_text(cpu / "cache/index3/size")) * 1024,
        l1_bytes=_number(_text(cpu / "cache/index0/size")) * 1024,
        bf16_gain=next((gain for flag, gain in _BF16_GAIN.items() if flag in flags), 1),
    )


def usable_cores() -> int:
    """Return the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory_bytes(root: Path = Path("/")) -> float:
    """Return the bytes that a program may take without swapping, nan where unknown."""
    return _number(_field(_text(root / "proc/meminfo"), "MemAvailable")) * 1024


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _field(text: str, name: str) -> str:
    """Return the value in the first line with a name, "" without one."""
    found = re.search(rf"^{name}\s*:[ \t]*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _number(text: str) -> float:
    """Return the number that a text begins with (512 of "512K"); nan where there is none ("[N/A]")."""
    found = re.match(r"\s*(\d+(?:\.\d+)?)", text)
    return float(found[1]) if found else nan


def _name(text: str) -> str:
    """Return a name that is valid in a cell of a table."""
    words = " ".join(text.replace("(R)", "").replace("(TM)", "").split())
    return words.lstrip("=+-@ ")[:80] or "CPU"
