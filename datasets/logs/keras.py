"""The output of Keras while it fits a model."""

import re

import numpy as np
from trainlaw.datasets.logs.training_log import TrainingLog, one_of, stated
from trainlaw.formulas.errors import InputError

MARK = re.compile(r"\A(?=[\s\S]*?\d(?:ms|us|µs|s)/step)[\s\S]*?^Epoch \d+/\d+[ \t]*$", re.MULTILINE)
_EPOCH = re.compile(r"^Epoch (\d+)/\d+\s*$")
_STEPS = re.compile(r"^(\d+)/(\d+) ")
_TIME = re.compile(r" (\d+(?:\.\d+)?)(ms|us|µs|s)/step")
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_MOST_ROUNDING = 0.02


def read(text: str) -> TrainingLog:
    """Return the training in a log: the time of a step as Keras says it at the end of each epoch.

    Bars of `evaluate` and `predict` belong to no epoch. Raises InputError for several trainings and for
    fewer than two epochs, of which the first holds the start-up.
    """
    epochs: list[tuple[int, str, float, float]] = []
    epoch, validates = 0, False
    for line in text.splitlines():
        if match := _EPOCH.match(line):
            epoch = int(match[1])
            if epochs and epoch <= epochs[-1][0]:
                raise InputError(f"expected the log of one training, got epoch {epoch} again: keep one")
        steps, time = _STEPS.match(line), _TIME.search(line)
        if epoch and steps and time and steps[1] == steps[2]:
            unit = _SECONDS[time[2]]
            last_digit = unit * 10.0 ** -len(time[1].partition(".")[2])
            epochs.append((epoch, steps[2], float(time[1]) * unit, last_digit))
            validates |= "val_" in line
            epoch = 0
    one_of("steps in an epoch of", [steps for _, steps, _, _ in epochs])
    if len(epochs) < 2:
        raise InputError(f"expected two epochs, got {len(epochs)}: the first holds the start-up; train on")
    times = np.array([seconds for _, _, seconds, _ in epochs[1:]])
    rounding = max(0.5 * digit for *_, digit in epochs[1:]) / float(np.median(times))
    notes = ["the times hold the validation after each epoch"] if validates else []
    if rounding > _MOST_ROUNDING:
        notes.append(f"the times are rounded to {100 * rounding:.0f} %")
    facts = stated(framework="TensorFlow" if "tensorflow" in text.lower() else "")
    return TrainingLog("Keras", facts, times, notes=tuple(notes))
