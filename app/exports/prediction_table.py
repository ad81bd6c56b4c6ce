"""Predictions as a CSV table: every known CNN on every known GPU, or the worked cases of a custom formula."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

import numpy as np
from trainlaw.app.answers.error_rows import widened
from trainlaw.app.answers.figure_rows import needed_memory
from trainlaw.app.exports.headers import header_lines
from trainlaw.app.models.custom_inputs import case_table, cases_of, with_entered_sizes
from trainlaw.app.models.lookup_tables import cnn_rows, gpu_rows
from trainlaw.app.models.multi_gpu import with_built_in_single_gpu_formula
from trainlaw.app.models.scopes import Inputs, check_features, chosen_output
from trainlaw.app.models.settings import host_factor
from trainlaw.app.predictions.predict import features_outside, pair_predictions
from trainlaw.app.text.tables import Table
from trainlaw.app.workbook.compare import pair_columns
from trainlaw.app.workbook.model import (
    FIRST_BATCH,
    FIRST_PRECISION,
    Model,
    fits_words,
    values_of,
    workbook_model,
)
from trainlaw.formulas import Formula
from trainlaw.validate.held_out_errors import intervals_of, run_class

COLUMNS = (
    "cnn", "input_size_px", "n_classes", "gpu", "batch_per_gpu", "precision", "time_s", "interval_from_s",
    "interval_to_s", "samples_per_s", "quantities_outside_training", "fits_in_memory", "about",
)  # fmt: skip
_Row = Sequence[object]


def prediction_csv(formula: Formula) -> str:
    """Return the CSV table of a formula by its scope: predictions, or worked cases.

    Raises InputError where the formula needs what GPU, CNN and inputs do not give.
    """
    tables = {
        Inputs.RUN: run_prediction_csv,
        Inputs.LAYERS: layer_prediction_csv,
        Inputs.FEATURES: case_csv,
    }
    return chosen_output(formula, "table", tables)


def run_prediction_csv(formula: Formula) -> str:
    """Return a CSV table with units in its column names; the last column describes the formula, line by line.

    One GPU, with the batch and precision that the sheet Predict opens with. A time is empty where a fact is
    unknown.
    """
    return _described(formula, _run_formula_rows(formula))


def layer_prediction_csv(formula: Formula) -> str:
    """Return the same table for a formula of one layer."""
    check_features(formula)
    return _described(formula, _layer_formula_rows(formula))


def case_csv(formula: Formula) -> str:
    """Return the worked cases of a formula with user-defined features as a CSV table."""
    entered = with_entered_sizes(formula)
    return Table.of(*case_table(entered, cases_of(entered))).csv()


def _described(formula: Formula, rows: Iterable[_Row]) -> str:
    """Return rows as CSV, the first ones with a line of the formula's description each."""
    lines = chain(header_lines(formula), repeat(""))
    return Table.of(COLUMNS, ([*row, line] for row, line in zip(rows, lines, strict=False))).csv()


def _run_formula_rows(formula: Formula) -> Iterator[_Row]:
    model = workbook_model(with_built_in_single_gpu_formula(formula))
    cnns, gpus = cnn_rows(), gpu_rows()
    base = pair_columns(model, cnns, gpus)
    shape = (len(cnns), len(gpus))
    times, outside, hosts = _times_and_outside(model, base, shape)
    least, usual = (np.broadcast_to(values_of(need, base), shape) for need in needed_memory(model.formula))
    memory = [float(str(row["memory_bytes"])) for row in gpus.values()]
    # Without an interval its ends become nan, which the table leaves empty.
    intervals = intervals_of(formula)
    factors = [
        intervals.factor(
            run_class(model.first_precision, "eager", str(row["vendor"])), str(row["generation"])
        )
        for row in gpus.values()
    ]
    for i, cnn in enumerate(cnns.values()):
        fits = fits_words(least[i], usual[i], memory)
        for j, gpu in enumerate(gpus):
            seconds = float(times[i, j])
            factor = widened(formula, factors[j], str(cnn["cnn_base"]), hosts[i, j])
            speed = FIRST_BATCH / seconds if seconds else math.nan
            yield [
                cnn["cnn"], cnn["input_size_px"], cnn["n_classes"], gpu, FIRST_BATCH, model.first_precision,
                *_finite([seconds, seconds / factor, seconds * factor, speed]),
                int(outside[i, j]) if math.isfinite(seconds) else "",
                fits[j],
            ]  # fmt: skip


def _times_and_outside(
    model: Model, base: dict[str, np.ndarray], shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The times in seconds, how many features lie outside the training range, and the host's factor.

    Each has shape (n_cnns, n_gpus).
    """
    features = {name: values_of(form, base) for name, form in model.features.items()}
    numbers = {name: np.full((1, 1), value) for name, value in model.numbers.items()}
    known = {**base, **features, **numbers}
    parts = (model.expression, host_factor(model.formula, model.expression))
    times, hosts = (np.broadcast_to(values_of(part, known), shape) for part in parts)
    outside = np.zeros(shape)
    for name, (low, high) in model.formula.ranges.items():
        if name in features:
            outside += ~((features[name] >= low) & (features[name] <= high))
    return times, outside, hosts


def _layer_formula_rows(formula: Formula) -> Iterator[_Row]:
    """The rows of a layer formula; those of a CNN whose layers are unknown have no times."""
    gpus = list(gpu_rows())
    for cnn, predictions in pair_predictions(formula, cnn_rows().values(), gpus, FIRST_BATCH):
        named = [cnn["cnn"], cnn["input_size_px"], cnn["n_classes"]]
        for found in predictions:
            interval = (found.low_s or math.nan, found.high_s or math.nan)
            yield [
                *named, found.gpu, FIRST_BATCH, FIRST_PRECISION,
                *_finite([found.time_s, *interval, found.samples_per_second]),
                features_outside(found), found.fits_in_memory,
            ]  # fmt: skip
        if not predictions:
            yield from ([*named, gpu, *[""] * (len(COLUMNS) - 5)] for gpu in gpus)


def _finite(values: Iterable[float]) -> list[float | str]:
    return [float(value) if math.isfinite(value) else "" for value in values]
