"""The phases of an iteration that measured times include."""

import numpy as np
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
