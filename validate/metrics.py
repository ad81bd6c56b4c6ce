"""Error metrics: functions of measured and predicted seconds.

A prediction that is not finite and positive counts as zero seconds: 100 % error, outside every band. To drop
such rows would flatter an estimator that fails on the hard ones; `invalid_rows` counts them. Metrics that
need a logarithm or an order (bias, Spearman, choice of GPU) use the valid rows only.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.formulas.errors import InputError

#: Measured and predicted seconds, each (n_runs,), to one figure.
Metric = Callable[[npt.ArrayLike, npt.ArrayLike], float]


def _checked(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    measured, predicted = np.asarray(measured_s, dtype=float), np.asarray(predicted_s, dtype=float)
    if measured.shape != predicted.shape or measured.ndim != 1:
        raise InputError(
            f"expected as many predicted as measured times, got {predicted.shape} and {measured.shape}"
        )
    if not (np.isfinite(measured) & (measured > 0)).all():
        raise InputError("measured times must be finite and positive seconds")
    return measured, np.where(np.isfinite(predicted) & (predicted > 0), predicted, 0.0)


def absolute_percentage_errors(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> np.ndarray:
    """Return 100 |predicted / measured - 1| of each row, percent, shape (n_runs,), from seconds.

    Raises InputError where the shapes differ or a measured time is not finite and positive.

    >>> absolute_percentage_errors([1.0, 2.0], [1.5, float("nan")]).tolist()
    [50.0, 100.0]
    """
    measured, predicted = _checked(measured_s, predicted_s)
    errors: np.ndarray = 100.0 * np.abs(predicted / measured - 1.0)
    return errors


def mape_percent(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> float:
    """Return the mean absolute percentage error, percent."""
    return float(absolute_percentage_errors(measured_s, predicted_s).mean())


def median_ape_percent(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> float:
    """Return the median absolute percentage error, percent."""
    return float(np.median(absolute_percentage_errors(measured_s, predicted_s)))


def share_within_percent(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike, band_percent: float) -> float:
    """Return the percentage of rows whose absolute percentage error is at most `band_percent`."""
    return float(100.0 * (absolute_percentage_errors(measured_s, predicted_s) <= band_percent).mean())


def invalid_rows(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> float:
    """Return the number of rows without a finite, positive prediction."""
    return float((_checked(measured_s, predicted_s)[1] == 0).sum())


def log_bias(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> float:
    """Return the mean of ln(predicted / measured) over valid rows; positive if predictions are too slow."""
    measured, predicted = _checked(measured_s, predicted_s)
    valid = predicted > 0
    return float(np.log(predicted[valid] / measured[valid]).mean()) if valid.any() else float("nan")


def rmse_s(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> float:
    """Return the root of the mean squared error, seconds."""
    measured, predicted = _checked(measured_s, predicted_s)
    return float(np.sqrt(np.mean((predicted - measured) ** 2)))


def spearman(measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike) -> float:
    """Return Spearman's rank correlation over valid rows (mean ranks for ties); nan if either is constant.

    >>> round(spearman([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 40.0, 30.0]), 9)
    0.8
    """
    measured, predicted = _checked(measured_s, predicted_s)
    one, other = (_ranks(values[predicted > 0]) for values in (measured, predicted))
    # Not by products of vectors, for which linear algebra would start its threads.
    spread = math.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum()) / spread if spread else float("nan")


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each value less the mean rank, (n_values,); ties share their mean."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = np.cumsum(counts) - (counts + len(values)) / 2.0
    return ranks[places]


def gpu_pairs(
    measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike, gpus: npt.ArrayLike, configurations: npt.ArrayLike
) -> pd.DataFrame:
    """Return every pair of GPUs that ran the same configuration: `first`, `second`, and `picked`.

    configurations : one label per row, equal for the same CNN, batch, precision and harness. Repeats are
    merged by their geometric mean. `picked` is 1 if the faster GPU was predicted to be faster, 0.5 for a
    predicted tie, 0 for a wrong or invalid prediction. Pairs that were measured equally fast are omitted.
    """
    measured, predicted = _checked(measured_s, predicted_s)
    # A nan makes every comparison false, so an invalid prediction is a wrong choice.
    predicted = np.where(predicted > 0, predicted, np.nan)
    keys = pd.DataFrame({"work": np.asarray(configurations, dtype=str), "gpu": np.asarray(gpus, dtype=str)})
    codes = keys.groupby(["work", "gpu"]).ngroup().to_numpy()
    merged = keys.drop_duplicates().sort_values(["work", "gpu"], ignore_index=True)
    sizes = np.bincount(codes)
    # Sums by bincount keep a nan, which the means of pandas would skip.
    merged["measured"] = np.bincount(codes, np.log(measured)) / sizes
    merged["predicted"] = np.bincount(codes, np.log(predicted)) / sizes
    pairs = merged.merge(merged, on="work", suffixes=("", "_other"))
    pairs = pairs[(pairs["gpu"] < pairs["gpu_other"]) & (pairs["measured"] != pairs["measured_other"])]
    true = np.sign(pairs["measured"] - pairs["measured_other"])
    guess = np.sign(pairs["predicted"] - pairs["predicted_other"])
    picked = np.where(guess == true, 1.0, np.where(guess == 0, 0.5, 0.0))
    return pd.DataFrame({"first": pairs["gpu"], "second": pairs["gpu_other"], "picked": picked})


def faster_gpu_percent(
    measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike, gpus: npt.ArrayLike, configurations: npt.ArrayLike
) -> float:
    """Return how often the faster of two GPUs is picked, percent: the choice that a user has to make.

    Arguments as for `gpu_pairs`; nan if no configuration ran on two GPUs.

    >>> round(faster_gpu_percent([1.0, 2.0, 4.0], [1.0, 3.0, 2.0], ["A100", "T4", "K80"], ["r50"] * 3), 6)
    66.666667
    """
    picked = gpu_pairs(measured_s, predicted_s, gpus, configurations)["picked"]
    return 100.0 * float(picked.mean()) if len(picked) else float("nan")


def by_group(
    metric: Metric, measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike, groups: npt.ArrayLike
) -> dict[str, float]:
    """Return `metric` of the rows of each group, by label in order; `groups` has shape (n_runs,)."""
    measured, predicted = np.asarray(measured_s, dtype=float), np.asarray(predicted_s, dtype=float)
    labels = np.asarray(groups, dtype=str)
    if labels.shape != measured.shape:
        raise InputError(f"expected one group label per run, got {labels.shape} for {measured.shape}")
    return {
        str(name): metric(measured[labels == name], predicted[labels == name]) for name in np.unique(labels)
    }


def macro(
    metric: Metric, measured_s: npt.ArrayLike, predicted_s: npt.ArrayLike, groups: npt.ArrayLike
) -> float:
    """Return the mean of `metric` over groups: each group counts once, whatever its number of runs.

    >>> macro(mape_percent, [1.0, 1.0, 1.0], [1.0, 1.5, 1.75], ["T4", "T4", "V100"])
    50.0
    """
    return float(np.nanmean(list(by_group(metric, measured_s, predicted_s, groups).values())))


#: Metrics of every error table, by column name; the name contains the unit.
METRICS: Mapping[str, Metric] = {
    "mape_percent": mape_percent,
    "median_ape_percent": median_ape_percent,
    "within_10_percent": partial(share_within_percent, band_percent=10.0),
    "within_25_percent": partial(share_within_percent, band_percent=25.0),
    "within_50_percent": partial(share_within_percent, band_percent=50.0),
    "log_bias": log_bias,
    "rmse_s": rmse_s,
    "spearman": spearman,
    "invalid_rows": invalid_rows,
}
