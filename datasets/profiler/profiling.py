"""The sweep over whole training iterations, in one process or several."""

import os
from collections.abc import Iterable, Sequence
from itertools import groupby

from trainlaw.datasets.hardware.links import find_link
from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.datasets.profiler.machine_file import MachineFile
from trainlaw.datasets.profiler.setup import (
    Means,
    OnProgress,
    check_meeting,
    host_of,
    torch_package,
    torch_part,
)
from trainlaw.datasets.profiler.sweep import SweepFiles, pending, sweep
from trainlaw.formulas.errors import InputError


def profile_runs(configurations: Sequence[Configuration], means: Means, on_progress: OnProgress) -> int:
    """Measure what is not yet in the files, and return how many configurations that were.

    Rows go to `means.out` in the runs schema, failures and devices that the GPU table lacks to files beside
    it. `on_progress`, a function of a module, is called after each. Raises MissingDependencyError without
    torch, InputError.
    """
    torch_package()
    files = SweepFiles(means.out)
    left = pending(configurations, files)
    _check_links(left, means)
    machine = MachineFile(means.out)
    devices = dict.fromkeys((each.device, each.threads) for each in left)
    hosts = {key: host_of(*key, means, machine) for key in devices}

    def measured(configuration: Configuration) -> object:
        return torch_part("torch_measure").measure(configuration, means.rule)

    for (device, processes, nodes), members in groupby(left, lambda c: (c.device, c.processes, c.nodes)):
        if processes == 1:
            alone = SweepFiles(means.out)
            sweep(list(members), measured, lambda c: hosts[c.device, c.threads], alone, on_progress)
            continue
        together = torch_part("torch_processes")
        known = {threads: host for (kind, threads), host in hosts.items() if kind == device}
        shared = together.SharedSweep(tuple(members), means.rule, os.fspath(means.out), known)
        gathering = together.Gathering(device, processes, nodes, means.rendezvous)
        together.sweep_together(gathering, shared, on_progress)
    return len(left)


def _check_links(configurations: Iterable[Configuration], means: Means) -> None:
    for name in filter(None, (means.link, means.network)):
        find_link(name)
    for each in configurations:
        check_meeting(each.processes, each.nodes, means)
        if each.processes > each.nodes and each.device == "cuda" and not means.link:
            raise InputError(
                "several cards need --link NAME, the link between them, such as nvlink3-x12 or pcie4-x16"
            )
