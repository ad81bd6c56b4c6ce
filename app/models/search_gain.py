"""Gain of the search of a formula over its controls: no search, and random search."""

import math

from trainlaw.app.text.numbers import show_percent
from trainlaw.validate.baselines import CONTROLS, title_of
from trainlaw.validate.bootstrap import mean_interval
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.error_table import BY_GPU
from trainlaw.validate.formula_errors import CarriedErrors
from trainlaw.validate.result import OURS


def evolution_gains(errors: CarriedErrors) -> dict[str, tuple[float, float, float]]:
    """Return what the search adds to each of its controls, in points: mean over GPU groups and interval."""
    found = {}
    for name in (name for name in CONTROLS if name in errors.estimators):
        gains = [line.errors[name] - line.errors[OURS] for line in errors.lines[BY_GPU]]
        known = [gain for gain in gains if math.isfinite(gain)]
        if known:
            found[name] = mean_interval(known, LEVEL)
    return found


def signed_points(value: float) -> str:
    """Return a difference of percentages to a tenth, with its sign.

    >>> signed_points(-0.04)
    '+0.0'
    """
    # Adding 0.0 makes a rounded -0.0 positive.
    return f"{round(value, 1) + 0.0:+.1f}"


def uncertain_gains(errors: CarriedErrors) -> tuple[str, ...]:
    """Return the controls over which the interval of what the search adds, to a tenth, is not above 0."""
    return tuple(name for name, (_, low, _) in evolution_gains(errors).items() if round(low, 1) <= 0)


def evolution_sentence(errors: CarriedErrors) -> str:
    """Return what the search adds to its controls, with the interval over GPU groups; "" without controls."""
    added = []
    for name, numbers in evolution_gains(errors).items():
        points, *ends = map(signed_points, numbers)
        error = show_percent(errors.overall[name])
        added.append(f"{points} points ({' to '.join(ends)}) over {title_of(name)}, which has {error} %")
    level = f"{100 * LEVEL:.0f} % interval over GPU groups"
    return f"Evolution adds, with the {level}: {'; '.join(added)}." if added else ""
