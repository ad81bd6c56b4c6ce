"""The log of torchvision's reference training: `references/classification/train.py`."""

import re

from trainlaw.datasets.logs.training_log import TrainingLog, one_of, stated, steady

MARK = re.compile(r"^Epoch: \[\d+\]\s+\[\s*\d+/\d+\]\s+eta: ", re.MULTILINE)
_STEP = re.compile(r"^Epoch: \[(\d+)\]\s+\[\s*(\d+)/\d+\]")
_TIME, _WAIT = re.compile(r"\btime: (\d+\.\d+)"), re.compile(r"\bdata: (\d+\.\d+)")
_OPTION = re.compile(r"\b(\w+)=('[^']*'|[^,()\s]+)")


def read(text: str) -> TrainingLog:
    """Return the training in a log: times are means over the last 20 steps of each line."""
    lines = text.splitlines()
    steps = [
        (int(step[1]), int(step[2]), float(time[1]), float(wait[1]))
        for line in lines
        if (step := _STEP.match(line)) and (time := _TIME.search(line)) and (wait := _WAIT.search(line))
    ]
    seconds, waits = steady(steps)
    one_of("the arguments", [line for line in lines if line.startswith("Namespace(")])
    arguments = next((line for line in lines if line.startswith("Namespace(")), "")
    options = {name: value.strip("'") for name, value in _OPTION.findall(arguments)}
    alone = "Not using distributed mode" in text
    size = options.get("train_crop_size", "")
    facts = stated(
        cnn=options.get("model"),
        batch_per_gpu=_number(options.get("batch_size", "")),
        n_gpus=1 if alone else _number(options.get("world_size", "")),
        precision={"True": "amp", "False": "default"}.get(options.get("amp", "")),
        input_size_px=_number(size),
        framework="PyTorch",
    )
    return TrainingLog("torchvision's reference training", facts, seconds, waits)


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"\d{1,6}", text, re.ASCII) else 0
