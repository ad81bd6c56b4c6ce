"""Bootstrap intervals that resample whole groups, because the errors of one GPU's runs are correlated.

Cluster bootstrap, percentile interval (Efron, Tibshirani, "An introduction to the bootstrap", 1993).
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
from trainlaw.formulas.errors import InputError


def drawn_rows(groups: npt.ArrayLike, resamples: int, seed: int) -> list[np.ndarray]:
    """Return `resamples` arrays of row positions: as many groups as there are, with replacement."""
    labels = np.asarray(groups, dtype=str)
    # All draws at once, so that the same seed gives the same resamples for any statistic.
    rows = [np.flatnonzero(labels == name) for name in np.unique(labels)]
    draws = np.random.default_rng(seed).integers(len(rows), size=(resamples, len(rows)))
    return [np.concatenate([rows[index] for index in draw]) for draw in draws]


def bootstrap_interval(
    statistic: Callable[[np.ndarray], float],
    groups: npt.ArrayLike,
    level: float = 0.9,
    resamples: int = 500,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the central interval of a statistic when whole groups are resampled.

    Parameters
    ----------
    statistic : callable
        Function of row positions, int64, shape (n_drawn,), such as a metric of these rows.
    groups : array_like, shape (n_runs,)
        Group label of each row.
    level : float
        Probability content of the interval, between 0 and 1.
    resamples : int
        Number of bootstrap samples.
    seed : int
        Seed of the random draws.

    Returns
    -------
    tuple of float
        Low and high end; (nan, nan) for a single group, which cannot be resampled.

    Raises
    ------
    InputError
        If `level` is not between 0 and 1.

    Examples
    --------
    >>> errors = np.array([1.0, 1.0, 3.0])
    >>> bootstrap_interval(lambda rows: errors[rows].mean(), ["T4", "T4", "V100"])
    (1.0, 3.0)
    """
    if not 0 < level < 1:
        raise InputError(f"expected a level between 0 and 1, got {level}")
    if len(set(np.asarray(groups, dtype=str).tolist())) < 2:
        return float("nan"), float("nan")
    return central_interval([statistic(rows) for rows in drawn_rows(groups, resamples, seed)], level)


def central_interval(values: list[float], level: float) -> tuple[float, float]:
    """Return the central interval of the values of a statistic; (nan, nan) without a finite one."""
    # A resample may leave a statistic undefined, such as a correlation of equal values; it is ignored.
    if not np.isfinite(values).any():
        return float("nan"), float("nan")
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def mean_interval(
    values: Iterable[float], level: float = 0.9, resamples: int = 500, seed: int = 0
) -> tuple[float, float, float]:
    """Return the mean of one value per group, and the low and high end of its bootstrap interval.

    >>> mean_interval([1.0, 1.0])
    (1.0, 1.0, 1.0)
    """
    table = np.array(list(values), dtype=float)
    low, high = bootstrap_interval(lambda rows: table[rows].mean(), range(len(table)), level, resamples, seed)
    return float(table.mean()), low, high


def pair_interval(
    pairs: npt.ArrayLike, values: npt.ArrayLike, level: float = 0.9, resamples: int = 500, seed: int = 0
) -> tuple[float, float, float]:
    """Return the mean of one value per pair of groups, and the low and high end of its bootstrap interval.

    pairs : the two labels of each pair, shape (n_pairs, 2); values : (n_pairs,). Groups are resampled; a pair
    counts as often as the product of the counts of its groups. (nan, nan, nan) without a pair.

    >>> pair_interval([("A", "B")], [1.0])
    (1.0, 1.0, 1.0)
    """
    table = np.asarray(values, dtype=float)
    if not len(table):
        return float("nan"), float("nan"), float("nan")
    # A pair is not independent of other pairs of its groups, so groups are drawn, not pairs.
    names, codes = np.unique(np.asarray(pairs, dtype=str), return_inverse=True)
    first, second = codes.reshape(len(table), 2).T

    def mean(drawn: np.ndarray) -> float:
        counts = np.bincount(drawn, minlength=len(names))
        weights = counts[first] * counts[second]
        return float(weights @ table / weights.sum()) if weights.any() else float("nan")

    return float(table.mean()), *bootstrap_interval(mean, names, level, resamples, seed)
