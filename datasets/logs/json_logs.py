"""Logs as JSON: DeepLearningExamples' dllogger and Hugging Face's trainer_state.json."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from trainlaw.datasets.logs.training_log import (
    TrainingLog,
    log_of_steps,
    log_of_times,
    no_times,
    one_of,
    stated,
)
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files.text_files import json_of

DLLOGGER = re.compile(r'^(?:DLLL )?\{"timestamp".{0,300}"type": ?"LOG"', re.MULTILINE)
TRAINER_STATE = re.compile(r'\A\s*\{(?=.*"log_history"\s*:)(?=.*"global_step"\s*:)', re.DOTALL)


def read_dllogger(text: str) -> TrainingLog:
    """Return the training in a log: images/s of computing and, with the wait for data, of all."""
    program, said = "DeepLearningExamples' dllogger", dict[str, Any]()
    lines: list[tuple[int, int, Mapping[str, float]]] = []
    for line in text.splitlines():
        entry = json_of(line.removeprefix("DLLL "), program) if DLLOGGER.match(line) else {}
        data, step = entry.get("data"), entry.get("step")
        if isinstance(data, dict) and step == "PARAMETER":
            for name in said.keys() & data.keys():
                one_of(name, [said[name], data[name]])
            said |= data
        elif isinstance(data, dict) and isinstance(step, list) and "train.compute_ips" in data:
            epoch, number = map(int, step)
            lines.append(
                (epoch, number, {name: float(own) for name, own in data.items() if "train." in name})
            )
    if not lines:
        return no_times(program, "no line has train.compute_ips")
    batch, computed = _count(said, "batch_size"), lines[0][2].get("train.compute_time", 0.0)
    images = _count(said, "num_gpus", "world_size") * batch
    images = images or (round(lines[0][2]["train.compute_ips"] * computed / batch) * batch if batch else 0)
    if not images and not computed:
        return no_times(program, "it states neither batch_size nor train.compute_time")
    steps = []
    for epoch, number, own in lines:
        alone = images / own["train.compute_ips"] if images else own["train.compute_time"]
        whole = max(
            images / own["train.total_ips"] if images and own.get("train.total_ips") else alone, alone
        )
        steps.append((epoch, number, whole, whole - alone))
    facts = stated(
        cnn=said.get("arch"),
        batch_per_gpu=batch,
        n_gpus=images // batch if batch else 0,
        amp={True: "yes", False: "no"}.get(said.get("amp")),  # type: ignore[arg-type]
        input_size_px=_count(said, "image_size"),
        framework="PyTorch",
    )
    return log_of_steps(program, facts, steps)


def _count(said: Mapping[str, Any], *names: str) -> int:
    """Return the first of these that is a whole number above 0, else 0."""
    return next((said[name] for name in names if type(said.get(name)) is int and said[name] > 0), 0)


def read_trainer_state(text: str) -> TrainingLog:
    """Return the training in a state: the mean of all steps, without the evaluations between them."""
    program = "Hugging Face's trainer_state.json"
    state = json_of(text, program)
    entries = [entry for entry in state["log_history"] if isinstance(entry, dict)]
    ends = [entry for entry in entries if "train_runtime" in entry]
    if not ends:
        return no_times(program, "only a finished training has its train_runtime")
    if len(ends) > 1:
        raise InputError(f"expected the state of one training, got {len(ends)} ends of one")
    n_steps, pauses = _number(state, "global_step"), 0.0
    for entry in (own for own in entries if "eval_runtime" in own):
        pauses += _number(entry, "eval_runtime") if _number(entry, "step") < n_steps else 0.0
    seconds = (_number(ends[0], "train_runtime") - pauses) / n_steps
    notes, batch, images = (
        [f"the mean of {n_steps:.0f} steps, the start-up and waits for data inside"],
        0.0,
        0.0,
    )
    if state.get("train_batch_size"):
        batch = _number(state, "train_batch_size")
    if {"train_samples_per_second", "train_steps_per_second"} <= ends[0].keys():
        images = _number(ends[0], "train_samples_per_second") / _number(ends[0], "train_steps_per_second")
        notes.append(f"a step takes about {images:.3g} images on all GPUs, with accumulated ones")
    # Rates have three digits; one batch a step is one GPU without accumulation.
    is_alone = batch and images and abs(images / batch - 1.0) < 0.1
    facts: dict[str, object] = {"batch_per_gpu": round(batch), "n_gpus": 1} if is_alone else {"n_gpus": None}
    facts |= {"framework": "PyTorch"}
    return log_of_times(program, facts, np.array([seconds]), np.array([np.nan]), *notes)


def _number(entry: Mapping[str, Any], name: str) -> float:
    """Return a positive number of an entry; InputError where it is none."""
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise InputError(f"expected a number above 0 as {name}, got {value!r:.40}")
    return float(value)
