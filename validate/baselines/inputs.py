"""What the baselines share: columns by name and group weights."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.formulas.errors import InputError


def columns(X: pd.DataFrame, names: Sequence[str], user: str) -> np.ndarray:
    """Return the named columns of `X`, float64, shape (n_runs, len(names)); raises as `check_columns`."""
    check_columns(X, names, user)
    # A copy, because callers change columns in place.
    return X[list(names)].to_numpy(dtype=float, copy=True)


def check_columns(X: pd.DataFrame, names: Sequence[str], user: str) -> None:
    """Raise InputError for columns that `user` needs and `X` does not have."""
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise InputError(
            f"{user} needs the features {', '.join(missing)}, which are not among the {X.shape[1]} given"
        )


def group_weights(groups: npt.ArrayLike, power: float = 0.35) -> np.ndarray:
    """Return (number of rows in the run's group)^-power with mean 1, shape (n_runs,).

    A power of 1 would weigh all GPUs alike, a power of 0 all runs alike: a GPU with many runs should not
    decide alone, yet more runs should count more.
    """
    _, inverse, sizes = np.unique(np.asarray(groups, dtype=str), return_inverse=True, return_counts=True)
    weights = sizes[inverse] ** -float(power)
    return np.asarray(weights / weights.mean())
