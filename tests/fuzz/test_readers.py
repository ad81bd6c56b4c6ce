"""Mutants of every file that trainlaw reads: read, or refused by one line; never long, never much memory."""

import signal
from pathlib import Path

import pytest

from .readers import LIMIT_BYTES, LIMIT_SECONDS, READERS, Outcome, mutated_file, outcome_of

# A mutant that runs this long is stopped; it counts as one that hangs.
_STOPPED_AFTER_S = 300


class Stopped(BaseException):
    """A mutant took too long."""


@pytest.fixture(autouse=True)
def alarm():
    def stop(*_):
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def reset_peak() -> None:
    """Begin to measure the peak of this process's memory; on Linux."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def tried(name, number, folder, measured):
    """The outcome of one mutant; its time and memory count in long runs."""
    reader = READERS[name]
    path = mutated_file(reader, number, name, folder)
    if measured:
        reset_peak()
    signal.alarm(_STOPPED_AFTER_S)
    try:
        outcome = outcome_of(reader, path)
    except Stopped:
        outcome = Outcome(False, _STOPPED_AFTER_S, "hangs")
    signal.alarm(0)
    outcome.peak_bytes = peak_bytes() if measured else 0
    if measured and outcome.seconds > LIMIT_SECONDS:
        outcome.finding = outcome.finding or f"{outcome.seconds:.1f} CPU s"
    if outcome.peak_bytes > LIMIT_BYTES:
        outcome.finding = outcome.finding or f"{outcome.peak_bytes >> 20} MiB"
    return outcome


@pytest.mark.parametrize("name", READERS)
def test_mutants_are_read_or_refused(name, examples, report, tmp_path):
    total, first = examples
    number = max(round(total / len(READERS) * READERS[name].share), 1)
    measured = total > 10_000 and Path("/proc/self/clear_refs").exists()
    outcomes = {
        each: tried(name, each, tmp_path / "mutant", measured) for each in range(first, first + number)
    }
    findings = {each: outcome.finding for each, outcome in outcomes.items() if outcome.finding}
    values = outcomes.values()
    report.append(
        f"{name:26} {number:6} mutants, {sum(outcome.refused for outcome in values):6} refused, "
        f"{len(findings):3} findings, longest {max(outcome.seconds for outcome in values):.2f} s, "
        f"{sum(outcome.seconds for outcome in values):6.1f} s in all, "
        f"peak {max(outcome.peak_bytes for outcome in values) >> 20} MiB"
    )
    assert not findings


def test_the_samples_themselves_are_read(tmp_path):
    asking = {name for name in READERS if name.startswith(("sheet", "log"))}
    for name in set(READERS) - {"runs to calibrate with"}:
        reader = READERS[name]
        path = mutated_file(reader, 0, name, tmp_path / "sample")
        outcome = outcome_of(reader, path)
        assert not outcome.finding and (name in asking or not outcome.refused), name
