"""What all jobs of the profiler share: torch when it is needed, how to measure, the facts of a device."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from trainlaw.datasets.hardware.links import find_link
from trainlaw.datasets.profiler.device_rows import card_host, cpu_host
from trainlaw.datasets.profiler.devices import choose_device, known_card
from trainlaw.datasets.profiler.machine_file import MachineFile
from trainlaw.datasets.profiler.processor import read_processor, usable_cores
from trainlaw.datasets.profiler.repeats import StoppingRule
from trainlaw.datasets.profiler.run_rows import Host
from trainlaw.datasets.profiler.sweep import Progress
from trainlaw.formulas.errors import InputError, optional_package

OnProgress = Callable[[Progress], None]
# No row of the link table is the memory of one host; this one is the nearest in rate to gloo over loopback.
_LINK_OF_CPUS = "ethernet-20g"


@dataclass(frozen=True)
class Means:
    """How to measure: output file, when to stop, names of links, where several hosts meet (HOST:PORT)."""

    out: str | os.PathLike[str]
    rule: StoppingRule = field(default_factory=StoppingRule)
    link: str = ""
    network: str = ""
    rendezvous: str = ""

    def beside(self, ending: str) -> Path:
        """Return the name of a further file: that of `out` with an ending before .csv."""
        place = Path(self.out)
        return place.with_name(f"{place.stem}-{ending}.csv")


def check_meeting(processes: int, nodes: int, means: Means) -> None:
    """Raise InputError where so many processes do not share so many hosts evenly, or hosts cannot meet."""
    if processes % nodes:
        raise InputError(f"expected a multiple of {nodes} hosts, got {processes} processes")
    if nodes > 1 and not (means.network and means.rendezvous):
        raise InputError(
            "several hosts need --network NAME (the link between them) and --rendezvous HOST:PORT"
        )


def _network(means: Means) -> str:
    return find_link(means.network).link if means.network else "none"


def torch_package() -> Any:
    """Return torch; raises MissingDependencyError, which tells the way of getting it."""
    return optional_package("torch", "profile")


def torch_part(name: str) -> Any:
    """Return a file of the profiler that imports torch; raises MissingDependencyError without torch."""
    torch_package()
    return import_module(f"trainlaw.datasets.profiler.{name}")


def device_here(text: str) -> str:
    """Return "cpu" or "cuda" for a choice or "auto"; MissingDependencyError without torch, InputError."""
    return choose_device(torch_package(), text)


def default_threads(device: str) -> int:
    """Threads where none are named: all usable cores of a CPU, torch's own choice (0) on a card."""
    return 0 if device == "cuda" else usable_cores()


def named_here(device: str) -> Callable[[str, int], bool]:
    """Return a function that says whether a device's name, with so many threads, is this machine's."""
    if device == "cpu":
        processor = read_processor()
        return lambda name, threads: name == processor.device_name(threads)
    cuda = torch_package().cuda
    card = known_card(cuda.get_device_properties(cuda.current_device()).name)
    return lambda name, threads: known_card(name) == card


def host_of(device: str, threads: int, means: Means, machine: MachineFile) -> Host:
    """Return the facts of a device; one that the GPU table lacks goes, measured, into the machine file."""
    rates = torch_part("torch_micro").quick_rates
    links = (find_link(means.link or _LINK_OF_CPUS).link, _network(means))
    if device == "cpu":
        return cpu_host(torch_package(), threads, links, machine, rates)
    return card_host(torch_package(), torch_part("torch_measure").state_of(device), links, machine, rates)
