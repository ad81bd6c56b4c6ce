"""Predictions one at a time: a configuration is kept, so that the next batch of it takes microseconds."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from trainlaw.app.explain.shares import explanations
from trainlaw.app.frames import setting_name
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.inputs.resolve import is_cnn_file
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, SCALING_FORMULA
from trainlaw.app.models.held import Held
from trainlaw.app.models.settings import setup_for
from trainlaw.app.predictions.predict import Prediction, check_fits, predict_runs
from trainlaw.app.predictions.prepared import Prepared, can_prepare
from trainlaw.datasets import RunTable
from trainlaw.datasets.measurements.runs import Setup, check_counts
from trainlaw.formulas import Formula

_Settings = tuple[tuple[str, Any], ...]


def one_time(formula: Formula, cnn: str, gpu: str, batch: int, settings: Mapping[str, Any]) -> float:
    """Return the time of an iteration, in seconds; arguments as for `trainlaw.predict`, one value each."""
    if type(batch) is not int or batch < 1:
        check_counts(batch)
    prepared = _prepared(Held(formula), cnn, gpu, tuple(settings.items()))
    if prepared is None:
        return one_prediction(formula, cnn, gpu, batch, settings).seconds
    return prepared.seconds(batch)


def one_prediction(
    formula: Formula, cnn: str, gpu: str, batch: int, settings: Mapping[str, Any], *, explain: bool = False
) -> Prediction:
    """Return a prediction; arguments as for `trainlaw.predict`, one value each."""
    check_counts(batch)
    prepared = None if explain else _prepared(Held(formula), cnn, gpu, tuple(settings.items()))
    if prepared is not None:
        return prepared.prediction(batch)
    run = _run(formula, cnn, gpu, batch, tuple(settings.items()))
    return predict_runs(formula, run, _scaling(), explain=explanations if explain else None)[0]


def _scaling() -> Formula:
    return BUILT_IN_FORMULAS[SCALING_FORMULA]()


# A service asks for a few hundred configurations, of 50 kB each.
@lru_cache(maxsize=1024)
def _prepared(held: Held, cnn: str, gpu: str, settings: _Settings) -> Prepared | None:
    """Return a configuration prepared for any batch; None for a formula or a CNN that it is not made for."""
    # A file may change from call to call.
    if is_cnn_file(cnn) or not can_prepare(held.formula, _scaling()):
        return None
    return Prepared(held.formula, _run(held.formula, cnn, gpu, 1, settings), _scaling())


def _run(formula: Formula, cnn: str, gpu: str, batch: int, settings: _Settings) -> RunTable:
    given = {setting_name(name): value for name, value in settings}
    pixels, classes = (given.pop(name, None) for name in ("pixels", "classes"))
    run = one_run(cnn, gpu, batch, pixels, setup_for(formula, Setup(**given)), classes=classes)
    check_fits(formula, run)
    return run
