"""What `trainlaw profile` does with its options: configurations, its three jobs, and what they print."""

import os
import sys
from math import isfinite
from pathlib import Path

from trainlaw.app.commands.profile_options import ProfileOptions
from trainlaw.app.inputs.selection import parse_names
from trainlaw.app.text.numbers import show_seconds, show_with_prefix
from trainlaw.datasets.profiler import (
    FORWARD_PASS,
    WHOLE_ITERATION,
    Configuration,
    MicroTime,
    Progress,
    Setup,
    StoppingRule,
    configuration_grid,
    default_threads,
    device_here,
    measured_host_launch,
    named_here,
    profile_layers,
    profile_micro,
    profile_runs,
    read_plan,
)
from trainlaw.formulas.errors import InputError, shown

_MOST = 10_000_000


def counts_of(text: str, option: str) -> list[int]:
    """Return the comma-separated whole numbers, 1 to ten million, of an option; else raise InputError.

    >>> counts_of("8,32", "--batch")
    [8, 32]
    """
    parts = parse_names(text)
    whole = [int(part) for part in parts if part.isdecimal() and len(part) <= 9]
    if not parts or len(whole) < len(parts) or not 1 <= min(whole) <= max(whole) <= _MOST:
        raise InputError(f"expected {option} with whole numbers separated by commas, got {shown(text)}")
    return whole


def progress_text(progress: Progress) -> str:
    """Return the result of one configuration and the time left, on one line."""
    head = f"{progress.number}/{progress.total} {progress.configuration.title}"
    if progress.reason:
        return f"{head}: not measured: {progress.reason}"
    known = f" (95 % interval {progress.interval * 100:.1f} % wide)" if isfinite(progress.interval) else ""
    return f"{head}: {show_seconds(progress.median_s)}{known}; {_left(progress.remaining_s)}"


def _left(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"about {minutes} min {rest} s left" if minutes else f"about {rest} s left"


def print_progress(progress: Progress) -> None:
    """Print the result of a configuration on standard error, unbuffered; worker processes call it by name."""
    print(progress_text(progress), file=sys.stderr, flush=True)


def print_micro_time(gpu: str, time: MicroTime) -> None:
    """Print one micro-benchmark on standard error, unbuffered."""
    rate = f", {show_with_prefix(time.rate, time.unit)}" if time.amount else ""
    took = show_seconds(time.time_s)
    print(f"{gpu}: {time.benchmark} {time.size}: {took}{rate}", file=sys.stderr, flush=True)


def finished_text(setup: Setup, tried: int, asked: int) -> str:
    """Return the files that a sweep left, and the next step."""
    lines = [f"{setup.out}: {_number_text(tried, asked)}"]
    if tried and not Path(setup.out).exists():
        return f"no run was written to {setup.out}: all failed, or the first host has them"
    if setup.sibling("failed").exists():
        lines.append(f"{setup.sibling('failed')}: configurations that could not be measured, with the reason")
    known = ""
    if setup.sibling("machine").exists():
        lines.append(f"{setup.sibling('machine')}: this machine in the GPU schema")
        known = f" --gpu-file {setup.sibling('machine')}"
    return "\n".join([*lines, f"next: trainlaw data check {setup.out}{known}"])


def layers_text(setup: Setup, tried: int, asked: int) -> str:
    """Return the files that the measurement of layers left."""
    lines = [
        f"{setup.sibling('layers')}: layers schema; {_number_text(tried, asked)}",
        f"{setup.sibling('all-layers')}: every layer of any kind",
        f"{setup.sibling('operations')}: totals per operation, anchor schema",
    ]
    if setup.sibling("layers-failed").exists():
        lines.append(
            f"{setup.sibling('layers-failed')}: configurations that could not be measured, with the reason"
        )
    return "\n".join(lines)


def micro_text(setup: Setup, rows: int) -> str:
    """Return the files that the micro-benchmarks left."""
    return "\n".join(
        (
            f"{setup.sibling('micro')}: achieved rates, {rows} new row{'' if rows == 1 else 's'}",
            f"{setup.sibling('micro-sizes')}: every size",
            f"{setup.sibling('rates')}: for trainlaw study --rates",
        )
    )


def host_text() -> str:
    """Measure the launch time of this host; return it with what it rests on and how to use it."""
    launch = measured_host_launch()
    return "\n".join(
        (
            f"host launch time: {show_seconds(launch.seconds)} per layer, forward and backward",
            f"measured: {launch.measured}",
            f"assumed: {launch.assumed}",
            f"next: trainlaw predict --host-launch {1e6 * launch.seconds:.3g}us ...",
        )
    )


def _number_text(tried: int, asked: int) -> str:
    kept = "" if tried == asked else f" ({asked - tried} measured before)"
    return f"{tried} configuration{'' if tried == 1 else 's'} tried{kept}"


def run_profile(options: ProfileOptions) -> str:
    """Do what the options ask for, return what to print; MissingDependencyError without torch, InputError."""
    jobs = [name for name in ("layers", "micro", "forward") if getattr(options, name)]
    if len(jobs) > 1:
        raise InputError(f"expected one of --layers, --micro and --forward, got --{' and --'.join(jobs)}")
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError(
            "this command starts its processes itself: call it without torchrun, with --processes and --nodes"
        )
    device = device_here(options.device)
    rule = StoppingRule(options.interval / 100, options.limit_seconds)
    setup = Setup(options.out, rule, options.link, options.network, options.rendezvous)
    threads = _threads(options, device)
    if options.micro:
        rows = profile_micro(
            device, threads, parse_names(options.precision), max(counts_of(options.processes, "--processes")),
            setup=setup, on_time=print_micro_time, nodes=options.nodes,
        )  # fmt: skip
        return micro_text(setup, rows)
    wanted = _configurations(options, device, threads)
    if options.layers:
        if any(each.timed_parts == FORWARD_PASS or each.stack != "eager" for each in wanted):
            raise InputError("expected --layers with stack eager and whole iterations; leave out the others")
        return layers_text(setup, profile_layers(wanted, setup, print_progress), len(wanted))
    return finished_text(setup, profile_runs(wanted, setup, print_progress), len(wanted))


def _threads(options: ProfileOptions, device: str) -> list[int]:
    # One thread feeds a GPU; the number of threads of a CPU is part of the configuration.
    if options.threads and device == "cpu":
        return counts_of(options.threads, "--threads")
    return [default_threads(device)]


def _configurations(options: ProfileOptions, device: str, threads: list[int]) -> list[Configuration]:
    processes = counts_of(options.processes, "--processes")
    if options.plan is not None:
        return read_plan(
            options.plan, device=device, threads=threads, processes=processes, nodes=options.nodes,
            is_here=named_here(device),
        )  # fmt: skip
    return configuration_grid(
        parse_names(options.cnns), counts_of(options.batch, "--batch"),
        counts_of(options.input_px, "--pixels") if options.input_px else [], parse_names(options.precision),
        device=device, threads=threads, processes=processes, n_classes=options.classes, nodes=options.nodes,
        stacks=parse_names(options.stack),
        timed_parts=FORWARD_PASS if options.forward else WHOLE_ITERATION,
    )  # fmt: skip
