"""The log of timm's `train.py`."""

import re

import numpy as np
from trainlaw.datasets.logs.training_log import TrainingLog, one_of, stated, steady

MARK = re.compile(r"^.{0,60}?Train: \d+ \[\s*\d+/\d+ \(\s*\d+%\)\]", re.MULTILINE)
_STEP = re.compile(r"Train: (\d+) \[\s*(\d+)/\d+ ")
_TIME = re.compile(r"\bTime: (\d+\.\d+)s,\s*(\d+\.\d+)/s")
_WAIT = re.compile(r"\bData: (\d+\.\d+)")
_MODEL = re.compile(r"\bModel (\S+) created")
_SEVERAL = re.compile(r"Training in distributed mode.{0,80}?[Tt]otal (\d{1,4})\b")
_ALONE = re.compile(r"Training with a single process on 1 ")
_SIZE = re.compile(r"input_size: \(3, (\d{1,4}), (\d{1,4})\)")
_PRECISIONS = {"Training in mixed precision": "amp", "Training in float32": "default"}


def read(text: str) -> TrainingLog:
    """Return the training in a log; its rate counts the images of all GPUs."""
    steps, batches = [], []
    for line in text.splitlines():
        step, time, wait = _STEP.search(line), _TIME.search(line), _WAIT.search(line)
        if step and time and wait:
            seconds = float(time[1])
            steps.append((int(step[1]), int(step[2]), seconds, float(wait[1])))
            batches.append((seconds, float(time[2]) * seconds))
    times, waits = steady(steps)
    several = one_of("total", _SEVERAL.findall(text))
    n_gpus = int(several or 0) or (1 if _ALONE.search(text) else 0)
    # Times have three digits behind the point: the longest determines the batch best.
    longest, batch = max(batches)
    per_gpu = round(batch / n_gpus) if n_gpus and 0.0005 / longest * batch < 0.5 else 0
    sizes = {size for pair in _SIZE.findall(text) for size in pair}
    facts = stated(
        cnn=one_of("model", _MODEL.findall(text)),
        batch_per_gpu=per_gpu,
        n_gpus=n_gpus,
        precision=one_of("precision", [ours for said, ours in _PRECISIONS.items() if said in text]),
        input_size_px=int(sizes.pop()) if len(sizes) == 1 else 0,
        framework="PyTorch",
    )
    usual = float(np.median([each for _, each in batches]))
    notes = () if per_gpu else (f"about {usual:.0f} images a step on all GPUs",)
    return TrainingLog("timm's train.py", facts, times, waits, open=("n_gpus",) * (not n_gpus), notes=notes)
