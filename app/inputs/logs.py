"""A training log as a run: the facts of the log and of the user, and a question for each that is open."""

from collections.abc import Iterable, Mapping
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.datasets import CnnCounts, RunTable
from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.logs.training_log import TrainingLog
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.measurements.runs import BY_DEFAULT, RUN_COLUMNS
from trainlaw.formulas import InputError, UnknownNameError
from trainlaw.formulas.errors import check_name, shown

_IMAGES = "images_per_epoch"
_NEEDED: Mapping[str, str] = {
    "gpu": "the GPU",
    "cnn": "the CNN",
    "batch_per_gpu": "the batch of each GPU",
    "precision": f"the precision ({', '.join(name for name in PRECISIONS if name != 'unknown')}, default)",
    "n_gpus": "the number of GPUs",
    "n_nodes": "the number of nodes",
    _IMAGES: "the images of an epoch, of which the batch makes steps",
}
_ALWAYS = ("gpu", "cnn", "batch_per_gpu", "precision")
_TIMES = ("time_s", "time_min_s", "time_max_s", "n_repeats", "single_gpu_time_s")
_MAY_BE_SET = (*(column.name for column in RUN_COLUMNS if column.name not in _TIMES), _IMAGES)


class LogImport:
    """A log with what the user said of it.

    log : the training. facts : columns of the runs schema, of the log and of the user. questions : name and
    text of each column that is open.
    """

    def __init__(
        self,
        log: TrainingLog,
        given: Mapping[str, str],
        gpu_file: Path | None = None,
        cnn_files: Iterable[Path] | None = None,
    ) -> None:
        """Join the facts; InputError where the user contradicts the log, or for an unknown column."""
        self.log, self.gpus = log, known_gpus(gpu_file)
        self.cnns = tuple(named_cnn(str(path)) for path in cnn_files or ())
        self.facts, self.questions = self._joined(given)

    def _joined(self, given: Mapping[str, str]) -> tuple[dict[str, str | float], tuple[tuple[str, str], ...]]:
        facts, unknown = dict(self.log.facts), ""
        if "cnn" in facts:
            try:
                facts["cnn"] = _key(str(facts["cnn"]), self.cnns)
            except UnknownNameError as error:
                unknown = f"; the log calls it {shown(facts.pop('cnn'))}: {error}"
        for name, text in given.items():
            check_name("column", name, _MAY_BE_SET)
            value = _key(text, self.cnns) if name == "cnn" else text.lower() if name == "precision" else text
            if name in facts and str(facts[name]) != value:
                raise InputError(
                    f"{name} is {facts[name]} in the log, got {shown(text)}; leave out --set {name}"
                )
            facts[name] = value
        if "precision" in facts:
            check_name("precision", str(facts["precision"]), (*PRECISIONS, "default"))
        needed = [*_ALWAYS, *self.log.open, *([_IMAGES] if self.log.epochs else [])]
        needed += ["n_nodes"] if str(facts.get("n_gpus", 1)) != "1" else []
        asked = [name for name in needed if name not in facts]
        texts = {name: f"the log does not say {_NEEDED[name]}" for name in asked}
        return facts, tuple((name, texts[name] + (unknown if name == "cnn" else "")) for name in asked)

    @property
    def seconds(self) -> np.ndarray:
        """Times of the steps in s, (n,), without waits for data; of epochs divided by their steps."""
        if not self.log.epochs:
            return self.log.step_seconds
        numbers = []
        for name in (_IMAGES, "batch_per_gpu", "n_gpus"):
            text = str(self.facts.get(name, 1))
            if not (text.isascii() and text.isdigit() and 0 < int(text[:12]) == int(text)):
                raise InputError(f"expected a whole number above 0 as {name}, got {shown(text)}")
            numbers.append(int(text))
        return np.array(self.log.epochs) / ceil(numbers[0] / (numbers[1] * numbers[2]))

    def runs(self, name: str) -> RunTable:
        """Return the run as a table; FaultsError for a value that no run has."""
        facts, seconds = dict(self.facts), self.seconds
        facts.pop(_IMAGES, None)
        gpu = self.gpus.find(str(facts["gpu"]))
        if facts["precision"] == "default":
            facts |= {"precision": gpu.default_precision, "precision_stated": BY_DEFAULT}
        if str(facts.get("n_gpus", 1)) != "1":
            several = str(facts.get("n_nodes", 1)) != "1"
            fabric = usual_server(gpu.gpu).fabric if several else "none"
            facts = {"link": gpu.usual_link, "network": fabric, "algorithm": "ring", **facts}
        # Logs have at most nine digits behind the point; more are rounding of differences.
        low, median, high = (round(float(np.quantile(seconds, share)), 9) for share in (0.0, 0.5, 1.0))
        facts |= {"harness": self.log.program, "time_s": median, "n_repeats": len(seconds)}
        facts |= {"time_min_s": low, "time_max_s": high} if len(seconds) > 1 else {}
        return runs_from_frame(pd.DataFrame([facts]), name, self.gpus, self.cnns)


def _key(text: str, own: Iterable[CnnCounts]) -> str:
    """Return the key of a CNN; UnknownNameError where it is none."""
    return text if text in {facts.cnn for facts in own} else cnn_key(text)
