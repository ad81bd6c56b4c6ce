"""A device that works behind the host's back, as a GPU does, and measurements made up of it."""

from dataclasses import dataclass, field

import pytest
from trainlaw.datasets.profiler.run_rows import MeasuredDevice, Measurement
from trainlaw.datasets.profiler.timing import Repeats

HOST = MeasuredDevice("Toy CPU, 1 thread", "Toy CPU, 2 cores", "torch 9.9, python 3", "9.9")


@dataclass
class FakeDevice:
    """Work is queued in no time and done later; `synchronize` waits. Times in seconds."""

    host_s: float = 0.0
    free_s: float = 0.0
    launch_s: float = 1e-6
    log: list = field(default_factory=list)

    def launch(self, seconds: float) -> None:
        self.host_s += self.launch_s
        self.free_s = max(self.free_s, self.host_s) + seconds

    def synchronize(self) -> None:
        self.log.append("synchronize")
        self.host_s = max(self.host_s, self.free_s)

    def now(self) -> float:
        return self.host_s

    def new_event(self) -> "FakeEvent":
        return FakeEvent(self)


@dataclass
class FakeEvent:
    device: FakeDevice
    stamp_s: float = float("nan")

    def record(self) -> None:
        self.stamp_s = max(self.device.free_s, self.device.host_s)

    def elapsed_time(self, later: "FakeEvent") -> float:
        return (later.stamp_s - self.stamp_s) * 1e3


@dataclass
class FakeStep:
    """A step of three layers; seconds of forward, backward and update on a device."""

    device: FakeDevice
    forward_s: float = 0.010
    backward_s: float = 0.020
    update_s: float = 0.002

    def forward(self) -> None:
        self.device.launch(self.forward_s)

    def backward(self) -> None:
        self.device.launch(self.backward_s)

    def update(self) -> None:
        self.device.launch(self.update_s)

    def finish(self) -> None:
        self.device.synchronize()


@pytest.fixture
def device():
    return FakeDevice()


@pytest.fixture
def host():
    return HOST


def measurement(seconds: float, **options) -> Measurement:
    """Six equal repeats of an iteration, a third of it in each phase."""
    third = (seconds / 3,) * 6
    return Measurement(Repeats(third, third, third, (seconds,) * 6, 2), **options)
