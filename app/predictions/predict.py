"""Predictions with their interval and warnings: of configurations, and of every CNN on every GPU."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from math import inf, isfinite, isnan
from typing import Any

import numpy as np
import pandas as pd
from trainlaw.app.inputs.requests import run_warnings
from trainlaw.app.models.calibration import calibration_warnings
from trainlaw.app.models.coverage import unseen_generation, untrained_precision
from trainlaw.app.models.multi_gpu import ALGORITHMS, exchange_seconds, multi_gpu_seconds, scaled_runs
from trainlaw.app.models.scopes import check_predictable, formula_rows, handling
from trainlaw.app.models.sentences import (
    JOINTLY,
    NO_INTERVAL,
    NOT_DEFINED,
    default_precision_note,
    host_sentence,
    outside_sentence,
    several_gpus_sentence,
)
from trainlaw.app.models.settings import HOST_LAUNCH, host_decides, unknown_settings
from trainlaw.app.text.numbers import show_number, show_seconds, show_seconds_range
from trainlaw.datasets import RunTable, configuration
from trainlaw.datasets.cnns.catalog import keyed_cnn_counts
from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.datasets.measurements.memory_fit import memory_needs
from trainlaw.datasets.measurements.runs import BY_DEFAULT
from trainlaw.formulas import Formula, InputError, TrainlawError
from trainlaw.validate.applicability import jointly_outside
from trainlaw.validate.held_out_errors import LEVEL, interval_factors, interval_of


@dataclass(frozen=True)
class Prediction:
    """One predicted configuration; times in s; `low_s` and `high_s` bound the interval, None without one.

    `memory_least_bytes`, `memory_usual_bytes` and `fits_in_memory` are those of `memory_needs`. `time_s`
    contains `exchange_s`: the all-reduce of gradients among `n_gpus` GPUs on `n_nodes` nodes, which have the
    same number of GPUs unless `allocation` lists them. `host_launch_s`
    is None where it is not known; `notes` say which defaults were used.
    """

    cnn: str
    gpu: str
    batch_per_gpu: int
    precision: str
    n_gpus: int
    n_nodes: int
    link: str
    network: str
    algorithm: str
    layout: str
    compilation: str
    tuned: bool
    host_launch_s: float | None
    allocation: str
    bucketed: bool
    time_s: float
    exchange_s: float
    low_s: float | None
    high_s: float | None
    memory_least_bytes: int
    memory_usual_bytes: int
    fits_in_memory: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def samples_per_second(self) -> float:
        """Throughput of all GPUs, in samples per second."""
        return self.n_gpus * self.batch_per_gpu / self.time_s

    @property
    def seconds(self) -> float:
        """The time of an iteration, in seconds."""
        return self.time_s

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the 90 % interval, in seconds; None without one."""
        return None if self.low_s is None or self.high_s is None else (self.low_s, self.high_s)

    @property
    def images_per_second(self) -> float:
        """Throughput of all GPUs, in images per second."""
        return self.samples_per_second

    def __repr__(self) -> str:
        """Return the prediction in short."""
        warned = f", warnings: {len(self.warnings)}" if self.warnings else ""
        time = f"{show_seconds(self.time_s)}, {self.interval_text(LEVEL)}"
        return f"<Prediction of {self._title}: {time}{warned}>"

    @property
    def _title(self) -> str:
        machine = self.gpu if self.n_gpus == 1 else f"{self.n_gpus} x {self.gpu}"
        return f"{self.cnn}, batch {self.batch_per_gpu}, {self.precision}, on {machine}"

    def _repr_html_(self) -> str:
        """Return the prediction as notebooks show it."""
        rows = [
            ("iteration time", f"{show_seconds(self.time_s)} ({self.interval_text(LEVEL)})"),
            ("throughput", f"{show_number(self.images_per_second)} images/s"),
            ("memory", self.fits_in_memory),
            *(("note", note) for note in self.notes),
            *(("warning", warning) for warning in self.warnings),
        ]
        cells = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows)
        return f"<table><caption>{escape(self._title)}</caption>{cells}</table>"

    def interval_text(self, level: float) -> str:
        """Return the interval as text; `level` is its probability.

        >>> machine = ("fp32", 1, 1, "none", "none", "none", "nchw", "eager", False, None, "even", True)
        >>> rest = (10**9, 2 * 10**9, "fits", (), ())
        >>> Prediction("vgg16", "V100", 8, *machine, 0.1, 0.0, 0.08, 0.125, *rest).interval_text(0.9)
        '90 % interval 80 to 125 ms'
        """
        if self.low_s is None or self.high_s is None:
            return "no interval" if isnan(self.time_s) else NO_INTERVAL
        return f"{100 * level:g} % interval {show_seconds_range(self.low_s, self.high_s)}"


def predict_runs(
    formula: Formula, runs: RunTable, scaling: Formula | None = None, measured_s: float | None = None
) -> list[Prediction]:
    """Predict every configuration of a table.

    formula : of the iteration time. runs : configurations, times are not needed. scaling : formula for
    several GPUs, for the algorithms that it covers; None for the textbook. measured_s : time of an iteration
    on one GPU, in seconds, where it is known: then the scaling formula alone predicts the runs, which are on
    several GPUs, and the interval is its own.
    Returns one prediction per row of `runs`; its time is nan where the formula is not defined. Raises
    InputError for a formula of a scope without predictions of configurations.
    """
    check_predictable(formula)
    if measured_s is None:
        rows = formula_rows(formula, runs)
        single = rows.predict(formula)
        factors = interval_factors(formula, runs)
    else:
        single = np.full(len(runs), measured_s)
        factors = np.full(len(runs), interval_of(_covering(scaling, runs)) or np.nan)
    exchange = exchange_seconds(formula, runs, scaling, single)
    seconds = multi_gpu_seconds(single, exchange)
    warnings_of_runs = (
        _warnings(formula, runs, rows, seconds, scaling)
        if measured_s is None
        else _warnings_of_measured(runs, single, scaling)
    )
    numbers = zip(seconds.tolist(), exchange.tolist(), factors.tolist(), warnings_of_runs, strict=True)
    memory = memory_needs(runs)[["least_bytes", "usual_bytes", "fits"]].itertuples(index=False, name=None)
    described = [
        {name: _DESCRIBED[name](value) for name, value in zip(_DESCRIBED, values, strict=True)}
        for values in runs.frame[list(_DESCRIBED)].itertuples(index=False, name=None)
    ]
    return [
        Prediction(
            **named,
            time_s=time_s,
            exchange_s=exchange_s,
            low_s=time_s / factor if isfinite(time_s / factor) else None,
            high_s=time_s * factor if isfinite(time_s * factor) else None,
            memory_least_bytes=least,
            memory_usual_bytes=usual,
            fits_in_memory=fits,
            notes=_precision_note(stated, named["precision"]),
            warnings=warnings,
        )
        for named, stated, (time_s, exchange_s, factor, warnings), (least, usual, fits) in zip(
            described, runs.frame["precision_stated"], numbers, memory, strict=True
        )
    ]


def fastest_first(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Return predictions by throughput, the highest first; those without a time last."""
    return sorted(predictions, key=lambda row: inf if isnan(row.time_s) else -row.samples_per_second)


_DESCRIBED: Mapping[str, Callable[[Any], Any]] = {
    "cnn": str,
    "gpu": str,
    "batch_per_gpu": int,
    "precision": str,
    "n_gpus": int,
    "n_nodes": int,
    "link": str,
    "network": str,
    "algorithm": str,
    "layout": str,
    "compilation": str,
    "tuned": bool,
    HOST_LAUNCH: lambda value: None if isnan(value) else float(value),
    "allocation": str,
    "bucketed": bool,
}


def _precision_note(stated: str, precision: str) -> tuple[str, ...]:
    """Return that a precision is PyTorch's default on a GPU, where none was asked for."""
    return (default_precision_note(precision),) if stated == BY_DEFAULT else ()


def _warnings(
    formula: Formula, runs: RunTable, rows: FormulaRows, seconds: np.ndarray, scaling: Formula | None
) -> list[tuple[str, ...]]:
    found = (
        _out_of_range(formula, rows.columns, len(runs))
        if rows.sums is None
        else _layers_out_of_range(formula, rows)
    )
    for row, precision in enumerate(runs.frame["precision"]):
        found[row] += untrained_precision(formula, precision)
    for row, gpu in enumerate(runs.frame["gpu"]):
        found[row] += unseen_generation(formula, runs.facts.gpus.find(str(gpu)))
    unlike = rows.any_per_run(jointly_outside(formula, rows.columns)) & np.isfinite(seconds)
    for row in np.flatnonzero(unlike).tolist():
        found[row].append(JOINTLY)
    for row, texts in enumerate(run_warnings(runs)):
        found[row] += texts
    for row, ignored in enumerate(unknown_settings(formula, runs)):
        found[row] += ignored
    for row, others in enumerate(calibration_warnings(formula, runs)):
        found[row] += others
    if rows.sums is None:
        for row in np.flatnonzero(host_decides(formula, rows.columns)).tolist():
            found[row].append(_host_warning(runs, row))
    if not handling(formula).covers_multi_gpu:
        covered = scaled_runs(scaling, runs)
        for row in np.flatnonzero(runs.frame["n_gpus"].to_numpy() > 1).tolist():
            found[row].append(several_gpus_sentence(bool(covered[row])))
    for row in np.flatnonzero(~np.isfinite(seconds)).tolist():
        found[row].append(NOT_DEFINED)
    return [tuple(texts) for texts in found]


def _host_warning(runs: RunTable, row: int) -> str:
    launch_s = runs.matrix([HOST_LAUNCH])[row].item()
    is_stated = not isnan(runs.frame[HOST_LAUNCH].iloc[row])
    return host_sentence(str(runs.frame["batch_per_gpu"].iloc[row]), show_seconds(launch_s), is_stated)


def _covering(scaling: Formula | None, runs: RunTable) -> Formula:
    """Return the scaling formula; InputError where it does not cover the algorithm of every run."""
    if scaling is None:
        raise InputError(
            "a measured time on one GPU needs a scaling formula, got the textbook; leave one of them out"
        )
    if not scaled_runs(scaling, runs).all():
        known = ", ".join(scaling.provenance.get(ALGORITHMS, ()))
        raise InputError(
            "a measured time on one GPU needs a scaling formula that covers the algorithm; this one covers "
            f"{known}; leave the time out for the textbook"
        )
    return scaling


def _warnings_of_measured(
    runs: RunTable, single: np.ndarray, scaling: Formula | None
) -> list[tuple[str, ...]]:
    """Warnings of runs on several GPUs whose time on one was measured: what is outside the training."""
    covering = _covering(scaling, runs)
    names = [spec.name for spec in covering.used_features if spec.name != SINGLE_GPU_TIME]
    columns = dict(zip(names, runs.matrix(names).T, strict=True)) | {SINGLE_GPU_TIME: single}
    outside = _out_of_range(covering, columns, len(runs))
    return [(*texts, *others) for texts, others in zip(outside, run_warnings(runs), strict=True)]


def _out_of_range(formula: Formula, columns: Mapping[str, np.ndarray], count: int) -> list[list[str]]:
    """One list of warnings for each of `count` runs, whose features are `columns`."""
    found = [list[str]() for _ in range(count)]
    for name, outside in formula.out_of_range(columns).items():
        spec = next(spec for spec in formula.used_features if spec.name == name)
        # What is not known is no number outside the range: it is named among the specifications.
        for row in np.flatnonzero(outside & np.isfinite(columns[name])).tolist():
            found[row].append(outside_sentence(formula, spec, show_number(columns[name][row])))
    return found


def _layers_out_of_range(formula: Formula, rows: FormulaRows) -> list[list[str]]:
    """One list of warnings per run, for a formula of one layer: how many layers are outside, per feature."""
    found = [list[str]() for _ in rows.known]
    if rows.sums is None:
        return found
    for name, outside in formula.out_of_range(rows.columns).items():
        low, high = map(show_number, formula.ranges[name])
        # What is 0 contributes nothing: a pooling layer has no time of a matrix product.
        layers = rows.per_run(rows.sums.apply(1.0 * (outside & (rows.columns[name] != 0))), 0.0)
        for row in np.flatnonzero(layers).tolist():
            number = "1 layer" if layers[row] == 1 else f"{layers[row]:.0f} layers"
            found[row].append(f"{name} of {number} lies outside the training range {low} to {high}")
    return found


def pair_predictions(
    formula: Formula, cnns: Collection[Mapping[str, object]], gpus: Collection[str], batch: int
) -> Iterator[tuple[Mapping[str, object], list[Prediction]]]:
    """Yield each CNN with its predictions on all GPUs, fp32, one GPU each; none where its layers are unknown.

    cnns : rows with cnn, input_size_px and n_classes. gpus : names. batch : images per iteration. Raises
    InputError where no CNN's layers are known.
    """
    known = False
    for cnn in cnns:
        try:
            facts = keyed_cnn_counts(
                cnn_key(str(cnn["cnn"])), int(str(cnn["input_size_px"])), int(str(cnn["n_classes"]))
            )
            runs = _on_all(configuration(cnn=facts, gpu=next(iter(gpus)), batch_per_gpu=batch), gpus)
            found = predict_runs(formula, runs)
        except TrainlawError:
            found = []  # a CNN of which only sums are known
        known = known or bool(found)
        yield cnn, found
    if not known:
        raise InputError("expected CNNs whose layers are known, got none")


def _on_all(run: RunTable, gpus: Collection[str]) -> RunTable:
    """The run on each of these GPUs."""
    frame = pd.concat([run.frame] * len(gpus), ignore_index=True)
    return RunTable(run.name, frame.assign(gpu=list(gpus)), run.facts)


def features_outside(prediction: Prediction) -> int | str:
    """Return how many features of layers lie outside the training range; empty without a time."""
    if not isfinite(prediction.time_s):
        return ""
    return sum("outside" in warning for warning in prediction.warnings)
