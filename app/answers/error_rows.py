"""The rows of errors: those of a formula on held-out runs like this one, and their weight for it."""

from collections.abc import Iterable
from math import exp, hypot, log

from trainlaw.app.answers.answer import Answer
from trainlaw.app.models.calibration import calibration_of
from trainlaw.formulas import Formula
from trainlaw.formulas.scopes import FORWARD, LAYER, RUN
from trainlaw.validate.class_intervals import SPREAD_OF_ERRORS, UNKNOWN_ARCHITECTURE, architecture_factor
from trainlaw.validate.error_table import BY_CNN
from trainlaw.validate.formula_errors import error_on, errors_by_name

_LARGE_ERROR = 30  # percent, nearly twice the mean error of the built-in formula
_IS_HELD_OUT = "step(error_of_architecture - 0.05)"
ARCHITECTURE_FACTOR = (
    f"(1 + 0.01 * (error_of_architecture + {UNKNOWN_ARCHITECTURE} * (1 - {_IS_HELD_OUT})))^{SPREAD_OF_ERRORS}"
)
# Errors of a formula by what it was asked for: the level that it keeps, and words for the runs.
_ERRORS = (
    ("architecture", BY_CNN, "runs of this architecture"),
    ("precision", "precision", "runs in {precision}"),
    ("generation", "generation", "{generation} GPUs"),
)


def has_architecture_errors(formula: Formula) -> bool:
    """Return whether intervals depend on the architecture: its errors are kept, and not calibrated away."""
    is_kept = formula.scope in (RUN, FORWARD) and not calibration_of(formula)
    return is_kept and bool(errors_by_name(formula, BY_CNN))


def widened(formula: Formula, class_factor: float, cnn_base: str, of_host: float = 1.0) -> float:
    """Return the factor of an interval by that of its class, nan without one, architecture and host."""
    of_architecture = 1.0
    if has_architecture_errors(formula):
        of_architecture = architecture_factor(error_on(formula, BY_CNN, cnn_base) or None)
    return exp(hypot(*map(log, (class_factor, of_architecture, of_host))))


def errors(formula: Formula) -> Iterable[Answer]:
    """Yield how far the formula was off on held-out runs like this one, in one sentence where all are known.

    A formula of layers has errors by kinds of layers, and a calibrated one only those from before.
    """
    known = [row for row in _ERRORS if errors_by_name(formula, row[1])]
    if formula.scope == LAYER or calibration_of(formula) or not known:
        return
    # 1 where such runs were held out, else 0; an error divided by 0 is not defined. Errors are in tenths.
    has = {kind: f"step(error_of_{kind} - 0.05)" for kind, _, _ in known}
    said = {kind: f"{{{kind}_error_percent:number}} % on {words}" for kind, _, words in known}
    for kind, is_known in has.items():
        yield Answer(f"{kind}_error_percent", "%", f"error_of_{kind} / {is_known}")
    yield Answer("has_all_errors", definition=" * ".join(has.values()))
    yield Answer(
        "errors", when="has_all_errors", sentence=f"held-out error: {', '.join(said.values())}", is_note=True
    )
    for kind, words in said.items():
        when = f"error_of_{kind} * (1 - has_all_errors)"
        yield Answer(f"{kind}_error", when=when, sentence=f"held-out error: {words}", is_note=True)
    if "architecture" in has:
        yield Answer(
            "large_architecture_error",
            when=f"error_of_architecture - {_LARGE_ERROR}",
            sentence="the formula's error on held-out runs of this architecture is "
            "{architecture_error_percent:number} %: expect this prediction to be off by as much",
            gravity="range",
        )
