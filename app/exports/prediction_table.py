"""A formula's predictions for every known CNN on every known GPU as a CSV table."""

import csv
import io
import math
from collections.abc import Sequence

import numpy as np
from trainlaw.app.models.errors import interval_of
from trainlaw.app.models.lookup_tables import cnn_rows
from trainlaw.app.models.memory import LEAST_NEED, USUAL_NEED, fits_word
from trainlaw.app.models.multi_gpu import with_built_in_single_gpu_law
from trainlaw.app.models.rows import is_of_layers
from trainlaw.app.predictions.layer_tables import outside_of, pair_predictions
from trainlaw.app.text.csv import inert
from trainlaw.app.workbook.compare import pair_columns
from trainlaw.app.workbook.model import FIRST_BATCH, FIRST_PRECISION, values_of, workbook_model
from trainlaw.app.workbook.tables import gpu_table_rows
from trainlaw.formulas import Formula

COLUMNS = (
    "cnn", "input_size_px", "n_classes", "gpu", "batch_per_gpu", "precision", "time_s", "interval_from_s",
    "interval_to_s", "samples_per_s", "quantities_outside_training", "fits_in_memory",
)  # fmt: skip


def prediction_csv(formula: Formula, comments: Sequence[str] = ()) -> str:
    """Return a table with units in the names of its columns, under `comments` that say what it is.

    One GPU, batch and precision as sheet Predict opens. A time is empty where a fact is not known. Raises
    InputError where the formula needs what GPU, CNN and inputs do not give.
    """
    if is_of_layers(formula):
        return _csv_of_layers(formula, comments)
    model = workbook_model(with_built_in_single_gpu_law(formula))
    cnns, gpus = cnn_rows(), gpu_table_rows()
    raw = pair_columns(model, cnns, gpus)
    shape = (len(cnns), len(gpus))
    features = {name: values_of(form, raw) for name, form in model.features.items()}
    numbers = {name: np.full((1, 1), value) for name, value in model.numbers.items()}
    times = np.broadcast_to(values_of(model.expression, {**features, **numbers}), shape)
    outside = np.zeros(shape)
    for name, (low, high) in formula.ranges.items():
        if name in features:
            outside += ~((features[name] >= low) & (features[name] <= high))
    least, usual = (np.broadcast_to(values_of(need, raw), shape) for need in (LEAST_NEED, USUAL_NEED))
    memory = np.array([row["memory_bytes"] for row in gpus.values()], dtype=float)
    buffer = io.StringIO()
    buffer.writelines(f"# {line}\n" for line in comments)
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    factor = interval_of(formula) or math.nan
    for line, cnn in enumerate(cnns.values()):
        for place, gpu in enumerate(gpus):
            seconds = float(times[line, place])
            found = (
                seconds,
                seconds / factor,
                seconds * factor,
                FIRST_BATCH / seconds if seconds else math.nan,
            )
            fits = fits_word(least[line, place], usual[line, place], memory[place])
            named = [inert(str(cnn["cnn"])), cnn["input_size_px"], cnn["n_classes"], inert(gpu)]
            known = int(outside[line, place]) if math.isfinite(seconds) else ""
            writer.writerow([*named, FIRST_BATCH, FIRST_PRECISION, *map(_number, found), known, fits])
    return buffer.getvalue()


def _csv_of_layers(formula: Formula, comments: Sequence[str]) -> str:
    """The same table of a law of layers; a network whose layers are not known has no times."""
    buffer, gpus = io.StringIO(), list(gpu_table_rows())
    buffer.writelines(f"# {line}\n" for line in comments)
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cnn, predictions in pair_predictions(formula, cnn_rows().values(), gpus, FIRST_BATCH):
        named = [inert(str(cnn["cnn"])), cnn["input_size_px"], cnn["n_classes"]]
        for found in predictions:
            ends = (found.low_s or math.nan, found.high_s or math.nan, found.samples_per_second)
            times = map(_number, (found.time_s, *ends))
            facts = (FIRST_BATCH, FIRST_PRECISION, *times, outside_of(found), found.fits_in_memory)
            writer.writerow([*named, inert(found.gpu), *facts])
        if not predictions:
            writer.writerows([*named, inert(gpu), *[""] * (len(COLUMNS) - 4)] for gpu in gpus)
    return buffer.getvalue()


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""
