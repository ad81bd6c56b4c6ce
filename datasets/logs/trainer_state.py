"""The `trainer_state.json` of Hugging Face's Trainer."""

import re
from typing import Any

import numpy as np
from trainlaw.datasets.logs.training_log import TrainingLog, stated
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files.text_files import json_of

MARK = re.compile(r'\A\s*\{(?=.*"log_history"\s*:)(?=.*"global_step"\s*:)', re.DOTALL)
_PROGRAM = "Hugging Face's trainer_state.json"


def read(text: str) -> TrainingLog:
    """Return the training in a state: the mean of all steps, without the evaluations between them."""
    state = json_of(text, _PROGRAM)
    history = state.get("log_history") if isinstance(state, dict) else None
    entries = [entry for entry in history if isinstance(entry, dict)] if isinstance(history, list) else []
    ends = [entry for entry in entries if "train_runtime" in entry]
    if not ends:
        return TrainingLog(_PROGRAM, missing="only a finished training has its train_runtime")
    if len(ends) > 1:
        raise InputError(f"expected the state of one training, got {len(ends)} ends of one")
    runtime, n_steps = _number(ends[0], "train_runtime"), _number(state, "global_step")
    between = [entry for entry in entries if "eval_runtime" in entry]
    pauses = sum(_number(entry, "eval_runtime") for entry in between if _number(entry, "step") < n_steps)
    seconds = (runtime - pauses) / n_steps
    notes = [f"the mean of {n_steps:.0f} steps, the start-up and waits for data inside"]
    stated_batch = state.get("train_batch_size")
    batch = round(_number(state, "train_batch_size")) if stated_batch else 0
    images = 0.0
    if "train_samples_per_second" in ends[0] and "train_steps_per_second" in ends[0]:
        rates = (_number(ends[0], f"train_{what}_per_second") for what in ("samples", "steps"))
        images = next(rates) / next(rates)
        notes.append(f"a step takes about {images:.3g} images on all GPUs, with accumulated ones")
    # Rates have three digits; one batch a step is one GPU without accumulation.
    alone = batch and images and abs(images / batch - 1.0) < 0.1
    facts = stated(batch_per_gpu=batch if alone else 0, n_gpus=1 if alone else 0, framework="PyTorch")
    left = () if alone else ("n_gpus",)
    return TrainingLog(_PROGRAM, facts, np.array([seconds]), open=left, notes=tuple(notes))


def _number(entry: dict[str, Any], name: str) -> float:
    """Return a positive number of an entry; InputError where it is none."""
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise InputError(f"expected a number above 0 as {name}, got {value!r:.40}")
    return float(value)
