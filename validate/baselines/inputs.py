"""Shared parts of the baselines: columns by name, weights of rows, and rows drawn from large groups."""

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


def group_weights(groups: npt.ArrayLike) -> np.ndarray:
    """Return (number of rows in the run's group)^-0.35 with mean 1, shape (n_runs,).

    A power of 1 would weigh all GPUs alike, a power of 0 all runs alike: a GPU with many runs should not
    decide alone, yet more runs should count more.
    """
    _, inverse, sizes = np.unique(np.asarray(groups, dtype=str), return_inverse=True, return_counts=True)
    weights = sizes[inverse] ** -0.35
    return np.asarray(weights / weights.mean())


#: Together with the group, what a row counts for: how products are computed and how activations are stored.
CLASS_FEATURES = ("is_tensor_precision", "bytes_per_element")


def class_weights(X: pd.DataFrame) -> np.ndarray:
    """Return (number of rows in the run's class)^-0.35 with mean 1, shape (n_runs,).

    A class is a value of `CLASS_FEATURES`: one with many rows must not outvote the others.
    """
    classes = pd.MultiIndex.from_arrays(list(columns(X, CLASS_FEATURES, "weights by precision").T))
    return group_weights(pd.factorize(classes)[0])


def balanced_weights(X: pd.DataFrame, groups: npt.ArrayLike) -> np.ndarray:
    """Return weights (rows of the group)^-0.35 (rows of the class)^-0.35 with mean 1 per group, (n_runs,).

    Classes are those of `class_weights`. Raises as `check_columns`.
    """
    weights = group_weights(groups) * class_weights(X)
    n_groups = len(np.unique(np.asarray(groups, dtype=str)))
    return np.asarray(weights * (n_groups / weights.sum()))


def rows_drawn(groups: npt.ArrayLike, most: int = 400) -> np.ndarray:
    """Return the positions of all rows but those beyond `most` of a group, which are drawn with a fixed seed.

    A few GPUs have most runs of a table; with their weight, more of them would change a fit very little.
    """
    names, drawn = np.asarray(groups, dtype=str), []
    for name in np.unique(names):
        rows = np.flatnonzero(names == name)
        if len(rows) > most:
            rows = np.random.default_rng(0).choice(rows, most, replace=False)
        drawn.append(rows)
    return np.sort(np.concatenate(drawn))
