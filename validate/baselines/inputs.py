"""What the baselines share: columns by name, weights of groups."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError


def columns(X: pd.DataFrame, names: Sequence[str], who: str) -> np.ndarray:
    """Return the named columns of `X`, float64, shape (n_runs, len(names)); `who` asks for them.

    InputError that names the columns that are missing.
    """
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise InputError(
            f"{who} needs the features {', '.join(missing)}, which are not among the {X.shape[1]} given"
        )
    return X[list(names)].to_numpy(dtype=float, copy=True)


def group_weights(groups: Sequence[object], power: float = 0.35) -> np.ndarray:
    """Return (rows of the run's group)^-power with mean 1, shape (n_runs,).

    One GPU with many runs should not decide alone, yet more runs should count more.
    """
    _, inverse, sizes = np.unique(np.asarray(groups, dtype=str), return_inverse=True, return_counts=True)
    weights = sizes[inverse] ** -float(power)
    return weights / weights.mean()
