"""The time in which this host launches the kernels of one layer, measured within seconds."""

import time
from dataclasses import dataclass
from statistics import median

from trainlaw.datasets.profiler.local_device import torch_package, torch_part
from trainlaw.formulas.errors import MissingDependencyError

# A host on which PyTorch computes a layer of one pixel in 13.6 us, and a call of a Python method takes 76 ns,
# is taken as one of 2025, which launch the kernels of a layer in 27 to 36 us.
_LAUNCH_PER_LAYER_OF_ONE_PIXEL = 2.5
# On a host that issues a small layer to an H100 in 64 us, CNNs took 80 us per layer in tf32 and 92 us in
# amp (medians of 35 CNNs, data set h100).
_LAUNCH_PER_SMALL_LAYER = 1.35
# Launch time over the time of a call on the same host: 34 us over 76 ns.
_CALLS_PER_LAUNCH = 450
_CALLS, _REPEATS = 10_000, 30  # a millisecond per repeat, far above the clock's resolution


@dataclass(frozen=True)
class HostLaunch:
    """The time in s to launch the kernels of one layer, with its measurement and its assumption as text."""

    seconds: float
    measured: str
    assumed: str


def measured_host_launch() -> HostLaunch:
    """Return the launch time of this host: issued to a GPU, or from PyTorch on the CPU, or from Python."""
    try:
        torch = torch_package()
    except MissingDependencyError:
        seconds = median(_calls_s() for _ in range(_REPEATS)) / _CALLS * _CALLS_PER_LAUNCH
        assumed = f"a launch takes as long as {_CALLS_PER_LAUNCH} calls; with torch the estimate is better"
        return HostLaunch(seconds, "calls of a Python method", assumed)
    issued, version = torch_part("torch_micro").issue_s(), f"PyTorch {torch.__version__}"
    if torch.cuda.is_available():
        assumed = f"a layer of a CNN takes {_LAUNCH_PER_SMALL_LAYER:g} times as long as a small one alone"
        measured = f"calls of {version} for small layers, without waiting for the GPU"
        return HostLaunch(issued * _LAUNCH_PER_SMALL_LAYER, measured, assumed)
    assumed = f"issuing a layer to a GPU takes {_LAUNCH_PER_LAYER_OF_ONE_PIXEL:g} times as long"
    measured = f"layers of one pixel by {version} on one core"
    return HostLaunch(issued * _LAUNCH_PER_LAYER_OF_ONE_PIXEL, measured, assumed)


class _Kept:
    """Work of an interpreted framework per layer: calls, lookups, arithmetic."""

    def __init__(self) -> None:
        self.values: dict[int, float] = {}

    def keep(self, key: int, value: float) -> float:
        self.values[key] = value
        return self.values[key] + 1.0


def _calls_s() -> float:
    kept, value, began = _Kept(), 0.0, time.perf_counter()
    for number in range(_CALLS):
        value = kept.keep(number % 64, value) / 2
    return time.perf_counter() - began
