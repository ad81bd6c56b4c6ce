"""Predictions of a law of layers for every known CNN on every known GPU, network by network."""

import math
from collections.abc import Collection, Iterator, Mapping

import pandas as pd
from trainlaw.app.predictions.predict import Prediction, predict_runs
from trainlaw.datasets import RunTable, configuration
from trainlaw.datasets.cnns.catalog import find_cnn_counts
from trainlaw.formulas import Formula, InputError, TrainlawError


def pair_predictions(
    formula: Formula, cnns: Collection[Mapping[str, object]], gpus: Collection[str], batch: int
) -> Iterator[tuple[Mapping[str, object], list[Prediction]]]:
    """Yield each network with its predictions on all GPUs, fp32, one GPU each; none where its layers are not
    known.

    cnns : rows with cnn, input_size_px and n_classes. gpus : names. batch : images per iteration. Raises
    InputError where no network's layers are known.
    """
    known = False
    for cnn in cnns:
        try:
            facts = find_cnn_counts(str(cnn["cnn"]), int(cnn["input_size_px"]), int(cnn["n_classes"]))
            runs = _on_all(configuration(cnn=facts, gpu=next(iter(gpus)), batch_per_gpu=batch), gpus)
            found = predict_runs(formula, runs)
        except TrainlawError:
            found = []  # a network of which only sums are known
        known = known or bool(found)
        yield cnn, found
    if not known:
        raise InputError("expected networks whose layers are known, got none")


def _on_all(run: RunTable, gpus: Collection[str]) -> RunTable:
    """The run on each of these GPUs."""
    frame = pd.concat([run.frame] * len(gpus), ignore_index=True)
    return RunTable(run.name, frame.assign(gpu=list(gpus)), run.facts)


def outside_of(prediction: Prediction) -> int | str:
    """Return how many features of layers lie outside the training range; empty without a time."""
    if not math.isfinite(prediction.time_s):
        return ""
    return sum("outside" in warning for warning in prediction.warnings)
