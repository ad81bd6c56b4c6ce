"""The log of PyTorch's example `imagenet/main.py`."""

import re

from trainlaw.datasets.logs.training_log import TrainingLog, one_of, stated, steady

MARK = re.compile(r"^Epoch: \[\d+\]\[\s*\d+/\d+\]\s+Time\s+\d", re.MULTILINE)
_STEP = re.compile(
    r"^Epoch: \[(\d+)\]\[\s*(\d+)/\d+\]\s+Time\s+(\d+\.\d+) \(\s*\d+\.\d+\)\s+Data\s+(\d+\.\d+)", re.MULTILINE
)
_MODEL = re.compile(r"^=> (?:creating model|using pre-trained model) '([^'\n]{1,80})'", re.MULTILINE)


def read(text: str) -> TrainingLog:
    """Return the training in a log, which states neither batch nor precision nor the number of GPUs."""
    steps = (
        (int(epoch), int(step), float(seconds), float(wait))
        for epoch, step, seconds, wait in _STEP.findall(text)
    )
    seconds, waits = steady(steps)
    facts = stated(cnn=one_of("model", _MODEL.findall(text)), framework="PyTorch")
    note = "without --gpu, the program splits its batch among all GPUs: state the batch of each"
    return TrainingLog("PyTorch's imagenet/main.py", facts, seconds, waits, notes=(note,))
