"""The stated error of a formula in a sentence, and the gain of its search over no and random search."""

import math

from trainlaw.app.models.calibration import DOUBT, calibration_of
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.formulas import Formula
from trainlaw.validate.baselines import CONTROLS, title_of
from trainlaw.validate.bootstrap import mean_interval
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.error_table import BY_GPU
from trainlaw.validate.formula_errors import CarriedErrors, held_out_kind, overall_error
from trainlaw.validate.formula_intervals import interval_of
from trainlaw.validate.result import OURS


def headline(formula: Formula) -> str:
    """Return one sentence with the stated error and the interval; what a calibrated formula was made of."""
    known = calibration_of(formula)
    if known is not None:
        left_out = known["error_left_out_percent"]
        error = f"; {show_percent(left_out)} % on its own runs" if left_out is not None else ""
        doubt = f"; doubtful: {known[DOUBT]}" if known.get(DOUBT) else ""
        return f"calibrated to {', '.join(known['gpus'])}, runs: {known['runs']}{error}{doubt}"
    factor, kind = interval_of(formula), held_out_kind(formula)
    within = f"within a factor of {show_number(factor)}" if factor else ""
    interval = f"; {100 * LEVEL:g} % of the runs on a new {kind} are expected {within}" if factor else ""
    error = show_percent(overall_error(formula, OURS))
    groups = "held-out GPU groups" if kind == "GPU" else f"GPU groups, on held-out {kind}s"
    return f"stated error: {error} %, mean over {groups}{interval}"


def evolution_gains(errors: CarriedErrors) -> dict[str, tuple[float, float, float]]:
    """Return what the search adds to each of its controls, in points: mean over GPU groups and interval."""
    found = {}
    for name in (name for name in CONTROLS if name in errors.estimators):
        gains = [line.errors[name] - line.errors[OURS] for line in errors.lines[BY_GPU]]
        known = [gain for gain in gains if math.isfinite(gain)]
        if known:
            found[name] = mean_interval(known, LEVEL)
    return found


def evolution_sentence(errors: CarriedErrors) -> str:
    """Return the lead over the controls, with the interval over GPU groups; "" without controls."""
    added = []
    for name, numbers in evolution_gains(errors).items():
        points, *ends = (f"{number:+z.1f}" for number in numbers)
        error = show_percent(errors.overall[name])
        added.append(f"{points} points ({' to '.join(ends)}) over {title_of(name)}, which has {error} %")
    level = f"{100 * LEVEL:.0f} % interval over GPU groups"
    return f"Lead over the controls, with the {level}: {'; '.join(added)}." if added else ""
