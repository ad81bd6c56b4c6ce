"""The times that the built-in formulas give for measured runs, of training and of forward passes."""

import numpy as np
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, formula_named
from trainlaw.app.models.multi_gpu import exchange_seconds
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.models.timed_parts import is_training
from trainlaw.datasets import RunTable


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
