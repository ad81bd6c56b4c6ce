"""The jobs of `trainlaw profile` (runs, micro-benchmarks, launch time of the host) and their output."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from math import isfinite
from pathlib import Path

from trainlaw.app.commands.profile_options import ProfileOptions
from trainlaw.app.inputs.selection import parse_names, whole_numbers
from trainlaw.app.text.numbers import seconds_text, show_seconds, show_with_prefix
from trainlaw.datasets.files.limits import check_limit
from trainlaw.datasets.profiler.configurations import (
    FORWARD_PASS,
    WHOLE_ITERATION,
    Configuration,
    configuration_grid,
    read_plan,
)
from trainlaw.datasets.profiler.host import measured_host_launch
from trainlaw.datasets.profiler.local_device import default_threads, device_here, named_here
from trainlaw.datasets.profiler.micro import AchievedRates, profile_micro
from trainlaw.datasets.profiler.row_files import sibling
from trainlaw.datasets.profiler.sweep import SweepProgress, profile_runs
from trainlaw.datasets.profiler.timing import StoppingRule
from trainlaw.formulas.errors import InputError


def counts_of(text: str, option: str) -> tuple[int, ...]:
    """Return the comma-separated whole numbers, 1 to ten million, of an option; else raise InputError.

    >>> counts_of("8,32", "--batch")
    (8, 32)
    """
    found = whole_numbers(text, option)
    if not found:
        raise InputError(f"{option}: expected whole numbers separated by commas, got none")
    check_limit("batch", max(found), option)
    return found


def progress_text(progress: SweepProgress) -> str:
    """Return the result of one configuration and the time left, on one line."""
    head = f"{progress.number}/{progress.total} {progress.configuration.title}"
    if progress.reason:
        return f"{head}: not measured: {progress.reason}"
    known = f" (95 % interval {progress.interval * 100:.1f} % wide)" if isfinite(progress.interval) else ""
    left = seconds_text(progress.remaining_s)
    return f"{head}: {show_seconds(progress.median_s)}{known}; about {left} left"


def print_rates(gpu: str, rates: AchievedRates) -> None:
    """Print the rates of a device in one precision on standard error, unbuffered."""
    product = show_with_prefix(rates.achieved_matmul_flop_per_s, "FLOP/s")
    copy = show_with_prefix(rates.achieved_copy_byte_per_s, "B/s")
    launch = show_seconds(rates.launch_latency_s)
    print(f"{gpu}: products {product}, copies {copy}, a launch {launch}", file=sys.stderr, flush=True)


def finished_text(out: Path, tried: int, asked: int) -> str:
    """Return the files that a sweep left, and the next step."""
    kept = "" if tried == asked else f" ({asked - tried} measured before)"
    lines = [f"{out}: {tried} configuration{'' if tried == 1 else 's'} tried{kept}"]
    failed, machine = sibling(out, "failed"), sibling(out, "machine")
    if tried and not out.exists():
        return f"no run was written to {out}: all failed, for the reasons in {failed}"
    if failed.exists():
        lines.append(f"{failed}: configurations that could not be measured, with the reason")
    known = f" --gpu-file {machine}" if machine.exists() else ""
    lines += [f"{machine}: this machine in the GPU schema"] if known else []
    return "\n".join([*lines, f"next: trainlaw data check {out}{known}"])


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


def run_profile(options: ProfileOptions) -> str:
    """Run the job that the options ask for and return its output.

    Raises MissingDependencyError without torch, InputError for options that contradict each other.
    """
    if options.micro and options.forward:
        raise InputError("expected one of --micro and --forward, got both")
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("expected one process, got torchrun: several would write the same file")
    device = device_here(options.device)
    # One thread feeds a GPU; the number of threads of a CPU is part of the configuration.
    asked = counts_of(options.threads, "--threads") if options.threads and device == "cpu" else ()
    threads = asked or (default_threads(device),)
    if options.micro:
        precisions = parse_names(options.precision)
        found = profile_micro(device, threads, precisions, options.out, print_rates)
        return f"{found}: achieved rates, for trainlaw study --rates"
    wanted = _configurations(options, device, threads)
    rule = StoppingRule(options.interval / 100, options.limit_seconds)
    show = partial(print, file=sys.stderr, flush=True)
    tried = profile_runs(wanted, options.out, rule, lambda progress: show(progress_text(progress)))
    return finished_text(options.out, tried, len(wanted))


def _configurations(options: ProfileOptions, device: str, threads: Sequence[int]) -> list[Configuration]:
    if options.plan is not None:
        return read_plan(options.plan, device=device, threads=threads, is_here=named_here(device))
    return configuration_grid(
        parse_names(options.cnns),
        counts_of(options.batch, "--batch"),
        counts_of(options.input_px, "--pixels") if options.input_px else [],
        parse_names(options.precision),
        device=device,
        threads=threads,
        n_classes=options.classes,
        stacks=parse_names(options.stack),
        timed_parts=FORWARD_PASS if options.forward else WHOLE_ITERATION,
    )
