"""The import of a training log as text: what was read, the questions, and the command that answers them."""

import shlex
from collections.abc import Mapping

import numpy as np
from trainlaw.app.inputs.logs import LogImport
from trainlaw.app.text.numbers import show_seconds
from trainlaw.app.text.tables import fitted_lines
from trainlaw.datasets.logs.training_log import LEAST_WAIT, TrainingLog
from trainlaw.datasets.spreadsheets.answers import CHOICE


def log_text(made: LogImport, name: str) -> str:
    """Return which program wrote the log, its facts, the time of a step, and the open questions."""
    log = made.log
    facts = ", ".join(f"{ours} {value}" for ours, value in made.facts.items())
    lines = [f"{name}: log of {log.program}", *([f"  {facts}"] if facts else [])]
    lines += [f"  {_times_text(log)}"] if len(log.seconds) else []
    lines += [f"note: {note}" for note in log.notes]
    if made.questions:
        lines += ["", f"Questions ({len(made.questions)})"]
    for ours, text in made.questions:
        lines += [f"  - {text}", f"      {' '.join(_option(ours))}"]
    return fitted_lines("\n".join(lines))


def _times_text(log: TrainingLog) -> str:
    """Return the median and spread of the steps after the start-up, and the wait for data."""
    seconds = log.step_seconds
    median = float(np.median(seconds))
    text = f"a step takes {show_seconds(median)}"
    if len(seconds) > 1:
        text = (
            f"{len(seconds)} times after the start-up: median {show_seconds(median)}, from "
            f"{show_seconds(float(seconds.min()))} to {show_seconds(float(seconds.max()))}"
        )
    if np.isfinite(log.wait_s):
        is_left_out = log.wait_s > LEAST_WAIT * float(np.median(log.seconds))
        text += f"; waits for data {show_seconds(log.wait_s)}, {'left out' if is_left_out else 'inside'}"
    return text


def rerun_words(made: LogImport, file: str, given: Mapping[str, str], others: list[str]) -> str:
    """Return the command that imports the log when every question is answered."""
    words = [word for ours, value in given.items() for word in _option(ours, value)]
    words += [word for ours, _ in made.questions for word in _option(ours)]
    return shlex.join(["trainlaw", "data", "import", file, *words, *others])


def _option(name: str, value: str = CHOICE) -> tuple[str, str]:
    return ("--precision", value) if name == "precision" else ("--set", f"{name}={value}")
