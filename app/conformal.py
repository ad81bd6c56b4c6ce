"""Prediction intervals that hold for a new GPU: the unit of exchange is the group of runs, not the run."""

import numpy as np

LEVEL = 0.9  # share of runs on a new GPU that the interval is to contain


def interval_factor(measured: np.ndarray, predicted: np.ndarray, groups: np.ndarray, level: float = LEVEL) -> float | None:
    """The factor f for which a run of a new group lies in [prediction / f, prediction * f] with the given probability.

    measured, predicted : seconds, shape (n_runs,), each predicted by a formula that did not see its group
    groups : labels, shape (n_runs,); level : probability, between 0 and 1.
    Returns the factor, at least 1, or None where the groups are too few for this level.

    Every group weighs the same, and one more group with unknown residuals is added: CDF pooling of
    Dunn, Wasserman and Ramdas, "Distribution-free prediction sets for two-layer hierarchical models", 2022, section 2.2.

    >>> ones = np.ones(40)
    >>> interval_factor(ones, np.full(40, 1.25), np.repeat(np.arange(20), 2))
    1.25
    >>> interval_factor(ones[:4], ones[:4], np.arange(4)) is None
    True
    """
    usable = np.isfinite(predicted) & (predicted > 0)
    ratios = np.where(usable, np.abs(np.log(measured / np.where(usable, predicted, 1.0))), np.inf)
    _, position, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    weights = 1.0 / (sizes[position] * (len(sizes) + 1.0))
    order = np.argsort(ratios, kind="stable")
    reached = np.cumsum(weights[order]) >= level - 1e-12
    if not reached.any() or not np.isfinite(ratios[order][reached][0]):
        return None
    return round(float(np.exp(ratios[order][reached][0])), 12)


def coverage_percent(measured: np.ndarray, predicted: np.ndarray, groups: np.ndarray, level: float = LEVEL) -> float:
    """How often the interval holds on a group that it was not made from, mean over groups, in percent.

    Arguments as in `interval_factor`; each group's interval is made from the other groups' runs.
    Returns nan where no interval exists.
    """
    shares = []
    for group in np.unique(groups):
        inside = groups == group
        factor = interval_factor(measured[~inside], predicted[~inside], groups[~inside], level)
        if factor is not None:
            ratio = np.abs(np.log(measured[inside] / predicted[inside]))
            shares.append(np.mean(ratio <= np.log(factor)))
    return 100.0 * float(np.mean(shares)) if shares else float("nan")
