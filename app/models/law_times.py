"""The phases that measured times include, and the times that the built-in formulas give for them."""

import numpy as np
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, formula_named
from trainlaw.app.models.multi_gpu import exchange_seconds
from trainlaw.app.models.scopes import formula_rows
from trainlaw.datasets import RunTable
from trainlaw.formulas import InputError


def is_training(runs: RunTable) -> np.ndarray:
    """Return whether each time contains the backward pass, bool, (n_runs,)."""
    return runs.joined.looked_up("timed_parts", lambda parts: "backward" in parts) > 0


def check_timed_parts(runs: RunTable, forward: bool = False) -> None:
    """Raise InputError for times of the forward pass alone, or (forward) for times of anything else."""
    fit = is_training(runs) != forward
    if not fit.all():
        row = int(np.argmin(fit))
        wanted, others = ("forward passes", "with") if forward else ("training iterations", "without")
        raise InputError(
            f"{runs.name}: expected times of {wanted}, got timed_parts "
            f"{runs.frame['timed_parts'].iloc[row]} in row {row + 1}; leave out runs {others} a backward pass"
        )


def law_seconds(runs: RunTable) -> np.ndarray:
    """Return the iteration times that the built-in formula gives, in s, (n_runs,); nan where it has none."""
    single = single_gpu_law_seconds(runs)
    law = BUILT_IN_FORMULAS["built-in"]()
    return np.asarray(single + exchange_seconds(law, runs, formula_named("multi"), single))


def single_gpu_law_seconds(runs: RunTable) -> np.ndarray:
    """Return the times on one GPU that the built-in formulas give, in s, (n_runs,)."""
    law = BUILT_IN_FORMULAS["built-in"]()
    seconds = formula_rows(law, runs).predict(law)
    trains = is_training(runs)
    if trains.all():
        return seconds
    forward = BUILT_IN_FORMULAS["forward"]()
    return np.where(trains, seconds, formula_rows(forward, runs).predict(forward))
