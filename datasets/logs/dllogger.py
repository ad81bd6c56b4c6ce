"""The log of DeepLearningExamples' dllogger: one JSON object a line."""

import re
from typing import Any

from trainlaw.datasets.logs.training_log import TrainingLog, one_of, stated, steady
from trainlaw.formulas.files.text_files import json_of

MARK = re.compile(r'^(?:DLLL )?\{"timestamp".{0,300}"type": ?"LOG"', re.MULTILINE)
_PROGRAM = "DeepLearningExamples' dllogger"


def read(text: str) -> TrainingLog:
    """Return the training in a log: images/s of computing and, with the wait for data, of all."""
    parameters: list[dict[str, Any]] = []
    lines: list[tuple[int, int, dict[str, float]]] = []
    for line in text.splitlines():
        entry = json_of(line.removeprefix("DLLL "), _PROGRAM) if MARK.match(line) else {}
        data, step = entry.get("data"), entry.get("step")
        if isinstance(data, dict) and step == "PARAMETER":
            parameters.append(data)
        elif isinstance(data, dict) and isinstance(step, list) and len(step) == 2:
            numbers = {name: float(value) for name, value in data.items() if type(value) in (int, float)}
            if "train.compute_ips" in numbers and all(type(place) is int for place in step):
                lines.append((step[0], step[1], numbers))
    if not lines:
        return TrainingLog(_PROGRAM, missing="no line has train.compute_ips")
    said = {key: value for data in parameters for key, value in data.items()}
    batch = said.get("batch_size")
    one_of("arch", [str(data["arch"]) for data in parameters if "arch" in data])
    one_of("batch_size", [str(data["batch_size"]) for data in parameters if "batch_size" in data])
    batch = batch if type(batch) is int and batch > 0 else 0
    n_gpus = next((said[name] for name in ("num_gpus", "world_size") if type(said.get(name)) is int), 0)
    steps = []
    for epoch, step, numbers in lines:
        compute, whole = numbers["train.compute_ips"], numbers.get("train.total_ips", 0.0)
        seconds = numbers.get("train.compute_time", 0.0)
        n_gpus = n_gpus or (round(compute * seconds / batch) if batch else 0)
        if batch and n_gpus and compute > 0:
            seconds = batch * n_gpus / compute
        both = batch * n_gpus / whole if batch and n_gpus and whole > 0 else seconds
        steps.append((epoch, step, max(both, seconds), max(both - seconds, 0.0)))
    if not all(seconds > 0 for _, _, seconds, _ in steps):
        return TrainingLog(_PROGRAM, missing="it states neither batch_size nor train.compute_time")
    seconds_of, waits = steady(steps)
    facts = stated(
        cnn=str(said.get("arch") or ""),
        batch_per_gpu=batch,
        n_gpus=n_gpus,
        precision={True: "amp", False: "default"}.get(said.get("amp")),  # type: ignore[arg-type]
        input_size_px=said["image_size"] if type(said.get("image_size")) is int else 0,
        framework="PyTorch",
    )
    return TrainingLog(_PROGRAM, facts, seconds_of, waits)
