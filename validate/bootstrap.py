"""Bootstrap intervals in which whole groups are drawn, since rows of one GPU err together.

Method: cluster bootstrap, percentile interval (Efron and Tibshirani, An Introduction to the Bootstrap, 1993).
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from trainlaw.formulas.errors import InputError


def drawn_rows(groups: Sequence[object], resamples: int, seed: int) -> list[np.ndarray]:
    """Return `resamples` arrays of row positions: as many groups as there are, with replacement."""
    labels = np.asarray(groups, dtype=str)
    rows = [np.flatnonzero(labels == name) for name in np.unique(labels)]
    draws = np.random.default_rng(seed).integers(len(rows), size=(resamples, len(rows)))
    return [np.concatenate([rows[index] for index in draw]) for draw in draws]


def bootstrap_interval(
    statistic: Callable[[np.ndarray], float],
    groups: Sequence[object],
    level: float = 0.9,
    resamples: int = 500,
    seed: int = 0,
) -> tuple[float, float]:
    """Return low and high of the central `level` interval of `statistic` when groups are drawn anew.

    statistic : function of row positions, int64, shape (n_drawn,), for example a metric of these rows.
    groups : labels, shape (n_runs,). With one group there is nothing to draw: (nan, nan).

    >>> errors = np.array([1.0, 1.0, 3.0])
    >>> bootstrap_interval(lambda rows: errors[rows].mean(), ["T4", "T4", "V100"])
    (1.0, 3.0)
    """
    if not 0 < level < 1:
        raise InputError(f"expected a level between 0 and 1, got {level}")
    if len(set(np.asarray(groups, dtype=str).tolist())) < 2:
        return float("nan"), float("nan")
    values = [statistic(rows) for rows in drawn_rows(groups, resamples, seed)]
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def mean_interval(
    values: Iterable[float], level: float = 0.9, resamples: int = 500, seed: int = 0
) -> tuple[float, float, float]:
    """Return the mean of one value per group, and low and high of its bootstrap interval.

    >>> mean_interval([1.0, 1.0])
    (1.0, 1.0, 1.0)
    """
    table = np.array(list(values), dtype=float)
    low, high = bootstrap_interval(lambda rows: table[rows].mean(), range(len(table)), level, resamples, seed)
    return float(table.mean()), low, high


def pair_interval(
    pairs: Sequence[tuple[str, str]],
    values: Sequence[float],
    level: float = 0.9,
    resamples: int = 500,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Return the mean of `values`, one per pair of groups, and low and high of its bootstrap interval.

    pairs : the two labels of each pair, shape (n_pairs, 2). Groups are drawn anew; a pair counts as often as
    both of its groups were drawn. (nan, nan, nan) without a pair.

    >>> pair_interval([("A", "B")], [1.0])
    (1.0, 1.0, 1.0)
    """
    table = np.asarray(values, dtype=float)
    if not len(table):
        return float("nan"), float("nan"), float("nan")
    names, codes = np.unique(np.asarray(pairs, dtype=str), return_inverse=True)
    first, second = codes.reshape(len(table), 2).T

    def mean(drawn: np.ndarray) -> float:
        counts = np.bincount(drawn, minlength=len(names))
        weights = counts[first] * counts[second]
        return float(weights @ table / weights.sum()) if weights.any() else float("nan")

    return float(table.mean()), *bootstrap_interval(mean, names, level, resamples, seed)
