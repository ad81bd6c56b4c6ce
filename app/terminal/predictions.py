"""Predictions as text, CSV and JSON."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from math import isfinite

from trainlaw.app.inputs.requests import Setup
from trainlaw.app.predictions.predict import Prediction
from trainlaw.app.predictions.training import Training
from trainlaw.app.text.csv import rows_as_csv
from trainlaw.app.text.numbers import (
    show_hours,
    show_hours_range,
    show_number,
    show_percent,
    show_seconds,
    show_seconds_range,
)
from trainlaw.app.text.tables import finite_json, fitted_lines, fitted_table, null_for_nan, terminal_width
from trainlaw.datasets import Gpu
from trainlaw.datasets.hardware.collectives import EVEN
from trainlaw.datasets.measurements.memory_fit import FITS, gigabytes
from trainlaw.formulas import Formula
from trainlaw.validate.held_out_errors import LEVEL, OURS, held_out_kind, overall_error

WIDTH = 100  # characters of a shortened warning, at most
_MOST_WARNINGS = 4  # below a table
#: Said below several predictions for which no precision was asked.
DEFAULT_PRECISION = "precision: PyTorch's default on each GPU; or choose --precision fp32"


def formula_line(formula: Formula, origin: str, scaling_origin: str = "") -> str:
    """Return the first line of an output: the formula in use, its error, and the one for several GPUs."""
    error = overall_error(formula, OURS)
    shown = (
        f"; error on held-out {held_out_kind(formula)}s {show_percent(error)} %" if isfinite(error) else ""
    )
    return f"formula: {origin}{shown}" + (
        f"; several GPUs: {scaling_origin.removeprefix('the ')}" if scaling_origin else ""
    )


def predictions_text(
    formula_said: str,
    predictions: Sequence[Prediction],
    training: Training | None = None,
    most: int | None = None,
) -> str:
    """Return one prediction as a paragraph, several as a table, each with unit, interval and warnings.

    formula_said : the first line. training : what the hours are for, None for none. most : rows that are
    shown, None for all.
    """
    if len(predictions) == 1:
        return fitted_lines(f"{formula_said}\n{_one(predictions[0], training)}")
    shown = predictions[:most]
    lines = [formula_said, *_many(shown, training), *_warning_lines(shown)]
    if any(row.notes for row in shown):
        lines.append(DEFAULT_PRECISION)
    if len(shown) < len(predictions):
        lines.append(
            f"{len(shown)} of {len(predictions)}; --top {len(predictions)} shows all, --out x.csv too"
        )
    return fitted_lines("\n".join(lines))


def predictions_csv(predictions: Sequence[Prediction], training: Training | None = None) -> str:
    """Return a CSV text with one line per prediction; column names contain the units, nan is empty.

    training : adds its hours, None for none.
    """
    names = [field.name for field in fields(Prediction)]
    rows = [
        [
            *map(_csv_cell, astuple(row)[:-1]),
            null_for_nan(row.samples_per_second) or "",
            *map(_csv_cell, training_hours(row, training).values()),
            "; ".join(row.warnings),
        ]
        for row in predictions
    ]
    return rows_as_csv([*names[:-1], "samples_per_second", *(_HOURS if training else ()), names[-1]], rows)


_HOURS = ("training_h", "training_low_h", "training_high_h")


def training_hours(row: Prediction, training: Training | None) -> dict[str, float | None]:
    """Return the hours of a training with the ends of their interval; empty without a training."""
    if training is None:
        return {}
    per_second = training.hours(row.n_gpus * row.batch_per_gpu)
    times = (row.time_s, row.low_s, row.high_s)
    return {name: None if s is None else per_second * s for name, s in zip(_HOURS, times, strict=True)}


def _csv_cell(value: object) -> object:
    if isinstance(value, tuple):
        return "; ".join(map(str, value))
    finite = null_for_nan(value)
    return "" if finite is None else int(finite) if isinstance(finite, bool) else finite


def predictions_json(predictions: Sequence[Prediction], training: Training | None = None) -> str:
    """Return a JSON list with one object per prediction: seconds, samples per second; nan becomes null.

    training : adds its hours, None for none.
    """
    rows = [
        {
            **asdict(prediction),
            "samples_per_second": prediction.samples_per_second,
            "interval_level": LEVEL,
            **training_hours(prediction, training),
        }
        for prediction in predictions
    ]
    return finite_json(rows)


def _one(prediction: Prediction, training: Training | None) -> str:
    machine = prediction.gpu if prediction.n_gpus == 1 else f"{prediction.n_gpus} x {prediction.gpu}"
    hours = training_hours(prediction, training)
    lines = [
        f"{prediction.cnn}, batch {prediction.batch_per_gpu}, on {machine}",
        f"  iteration time  {show_seconds(prediction.time_s)}   ({prediction.interval_text(LEVEL)})",
        *([f"  training        {_hours_text(hours)}   ({training.title})"] if training else []),
        *([_all_reduce(prediction)] if prediction.n_gpus > 1 else []),
        f"  throughput      {show_number(prediction.samples_per_second)} images/s",
        f"  memory          {_memory(prediction)}",
        *([f"  settings        {settings}"] if (settings := _settings(prediction)) else []),
        *(f"  {note}" for note in prediction.notes),
        *(f"  warning: {warning}" for warning in prediction.warnings),
    ]
    return "\n".join(lines)


def _hours_text(hours: dict[str, float | None]) -> str:
    time, low, high = hours.values()
    known = show_hours(time) if time is not None else "-"
    return known if low is None or high is None else f"{known}, {show_hours_range(low, high)}"


def _settings(of: Prediction | Setup) -> str:
    """Return the settings that differ from the default: layout, compilation, host, allocation, ..."""
    parts = (
        f"layout {of.layout}" if of.layout not in (None, "nchw") else "",
        f"compilation {of.compilation}" if of.compilation not in (None, "eager") else "",
        "vendor-tuned" if of.tuned else "",
        f"host launch {show_seconds(of.host_launch_s)} per layer" if of.host_launch_s is not None else "",
        f"{of.allocation} GPUs per node" if of.allocation not in (None, EVEN) else "",
        "gradients not in buckets" if of.bucketed is False else "",
    )
    return ", ".join(filter(None, parts))


def setup_text(setup: Setup, gpu: Gpu) -> str:
    """Return the precision, PyTorch's default on a GPU where none is given, and settings not the default."""
    precision = setup.precision or f"{gpu.default_precision} (PyTorch's default on this GPU)"
    return ", ".join(filter(None, (precision, _settings(setup))))


def _memory(prediction: Prediction) -> str:
    least, usual = gigabytes(prediction.memory_least_bytes), gigabytes(prediction.memory_usual_bytes)
    return f"at least {least} GB, {usual} GB in total: {prediction.fits_in_memory}"


def _all_reduce(prediction: Prediction) -> str:
    places = [name for name in (prediction.link, prediction.network) if name != "none"]
    way = f"{prediction.algorithm} over {' and '.join(places)}"
    return f"  all-reduce      {show_seconds(prediction.exchange_s)}   ({way})"


def _many(predictions: Sequence[Prediction], training: Training | None) -> list[str]:
    """Return what all predictions share in one line, and a table of where they differ and of their times."""
    differing: dict[str, list[str]] = {
        "CNN": [row.cnn for row in predictions],
        "GPU": [row.gpu for row in predictions],
        "GPUs": [str(row.n_gpus) for row in predictions],
        "batch": [str(row.batch_per_gpu) for row in predictions],
        "precision": [row.precision for row in predictions],
        "settings": [_settings(row) for row in predictions],
    }
    shared = {name: texts[0] for name, texts in differing.items() if len(set(texts)) == 1 and name != "GPU"}
    columns = {name: texts for name, texts in differing.items() if name not in shared}
    columns["time"] = [show_seconds(row.time_s) for row in predictions]
    columns[f"{100 * LEVEL:g} % interval"] = [_span(row) for row in predictions]
    if training is not None:
        columns["training"] = [show_hours(training_hours(row, training)["training_h"]) for row in predictions]
    columns["images/s"] = [show_number(row.samples_per_second) for row in predictions]
    if any(notes := [_note(row) for row in predictions]):
        columns["notes"] = notes
    if shared.get("GPUs") == "1":
        shared.pop("GPUs")
    said = ", ".join(
        text if name in ("CNN", "settings") else f"{name} {text}" for name, text in shared.items() if text
    )
    if training is not None:
        said += f"; training: {training.title}"
    return [said, fitted_table(list(columns), list(zip(*columns.values(), strict=True)))]


def _span(row: Prediction) -> str:
    if row.low_s is None or row.high_s is None:
        return "-"
    return show_seconds_range(row.low_s, row.high_s)


def _note(row: Prediction) -> str:
    if row.fits_in_memory != FITS:
        return row.fits_in_memory
    number = len(row.warnings)
    return "" if not number else "1 warning" if number == 1 else f"{number} warnings"


def _warning_lines(predictions: Sequence[Prediction]) -> list[str]:
    """Return the most frequent warnings, one per line that fits, and how many others there are."""
    counts = Counter(text for row in predictions for text in row.warnings)
    if not counts:
        return []
    rows = len(predictions)
    lines = [
        textwrap.shorten(
            f"warning ({number} of {rows} rows): {text}", min(terminal_width(), WIDTH), placeholder=" ..."
        )
        for text, number in counts.most_common(_MOST_WARNINGS)
    ]
    others = len(counts) - len(lines)
    further = "1 further warning" if others == 1 else f"{others} further warnings"
    return [*lines, *([f"{further}: --format csv"] if others else [])]
