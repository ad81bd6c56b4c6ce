"""Predictions as text, CSV and JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from math import isfinite

from trainlaw.app.models.errors import LEVEL, OURS, held_out_kind, overall_error
from trainlaw.app.predictions.predict import Prediction
from trainlaw.app.text.csv import rows_as_csv
from trainlaw.app.text.numbers import show_number, show_percent, show_seconds
from trainlaw.app.text.tables import text_table
from trainlaw.datasets.measurements.memory_fit import gigabytes
from trainlaw.formulas import Formula


def predictions_text(formula: Formula, origin: str, predictions: Sequence[Prediction]) -> str:
    """Return one prediction as a paragraph, several as a table, each with unit, interval and warnings."""
    body = _one(predictions[0]) if len(predictions) == 1 else _many(predictions)
    return f"{body}\n\nformula: {origin}{_error_note(formula)}"


def predictions_csv(predictions: Sequence[Prediction]) -> str:
    """Return a CSV text with one line per prediction; column names contain the units, nan is empty."""
    names = [field.name for field in fields(Prediction)]
    rows = [
        [
            *("" if _null_for_nan(value) is None else value for value in astuple(row)[:-1]),
            _null_for_nan(row.samples_per_second) or "",
            "; ".join(row.warnings),
        ]
        for row in predictions
    ]
    return rows_as_csv([*names[:-1], "samples_per_second", names[-1]], rows)


def predictions_json(formula: Formula, predictions: Sequence[Prediction]) -> str:
    """Return a JSON list with one object per prediction: seconds, samples per second; nan becomes null."""
    rows = [
        {**asdict(prediction), "samples_per_second": prediction.samples_per_second, "interval_level": LEVEL}
        for prediction in predictions
    ]
    finite = [{key: _null_for_nan(value) for key, value in row.items()} for row in rows]
    return json.dumps(finite, indent=2, allow_nan=False)


def _null_for_nan(value: object) -> object:
    return None if isinstance(value, float) and not isfinite(value) else value


def _one(prediction: Prediction) -> str:
    machine = prediction.gpu if prediction.n_gpus == 1 else f"{prediction.n_gpus} x {prediction.gpu}"
    lines = [
        f"{prediction.cnn}, batch {prediction.batch_per_gpu}, on {machine}",
        f"  iteration time  {show_seconds(prediction.time_s)}   ({prediction.interval_text(LEVEL)})",
        *([_all_reduce(prediction)] if prediction.n_gpus > 1 else []),
        f"  throughput      {show_number(prediction.samples_per_second)} images/s",
        f"  memory          {_memory(prediction)}",
        *(f"  warning: {warning}" for warning in prediction.warnings),
    ]
    return "\n".join(lines)


def _memory(prediction: Prediction) -> str:
    least, usual = gigabytes(prediction.memory_least_bytes), gigabytes(prediction.memory_usual_bytes)
    return f"at least {least} GB, {usual} GB in total: {prediction.fits_in_memory}"


def _all_reduce(prediction: Prediction) -> str:
    places = [name for name in (prediction.link, prediction.network) if name != "none"]
    way = f"{prediction.algorithm} over {' and '.join(places)}"
    return f"  all-reduce      {show_seconds(prediction.exchange_s)}   ({way})"


def _many(predictions: Sequence[Prediction]) -> str:
    bounds = [
        ["-", "-"]
        if row.low_s is None or row.high_s is None
        else [show_seconds(row.low_s), show_seconds(row.high_s)]
        for row in predictions
    ]
    rows = [
        [
            row.cnn,
            row.gpu if row.n_gpus == 1 else f"{row.n_gpus} x {row.gpu}",
            row.batch_per_gpu,
            show_seconds(row.time_s),
            *bound,
            show_number(row.samples_per_second),
            "; ".join(row.warnings),
        ]
        for row, bound in zip(predictions, bounds, strict=True)
    ]
    level = f"{100 * LEVEL:g} %"
    header = ["CNN", "GPU", "batch", "time", f"{level} from", "to", "images/s", "warnings"]
    return text_table(header, rows)


def _error_note(formula: Formula) -> str:
    error = overall_error(formula, OURS)
    return f"; error on held-out {held_out_kind(formula)}s {show_percent(error)} %" if isfinite(error) else ""
