"""The log of MLPerf's mllog: one JSON object a line, with the ends of epochs or blocks of them."""

import re
from typing import Any

from trainlaw.datasets.logs.training_log import TrainingLog, one_of
from trainlaw.formulas.files.text_files import json_of

MARK = re.compile(r'^.{0,200}:::MLLOG \{"', re.MULTILINE)
_PROGRAM = "MLPerf's mllog"
_KINDS = ("epoch", "block")


def read(text: str) -> TrainingLog:
    """Return the training in a log: the times between start and stop of its epochs or blocks."""
    entries: list[dict[str, Any]] = [
        json_of(line.partition(":::MLLOG ")[2], _PROGRAM) for line in text.splitlines() if MARK.match(line)
    ]
    batch = one_of("global_batch_size", _values(entries, "global_batch_size"))
    images = one_of("train_samples", _values(entries, "train_samples"))
    for kind in _KINDS:
        starts, stops = (
            [entry for entry in entries if entry.get("key") == f"{kind}_{end}"] for end in ("start", "stop")
        )
        spans = [
            (float(stop["time_ms"]) - float(start["time_ms"])) / 1e3 / _epochs(start)
            for start, stop in zip(starts, stops, strict=False)
        ]
        if len(spans) > 1 and min(spans) > 0.0:
            # The first holds the start-up.
            facts = {"images_per_epoch": images} if images else {}
            note = f"its batch is {batch} on all GPUs" if batch else "it states no batch"
            left = ("n_gpus",)
            return TrainingLog(_PROGRAM, facts, epochs=tuple(spans[1:]), open=left, notes=(note,))
    return TrainingLog(_PROGRAM, missing="it lacks starts and stops of at least two epochs or blocks")


def _values(entries: list[dict[str, Any]], key: str) -> list[str]:
    return [str(entry.get("value")) for entry in entries if entry.get("key") == key]


def _epochs(start: dict[str, Any]) -> int:
    """Return the number of epochs in a block, 1 where the entry states none."""
    metadata = start.get("metadata")
    count = metadata.get("epoch_count") if isinstance(metadata, dict) else None
    return count if type(count) is int and count > 0 else 1
