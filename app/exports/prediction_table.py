"""Predictions as a CSV table: every known CNN on every known GPU, or the worked cases of a custom formula."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product, repeat

from trainlaw.app.exports.headers import header_lines
from trainlaw.app.models.custom_inputs import case_table, cases_of, with_entered_sizes
from trainlaw.app.models.lookup_tables import cnn_rows, gpu_rows
from trainlaw.app.models.multi_gpu import with_built_in_single_gpu_formula
from trainlaw.app.models.scopes import Inputs, check_features, chosen_output
from trainlaw.app.predictions.predict import predicted_blocks
from trainlaw.app.text.tables import Table
from trainlaw.datasets import RunTable, built_in_gpus
from trainlaw.datasets.cnns.catalog import keyed_cnn_counts
from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.measurements.runs import (
    PRECISION_OF_PASSES,
    Setup,
    configuration_row,
    unmeasured_runs,
)
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import Formula, TrainlawError
from trainlaw.formulas.scopes import FORWARD

COLUMNS = (
    "cnn", "input_size_px", "n_classes", "gpu", "batch_per_gpu", "precision", "time_s", "interval_from_s",
    "interval_to_s", "samples_per_s", "quantities_outside_training", "fits_in_memory", "about",
)  # fmt: skip
BATCH = 64  # as on the sheet Predict
_Row = Sequence[object]
_Cnn = Mapping[str, object]


def prediction_csv(formula: Formula) -> str:
    """Return the CSV table of a formula by its scope: predictions, or worked cases.

    Predictions are of one GPU, one batch and fp32, or the precision of forward passes; a time is empty where
    a fact is unknown. Columns carry units; the last one describes the formula, line by line. Raises
    InputError where the formula needs what GPU, CNN and inputs do not give.
    """
    tables = {
        Inputs.RUN: _run_csv,
        Inputs.LAYERS: _layer_csv,
        Inputs.FEATURES: _case_csv,
    }
    return chosen_output(formula, "table", tables)


def _run_csv(formula: Formula) -> str:
    whole = with_built_in_single_gpu_formula(formula)
    return _described(formula, _rows(whole, [*cnn_rows().values()]))


def _layer_csv(formula: Formula) -> str:
    check_features(formula)
    return _described(formula, chain.from_iterable(_of_layers(formula, cnn) for cnn in cnn_rows().values()))


def _case_csv(formula: Formula) -> str:
    entered = with_entered_sizes(formula)
    return Table.of(*case_table(entered, cases_of(entered))).csv()


def _described(formula: Formula, rows: Iterable[_Row]) -> str:
    """Return rows as CSV, the first ones with a line of the formula's description each."""
    lines = chain(header_lines(formula), repeat(""))
    return Table.of(COLUMNS, ([*row, line] for row, line in zip(rows, lines, strict=False))).csv()


def _of_layers(formula: Formula, cnn: _Cnn) -> Iterator[_Row]:
    """Return the rows of a CNN; one of which only sums are known has no times."""
    try:
        yield from _rows(formula, [cnn])
    except TrainlawError:
        empty = [""] * (len(COLUMNS) - 5)
        yield from ([*_named(cnn), gpu, *empty] for gpu in gpu_rows())


def _rows(formula: Formula, cnns: Sequence[_Cnn]) -> Iterator[_Row]:
    """Return a row for each CNN on each GPU, CNN by CNN."""
    (found,) = predicted_blocks(formula, [_runs(formula, cnns)])
    numbers = (found[name] for name in ("time_s", "low_s", "high_s", "samples_per_second"))
    pairs = product(map(_named, cnns), gpu_rows())
    answers = zip(found["precision"], *numbers, found["warnings"], found["fits_in_memory"], strict=True)
    for (cnn, gpu), (precision, *values, warnings, fits) in zip(pairs, answers, strict=True):
        outside = sum("outside" in warning for warning in warnings)
        shown = ["" if value is None or not math.isfinite(value) else value for value in values]
        yield [*cnn, gpu, BATCH, precision, *shown, "" if shown[0] == "" else outside, fits]


def _named(cnn: _Cnn) -> list[object]:
    return [cnn["cnn"], cnn["input_size_px"], cnn["n_classes"]]


def _runs(formula: Formula, cnns: Sequence[_Cnn]) -> RunTable:
    """Return the configurations of the rows."""
    catalog = built_in_gpus()
    counts = [
        keyed_cnn_counts(cnn_key(str(name)), int(str(pixels)), int(str(classes)))
        for name, pixels, classes in map(_named, cnns)
    ]
    passes = Setup(precision=PRECISION_OF_PASSES, timed_parts=FORWARD)
    setup = passes if formula.scope == FORWARD else Setup(precision="fp32")
    pairs = product(counts, map(catalog.find, gpu_rows()))
    rows = [configuration_row(cnn, gpu, BATCH, setup) for cnn, gpu in pairs]
    return unmeasured_runs("pairs", rows, Facts(catalog, tuple(counts)))
