"""What `trainlaw profile` does with its options: which configurations, and which of its three jobs."""

import os
from dataclasses import dataclass
from pathlib import Path

from trainlaw.app.terminal.profile import (
    counts_of,
    finished_text,
    layers_text,
    micro_text,
    print_micro_time,
    print_progress,
    words_of,
)
from trainlaw.datasets.profiler import (
    Configuration,
    Setup,
    StoppingRule,
    configuration_grid,
    default_threads,
    device_here,
    named_here,
    profile_layers,
    profile_micro,
    profile_runs,
    read_plan,
)
from trainlaw.formulas import InputError


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """The options of the command as they are typed; lists are texts with commas, `interval` is in percent."""

    cnns: str
    batch: str
    input_px: str
    precision: str
    classes: int | None
    device: str
    threads: str
    processes: str
    nodes: int
    rendezvous: str
    link: str
    network: str
    plan: Path | None
    out: Path
    limit_seconds: float
    interval: float
    layers: bool
    micro: bool


def run_profile(options: ProfileOptions) -> str:
    """Do what the options ask for, return what to print; MissingDependencyError without torch, InputError."""
    if options.layers and options.micro:
        raise InputError("expected --layers or --micro, got both")
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError(
            "this command starts its processes itself: call it without torchrun, with --processes and --nodes"
        )
    device = device_here(options.device)
    rule = StoppingRule(options.interval / 100, options.limit_seconds)
    setup = Setup(options.out, rule, options.link, options.network, options.rendezvous)
    threads = _threads(options, device)
    if options.micro:
        return micro_text(setup, _run_micro(options, device, threads, setup))
    wanted = _configurations(options, device, threads)
    if options.layers:
        return layers_text(setup, profile_layers(wanted, setup, print_progress), len(wanted))
    return finished_text(setup, profile_runs(wanted, setup, print_progress), len(wanted))


def _run_micro(options: ProfileOptions, device: str, threads: list[int], setup: Setup) -> int:
    return profile_micro(
        device,
        threads,
        words_of(options.precision),
        max(counts_of(options.processes, "--processes")),
        setup=setup,
        on_time=print_micro_time,
        nodes=options.nodes,
    )


def _threads(options: ProfileOptions, device: str) -> list[int]:
    # One thread feeds a GPU; the number of threads of a CPU is part of the configuration.
    if options.threads and device == "cpu":
        return counts_of(options.threads, "--threads")
    return [default_threads(device)]


def _configurations(options: ProfileOptions, device: str, threads: list[int]) -> list[Configuration]:
    processes = counts_of(options.processes, "--processes")
    if options.plan is not None:
        return read_plan(
            options.plan,
            device=device,
            threads=threads,
            processes=processes,
            nodes=options.nodes,
            is_here=named_here(device),
        )
    return configuration_grid(
        words_of(options.cnns),
        counts_of(options.batch, "--batch"),
        counts_of(options.input_px, "--input") if options.input_px else [],
        words_of(options.precision),
        device=device,
        threads=threads,
        processes=processes,
        n_classes=options.classes,
        nodes=options.nodes,
    )
