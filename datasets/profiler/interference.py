"""Interference during a measurement: load of other programs, steal time, throttling."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path

from trainlaw.datasets.profiler.nvidia import GpuState

# Shares of the processors of the machine above which a remark is added.
_NOTED_LOAD = 0.05
_NOTED_STEAL = 0.02
# Torch itself takes up to about a gigabyte of GPU memory before it computes anything.
_NOTED_CARD_BYTES = 2e9


@dataclass(frozen=True, slots=True)
class Interference:
    """Interference that was observed: shares of processor time (nan where unknown), and events as text."""

    other_load: float = nan
    stolen: float = nan
    clock_hz: float = nan
    events: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """One line on what may have disturbed the measurement; "" when nothing was observed.

        >>> Interference(0.5, 0.0).remark
        'other programs used 50 % of the processors'
        """
        parts = list(self.events)
        if self.other_load > _NOTED_LOAD:
            parts.append(f"other programs used {self.other_load * 100:.0f} % of the processors")
        if self.stolen > _NOTED_STEAL:
            parts.append(f"the hypervisor withheld {self.stolen * 100:.0f} % of the processors")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _Moment:
    at_s: float
    busy_s: float
    stolen_s: float
    own_s: float
    throttles: int
    gpu: GpuState


class Watch:
    """A watch on the machine, from its creation until `seen`.

    `processes` processes of this program run concurrently and do not count as interference. `gpu` returns the
    state of the GPU, `root` is the root of the Linux file system, `own_seconds` the processor time of this
    process.
    """

    def __init__(
        self,
        processes: int = 1,
        gpu: Callable[[], GpuState] = GpuState,
        root: Path = Path("/"),
        own_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        """Start watching."""
        self._processes, self._gpu, self._root, self._own_seconds = processes, gpu, root, own_seconds
        self._began = self._moment()

    def seen(self) -> Interference:
        """Return the interference since the watch began."""
        before, after = self._began, self._moment()
        cores = os.cpu_count() or 1
        whole = (after.at_s - before.at_s) * cores
        own = (after.own_s - before.own_s) * self._processes
        other = max(after.busy_s - before.busy_s - own, 0.0) if not isnan(after.busy_s) else nan
        events = [f"the GPU was throttled: {reason}" for reason in after.gpu.throttled]
        if before.gpu.used_bytes > _NOTED_CARD_BYTES:
            events.append(f"other programs held {before.gpu.used_bytes / 1e9:.1f} GB of the GPU's memory")
        if after.throttles > before.throttles:
            events.append("the processor was throttled for heat")
        return Interference(
            other / whole if whole else nan,
            (after.stolen_s - before.stolen_s) / whole if whole else nan,
            after.gpu.clock_hz,
            tuple(events),
        )

    def _moment(self) -> _Moment:
        busy, stolen = _processor_seconds(self._root)
        return _Moment(
            time.monotonic(), busy, stolen, self._own_seconds(), _heat_throttles(self._root), self._gpu()
        )


def _processor_seconds(root: Path) -> tuple[float, float]:
    """Return busy and stolen seconds of all processors since boot (proc(5), /proc/stat)."""
    try:
        line = (root / "proc/stat").read_text(encoding="ascii").partition("\n")[0]
        user, nice, system, _, _, interrupt, soft, stolen = (int(cell) for cell in line.split()[1:9])
    except (OSError, ValueError):
        return nan, nan
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + interrupt + soft) / ticks, stolen / ticks


def _heat_throttles(root: Path) -> int:
    """Return how often a core was throttled for heat since boot; 0 where unknown."""
    counts = 0
    for path in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
        try:
            counts += int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return counts
