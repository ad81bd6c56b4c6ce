"""A CPU as the operating system describes it, and its row in the GPU schema."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from types import MappingProxyType

# fp32 lanes of a register and bf16 products per fp32 product, by a flag of /proc/cpuinfo, widest first.
_LANES: Mapping[str, int] = MappingProxyType({"avx512f": 16, "avx2": 8, "avx": 8, "sse2": 4, "asimd": 4})
_BF16_GAIN: Mapping[str, int] = MappingProxyType({"amx_bf16": 16, "avx512_bf16": 2})
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
    fields = _cpuinfo(_text(root / "proc/cpuinfo"))
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    cpu = root / "sys/devices/system/cpu/cpu0"
    # The highest clock of the governor, in kHz, or the one of the moment, in MHz.
    limit = _number(_text(cpu / "cpufreq/cpuinfo_max_freq")) * 1e3
    return Processor(
        model=_name(fields.get("model name") or platform.processor() or platform.machine()),
        cores=cores or usable_cores(),
        lanes=next((lanes for flag, lanes in _LANES.items() if flag in flags), 0),
        clock_hz=_number(fields.get("cpu MHz", "")) * 1e6 if isnan(limit) else limit,
        memory_bytes=_number(_after(_text(root / "proc/meminfo"), "MemTotal:")) * 1024,
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
    return _number(_after(_text(root / "proc/meminfo"), "MemAvailable:")) * 1024


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _cpuinfo(text: str) -> dict[str, str]:
    """Return the fields of the first processor listed."""
    lines = text.partition("\n\n")[0].splitlines()
    parts = [line.partition(":") for line in lines]
    return {name.strip(): value.strip() for name, _, value in parts}


def _after(text: str, word: str) -> str:
    return text.partition(word)[2].partition("\n")[0]


def _number(text: str) -> float:
    """Return the number that a text begins with ("512K" gives 512), nan where there is none."""
    digits = "".join(character for character in text.strip().partition(" ")[0] if character in "0123456789.")
    return float(digits) if digits else nan


def _name(text: str) -> str:
    """Return a name that is valid in a cell of a table."""
    words = " ".join(text.replace("(R)", "").replace("(TM)", "").split())
    return words.lstrip("=+-@ ")[:80] or "CPU"
