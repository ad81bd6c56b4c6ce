"""The logs of well-known programs: lines, tables and JSON, each read as one training."""

import csv
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from trainlaw.datasets.logs.training_log import (
    TrainingLog,
    log_of_epochs,
    log_of_steps,
    log_of_times,
    no_times,
    one_of,
)
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files.text_files import json_of
from trainlaw.formulas.files.toml_tables import toml_table

_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_PYTORCH = {"framework": "PyTorch"}


class StepLog(NamedTuple):
    """A program that prints a line every few steps: a row of `step_logs.toml`, which describes its fields."""

    program: str
    step: str
    facts: Mapping[str, str] = {}
    words: Mapping[str, str] = {}
    note: str = ""
    images: str = ""
    framework: str = "PyTorch"

    def read(self, text: str) -> TrainingLog:
        """Return the training in a log."""
        step = re.compile(self.step)
        found = {
            name: one_of(name, filter(None, re.findall(pattern, text, re.MULTILINE)))
            for name, pattern in self.facts.items()
        }
        facts = {name: self.words.get(own, own) for name, own in found.items()}
        lines = [match.groupdict() for line in text.splitlines() if (match := step.search(line))]
        if lines and self.images and not facts[self.images]:
            raise no_times(self.program, f"it states no {self.images}")
        usual = {"epoch": "0", "wait": "nan"}
        steps = [{name: float(own) for name, own in (usual | line).items()} for line in lines]
        stated, notes = dict[str, object](facts), [self.note] if self.note else []
        if self.images:
            steps = [own | {"time": float(facts[self.images]) / own["rate"]} for own in steps]
        elif steps and "rate" in steps[0]:
            # Times have three digits behind the point: the longest determines the batch best.
            longest, rate = max((own["time"], own["rate"]) for own in steps)
            is_sure = facts["n_gpus"] and 0.0005 * rate < 0.5
            stated |= {"global_batch": round(longest * rate)} if is_sure else {}
            notes += [] if is_sure else [f"about {longest * rate:.0f} images a step on all GPUs"]
        # Programs that know several GPUs say nothing of one.
        stated |= {"n_gpus": facts["n_gpus"] or None} if "n_gpus" in facts else {}
        taken = [(own["epoch"], own["step"], own["time"], own["wait"]) for own in steps]
        return log_of_steps(self.program, stated | {"framework": self.framework}, taken, *notes)


STEP_LOGS = tuple(StepLog(**row) for row in toml_table(__file__, "step_logs.toml").values())

KERAS = re.compile(r"\A(?=[\s\S]*?\d(?:ms|us|µs|s)/step)[\s\S]*?^Epoch \d+/\d+[ \t]*$", re.MULTILINE)
_EPOCH = re.compile(r"^Epoch (\d+)/\d+\s*$")
_BAR = re.compile(r"^(\d+)/\1 .{0,300}? (\d+(?:\.\d+)?)(ms|us|µs|s)/step")
_MOST_ROUNDING = 0.02


def read_keras(text: str) -> TrainingLog:
    """Return the training in Keras' output: the time of a step as it says it at the end of each epoch.

    Bars of `evaluate` and `predict` belong to no epoch. The first epoch holds the start-up.
    """
    steps, epoch, counts, rounding, notes = [], 0, set[str](), 0.0, list[str]()
    for line in text.splitlines():
        if match := _EPOCH.match(line):
            epoch = int(match[1])
        elif epoch and (match := _BAR.match(line)):
            time, digits = float(match[2]), len(match[2].partition(".")[2])
            steps.append((0, epoch, time * _SECONDS[match[3]], np.nan))
            rounding = max(rounding, 0.5 * 10.0**-digits / time)
            counts.add(match[1])
            notes += ["the times hold the validation after each epoch"] * ("val_" in line and not notes)
            epoch = 0
    one_of("steps in an epoch of", sorted(counts))
    notes += [f"the times are rounded to {100 * rounding:.0f} %"] if rounding > _MOST_ROUNDING else []
    facts = {"framework": "TensorFlow" if "tensorflow" in text.lower() else ""}
    return log_of_steps("Keras", facts, steps, *notes)


PROFILER = re.compile(r"^\s*\|\s*Action\s*\|\s*Mean duration \(s\)", re.MULTILINE)
_STEP, _NEXT = "run_training_batch", re.compile(r"train(?:ing)?_?(?:dataloader)?_next$|get_train_batch$")
_LEAST_CALLS = 20  # of fewer, the start-up of the first makes a mean


def read_profiler(text: str) -> TrainingLog:
    """Return the training in Lightning's simple profiler: the mean over all batches, the first inside."""
    program = "Lightning's simple profiler"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    named = {row[0]: row[1:3] for row in rows if len(row) >= 3}
    if _STEP not in named:
        raise no_times(program, f"the report has no row {_STEP}")
    seconds, calls = float(named[_STEP][0]), int(named[_STEP][1])
    if calls < _LEAST_CALLS:
        raise InputError(f"expected at least {_LEAST_CALLS} batches, got {calls}: the first is the start-up")
    waits = [float(row[0]) for name, row in named.items() if _NEXT.search(name)]
    wait = waits[0] if len(waits) == 1 else np.nan
    times, note = np.array([seconds + np.nan_to_num(wait)]), f"the mean of {calls} batches, the first inside"
    return log_of_times(program, _PYTORCH, times, wait, note)


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
        raise no_times(program, "it holds steps and losses; train with a ThroughputMonitor")
    is_time, _, heading = timed[0]
    unit = (_TIME.search(heading) or [""] * 3)[2]
    if is_time and not unit:
        raise no_times(program, f"{heading} has no unit; write _s or _ms behind its name")
    steady = [row for row in rows if row[heading]][1:]
    if not steady:
        raise InputError(f"expected two rows with {heading}, got one: the first holds the start-up")
    numbers, batch = np.array([float(row[heading]) for row in steady]), 0
    images = [row.get(heading.replace("batches", "samples")) for row in steady]
    if not is_time and all(images):
        batch = round(float(np.median(np.array(images, dtype=np.float64) / numbers)))
    seconds = numbers * _SECONDS[unit] if is_time else 1.0 / numbers
    return log_of_times(program, _PYTORCH | {"batch_per_gpu": batch}, seconds, np.nan)


ULTRALYTICS = re.compile(r"\A\s*epoch\s*,(?=[^\n]{0,9999}\blr/pg\d)(?=[^\n]{0,9999}\w/(?:\w+_)?loss)")


def read_ultralytics(text: str) -> TrainingLog:
    """Return the training in Ultralytics' `results.csv`: differences of its times are those of epochs."""
    program, rows = "Ultralytics' results.csv", csv.DictReader(re.sub(r"[ \t]+", "", text).splitlines())
    if "time" not in (rows.fieldnames or ()):
        raise no_times(program, "this version of it has no column time")
    lasted = [end - before for before, end in pairwise([0.0, *(float(row["time"]) for row in rows)])]
    said = " and ".join(f"{seconds:.1f} s" for seconds in lasted[:3])
    note = f"time is the seconds since the start: the first epochs took {said}, with the validation"
    return log_of_epochs(program, {}, lasted, note)


TENSORBOARD = re.compile(r"\AWall time,Step,Value\s*$", re.MULTILINE)


def read_tensorboard(text: str) -> TrainingLog:
    """Return the training in a scalar that TensorBoard exported: the time between its steps."""
    program, rows = "TensorBoard", list(csv.DictReader(text.splitlines()))
    walls, steps = (np.array([float(row[name]) for row in rows]) for name in ("Wall time", "Step"))
    if len(rows) < 3 or (np.diff(steps) <= 0).any():
        raise no_times(program, "it has no three steps that increase")
    seconds = np.diff(walls) / np.diff(steps)
    return log_of_times(program, {}, seconds[1:], np.nan, "waits for data and evaluations are inside")


PROGRESS_BAR = re.compile(r"\d/\d+ \[[\d:]+<[\d:?]+, +[\d.?]+ ?(?:it/s|s/it|batch/s|s/batch)")


def refuse_progress_bar(text: str) -> TrainingLog:
    """Raise InputError: a bar has the mean of all steps, the start-up and waits for data inside."""
    raise no_times("a progress bar", "it has the mean since the start; write seconds of steps into a table")


MLLOG = re.compile(r"^(?:\d+: ?)?:::MLLOG \{", re.MULTILINE)
_OF_MLLOG = {"global_batch_size": "global_batch", "train_samples": "images_per_epoch"}


def read_mllog(text: str) -> TrainingLog:
    """Return the training in an MLPerf log by its epochs, or by the blocks of epochs between evaluations."""
    program, facts, lasted = "MLPerf's mllog", dict[str, object](n_gpus=None), list[float]()
    started, kind, epochs = 0.0, "", 1.0
    for line in text.splitlines():
        event = json_of(line.partition(":::MLLOG ")[2], program) if MLLOG.match(line) else {}
        key = str(event.get("key"))
        if name := _OF_MLLOG.get(key):
            facts[name] = one_of(name, filter(None, [facts.get(name), event["value"]]))
        elif key in ("epoch_start", "block_start"):
            started, kind = event["time_ms"] / 1e3, key.removesuffix("start")
            epochs = float((event.get("metadata") or {}).get("epoch_count") or 1)
        elif kind and key == f"{kind}stop":
            lasted.append((event["time_ms"] / 1e3 - started) / epochs)
    return log_of_epochs(program, facts, lasted)


DLLOGGER = re.compile(r'^(?:DLLL )?\{"timestamp".{0,300}"type": ?"LOG"', re.MULTILINE)


def read_dllogger(text: str) -> TrainingLog:
    """Return the training in a log: images/s of computing and, with the wait for data, of all."""
    program, said, lines = "DeepLearningExamples' dllogger", dict[str, Any](), []
    for line in text.splitlines():
        entry = json_of(line.removeprefix("DLLL "), program) if DLLOGGER.match(line) else {}
        data, step = entry.get("data"), entry.get("step")
        if isinstance(data, dict) and step == "PARAMETER":
            for name in said.keys() & data.keys():
                one_of(name, [said[name], data[name]])
            said |= data
        elif isinstance(data, dict) and isinstance(step, list) and "train.compute_ips" in data:
            times = {name: float(own) for name, own in data.items() if name.startswith("train.")}
            lines.append({"epoch": int(step[0]), "step": int(step[1])} | times)
    if not lines:
        raise no_times(program, "no line has train.compute_ips")
    table, missing = pd.DataFrame(lines), pd.Series(np.nan, range(len(lines)))
    rate, total = table["train.compute_ips"], table.get("train.total_ips", missing)
    computed = table.get("train.compute_time", missing)
    batch = _count(said, "batch_size")
    images = _count(said, "num_gpus", "world_size") * batch
    if not images and batch and computed[0] > 0.0:
        images = round(rate[0] * computed[0] / batch) * batch
    alone = images / rate if images else computed
    if alone.isna().any():
        raise no_times(program, "it states neither batch_size nor train.compute_time")
    whole = (images / total).fillna(alone).clip(lower=alone)
    facts = _PYTORCH | {
        "cnn": said.get("arch") or "",
        "batch_per_gpu": batch,
        "n_gpus": images // batch if batch else 0,
        "amp": {True: "yes", False: "no"}.get(said.get("amp", ""), ""),
        "input_size_px": _count(said, "image_size"),
    }
    steps = pd.DataFrame([table["epoch"], table["step"], whole, whole - alone]).T
    return log_of_steps(program, facts, steps.itertuples(index=False, name=None))


def _count(said: Mapping[str, Any], *names: str) -> int:
    """Return the first of these that is a whole number above 0, else 0."""
    return next((said[name] for name in names if type(said.get(name)) is int and said[name] > 0), 0)


TRAINER_STATE = re.compile(r'\A\s*\{(?=.*"log_history"\s*:)(?=.*"global_step"\s*:)', re.DOTALL)


def read_trainer_state(text: str) -> TrainingLog:
    """Return the training in a state: the mean of all steps, without the evaluations between them."""
    program = "Hugging Face's trainer_state.json"
    state = json_of(text, program)
    entries = [entry for entry in state["log_history"] if isinstance(entry, dict)]
    ends = [entry for entry in entries if "train_runtime" in entry]
    if not ends:
        raise no_times(program, "only a finished training has its train_runtime")
    if len(ends) > 1:
        raise InputError(f"expected the state of one training, got {len(ends)} ends of one")
    n_steps = _number(state, "global_step")
    evaluations = [own for own in entries if "eval_runtime" in own and _number(own, "step") < n_steps]
    pauses = sum(_number(own, "eval_runtime") for own in evaluations)
    seconds = (_number(ends[0], "train_runtime") - pauses) / n_steps
    notes = [f"the mean of {n_steps:.0f} steps, the start-up and waits for data inside"]
    batch = _number(state, "train_batch_size") if state.get("train_batch_size") else 0.0
    images = 0.0
    if {"train_samples_per_second", "train_steps_per_second"} <= ends[0].keys():
        images = _number(ends[0], "train_samples_per_second") / _number(ends[0], "train_steps_per_second")
        notes.append(f"a step takes about {images:.3g} images on all GPUs, with accumulated ones")
    # Rates have three digits; one batch a step is one GPU without accumulation.
    is_alone = batch and images and abs(images / batch - 1.0) < 0.1
    facts: dict[str, object] = {"batch_per_gpu": round(batch), "n_gpus": 1} if is_alone else {"n_gpus": None}
    return log_of_times(program, _PYTORCH | facts, np.array([seconds]), np.nan, *notes)


def _number(entry: Mapping[str, Any], name: str) -> float:
    """Return a positive number of an entry; InputError where it is none."""
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise InputError(f"expected a number above 0 as {name}, got {value!r:.40}")
    return float(value)
