"""Logs of lines and tables: torchvision, timm, PyTorch's example, Keras, Lightning and Ultralytics."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from trainlaw.datasets.logs.training_log import (
    TrainingLog,
    log_of_epochs,
    log_of_steps,
    log_of_times,
    no_times,
    one_of,
    stated,
)
from trainlaw.formulas.errors import InputError

_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}


@dataclass(frozen=True)
class StepLog:
    """A program that prints a line every few steps.

    step : of such a line, with the groups epoch, step, time and wait, perhaps rate of images. facts :
    patterns by heading, whose group is a cell. words : cells by what a pattern finds, where they differ.
    """

    program: str
    step: re.Pattern[str]
    facts: Mapping[str, re.Pattern[str]]
    words: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def read(self, text: str) -> TrainingLog:
        """Return the training in a log."""
        found = {name: one_of(name, filter(None, own.findall(text))) for name, own in self.facts.items()}
        facts: dict[str, object] = {name: self.words.get(own, own) for name, own in found.items() if own}
        lines = [match.groupdict() for line in text.splitlines() if (match := self.step.search(line))]
        steps = [
            (int(own["epoch"]), int(own["step"]), float(own["time"]), float(own["wait"])) for own in lines
        ]
        notes = [self.note] if self.note else []
        if lines and "rate" in lines[0]:
            facts |= {"n_gpus": facts.get("n_gpus")}
            # Times have three digits behind the point: the longest determines the batch best.
            longest, rate = max((float(own["time"]), float(own["rate"])) for own in lines)
            is_sure = facts["n_gpus"] and 0.0005 * rate < 0.5
            facts |= {"global_batch": round(longest * rate)} if is_sure else {}
            notes += [] if is_sure else [f"about {longest * rate:.0f} images a step on all GPUs"]
        return log_of_steps(self.program, facts | {"framework": "PyTorch"}, steps, *notes)


TORCHVISION = StepLog(
    "torchvision's reference training",
    re.compile(
        r"^Epoch: \[(?P<epoch>\d+)\]\s+\[\s*(?P<step>\d+)/\d+\]\s+eta: .{0,900}?\btime: (?P<time>\d+\.\d+)"
        r".{0,99}?\bdata: (?P<wait>\d+\.\d+)"
    ),
    {
        "cnn": re.compile(r"^Namespace\(.*?\bmodel='([^']{1,80})'", re.MULTILINE),
        "batch_per_gpu": re.compile(r"^Namespace\(.*?\bbatch_size=(\d{1,6})\b", re.MULTILINE),
        "n_gpus": re.compile(r"^Namespace\(.*?\bworld_size=(\d{1,4})\b", re.MULTILINE),
        "amp": re.compile(r"^Namespace\(.*?\bamp=(True|False)", re.MULTILINE),
        "input_size_px": re.compile(r"^Namespace\(.*?\btrain_crop_size=(\d{1,5})\b", re.MULTILINE),
    },
)
TIMM = StepLog(
    "timm's train.py",
    re.compile(
        r"Train: (?P<epoch>\d+) \[\s*(?P<step>\d+)/\d+ .{0,300}?\bTime: (?P<time>\d+\.\d+)s,\s*"
        r"(?P<rate>\d+\.\d+)/s.{0,200}?\bData: (?P<wait>\d+\.\d+)"
    ),
    {
        "cnn": re.compile(r"\bModel (\S{1,80}) created"),
        "n_gpus": re.compile(
            r"Training (?:in distributed mode.{0,80}?[Tt]otal|with a single process on) (\d{1,4})\b"
        ),
        "amp": re.compile(r"Training in (mixed precision|float32)"),
        "input_size_px": re.compile(r"input_size: \(3, (\d{1,4}), \1\)"),
    },
    {"mixed precision": "yes", "float32": "no"},
)
IMAGENET = StepLog(
    "PyTorch's imagenet/main.py",
    re.compile(
        r"^Epoch: \[(?P<epoch>\d+)\]\[\s*(?P<step>\d+)/\d+\]\s+Time\s+(?P<time>\d+\.\d+) \(\s*\d+\.\d+\)\s+"
        r"Data\s+(?P<wait>\d+\.\d+)"
    ),
    {"cnn": re.compile(r"^=> (?:creating model|using pre-trained model) '([^'\n]{1,80})'", re.MULTILINE)},
    note="without --gpu, the program splits its batch among all GPUs: state the batch of each",
)

KERAS = re.compile(r"\A(?=[\s\S]*?\d(?:ms|us|µs|s)/step)[\s\S]*?^Epoch \d+/\d+[ \t]*$", re.MULTILINE)
_EPOCH = re.compile(r"^Epoch (\d+)/\d+\s*$")
_BAR = re.compile(r"^(\d+)/\1 .{0,300}? (\d+(?:\.\d+)?)(ms|us|µs|s)/step")
_MOST_ROUNDING = 0.02


def read_keras(text: str) -> TrainingLog:
    """Return the training in Keras' output: the time of a step as it says it at the end of each epoch.

    Bars of `evaluate` and `predict` belong to no epoch. The first epoch holds the start-up.
    """
    found, epoch, validates = list[tuple[int, str, float, float]](), 0, False
    for line in text.splitlines():
        if match := _EPOCH.match(line):
            epoch = int(match[1])
        elif epoch and (match := _BAR.match(line)):
            digit = _SECONDS[match[3]] * 10.0 ** -len(match[2].partition(".")[2])
            found.append((epoch, match[1], float(match[2]) * _SECONDS[match[3]], digit))
            validates |= "val_" in line
            epoch = 0
    one_of("steps in an epoch of", [own[1] for own in found])
    steps = [(0, own[0], own[2], float("nan")) for own in found]
    rounding = max((0.5 * own[3] / own[2] for own in found), default=0.0)
    notes = ["the times hold the validation after each epoch"] if validates else []
    notes += [f"the times are rounded to {100 * rounding:.0f} %"] if rounding > _MOST_ROUNDING else []
    facts = stated(framework="TensorFlow" if "tensorflow" in text.lower() else "")
    return log_of_steps("Keras", facts, steps, *notes)


PROFILER = re.compile(r"^\s*\|\s*Action\s*\|\s*Mean duration \(s\)", re.MULTILINE)
_STEP, _NEXT = "run_training_batch", re.compile(r"train(?:ing)?_?(?:dataloader)?_next$|get_train_batch$")
_LEAST_CALLS = 20  # of fewer, the start-up of the first makes a mean


def read_profiler(text: str) -> TrainingLog:
    """Return the training in Lightning's simple profiler: the mean over all batches, the first inside."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    named = {row[0]: row[1:3] for row in rows if len(row) >= 3}
    if _STEP not in named:
        return no_times("Lightning's simple profiler", f"the report has no row {_STEP}")
    seconds, calls = float(named[_STEP][0]), int(named[_STEP][1])
    if calls < _LEAST_CALLS:
        raise InputError(f"expected at least {_LEAST_CALLS} batches, got {calls}: the first is the start-up")
    waits = [float(row[0]) for name, row in named.items() if _NEXT.search(name)]
    wait = waits[0] if len(waits) == 1 else float("nan")
    times, note = np.array([seconds + np.nan_to_num(wait)]), f"the mean of {calls} batches, the first inside"
    facts = stated(framework="PyTorch")
    return log_of_times("Lightning's simple profiler", facts, times, np.array([wait]), note)


METRICS = re.compile(
    r"\A(?=[^\n]{0,9999}\bstep\b)(?=[^\n]{0,9999}(?:_step\b|_epoch\b|lr-|_per_sec\b|_time))[^\n]{0,9999}\bepoch\b"
)
_TIME = re.compile(
    r"(?:^|[/|_])(?:batches_(per)_sec|(?:step|batch|iter|iteration)_(?:time|duration)"
    r"(?:_(s|ms|sec|seconds))?(?:_step)?)$"
)


def read_metrics(text: str) -> TrainingLog:
    """Return the training in Lightning's `metrics.csv`, if it holds batches per second or times of steps."""
    program, rows = "Lightning's metrics.csv", list(csv.DictReader(text.splitlines()))
    timed = sorted(
        (match[1] is None, len(name), name) for name in rows[0] if (match := _TIME.search(name or ""))
    )
    if not timed or (timed[0][0] and len(timed) > 1):
        return no_times(program, "it holds steps and losses; train with a ThroughputMonitor")
    is_time, _, heading = timed[0]
    unit = (_TIME.search(heading) or [""] * 3)[2]
    if is_time and not unit:
        return no_times(program, f"{heading} has no unit; write _s or _ms behind its name")
    numbers = np.array([float(row[heading]) for row in rows if row[heading]])[1:]
    if not len(numbers):
        raise InputError(f"expected two rows with {heading}, got one: the first holds the start-up")
    facts, seconds = stated(framework="PyTorch"), numbers * _SECONDS[unit] if is_time else 1.0 / numbers
    images = [row.get(heading.replace("batches", "samples")) for row in rows if row[heading]][1:]
    if not is_time and all(images):
        facts["batch_per_gpu"] = round(float(np.median(np.array(images, dtype=np.float64) / numbers)))
    return log_of_times(program, facts, seconds, np.full(len(seconds), np.nan))


ULTRALYTICS = re.compile(r"\A\s*epoch\s*,(?=[^\n]{0,9999}\blr/pg\d)(?=[^\n]{0,9999}\w/\w+_loss)")


def read_ultralytics(text: str) -> TrainingLog:
    """Return the training in Ultralytics' `results.csv`: differences of its times are those of epochs."""
    program, rows = "Ultralytics' results.csv", csv.DictReader(re.sub(r"[ \t]+", "", text).splitlines())
    if "time" not in (rows.fieldnames or ()):
        return no_times(program, "this version of it has no column time")
    ends = [0.0, *(float(row["time"]) for row in rows)]
    lasted = [end - before for before, end in pairwise(ends)]
    if len(lasted) < 2 or min(lasted) <= 0.0:
        raise InputError(f"expected seconds since the start that increase, as {program} has, got others")
    said = " and ".join(f"{seconds:.1f} s" for seconds in lasted[:3])
    note = f"time is the seconds since the start: the first epochs took {said}, with the validation"
    # The first holds the start-up.
    return log_of_epochs(program, {}, lasted[1:], note)
