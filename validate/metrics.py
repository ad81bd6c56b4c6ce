"""How wrong predicted seconds are: functions of measured and predicted times.

A prediction that is not finite or not positive counts as a prediction of zero seconds: 100 % error, outside
every band. Leaving such rows out would flatter the estimator that fails on the hard ones; `invalid_rows`
counts them. Only what needs a logarithm or an order (bias, Spearman, ranking of GPUs) is taken over the valid
rows.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError

Metric = Callable[[np.ndarray, np.ndarray], float]


def _checked(measured_s: Sequence[float], predicted_s: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    measured, predicted = np.asarray(measured_s, dtype=float), np.asarray(predicted_s, dtype=float)
    if measured.shape != predicted.shape or measured.ndim != 1:
        raise InputError(
            f"expected as many predicted as measured times, got {predicted.shape} and {measured.shape}"
        )
    if not (np.isfinite(measured) & (measured > 0)).all():
        raise InputError("measured times must be finite and positive seconds")
    return measured, np.where(np.isfinite(predicted) & (predicted > 0), predicted, 0.0)


def absolute_percentage_errors(measured_s: Sequence[float], predicted_s: Sequence[float]) -> np.ndarray:
    """Return 100 |predicted / measured - 1| of each row, percent, shape (n_runs,).

    InputError for unequal shapes or measured times that are not positive.

    >>> absolute_percentage_errors([1.0, 2.0], [1.5, float("nan")]).tolist()
    [50.0, 100.0]
    """
    measured, predicted = _checked(measured_s, predicted_s)
    return 100.0 * np.abs(predicted / measured - 1.0)


def mape_percent(measured_s: Sequence[float], predicted_s: Sequence[float]) -> float:
    """Return the mean absolute percentage error, percent."""
    return float(absolute_percentage_errors(measured_s, predicted_s).mean())


def median_ape_percent(measured_s: Sequence[float], predicted_s: Sequence[float]) -> float:
    """Return the median absolute percentage error, percent."""
    return float(np.median(absolute_percentage_errors(measured_s, predicted_s)))


def share_within_percent(
    measured_s: Sequence[float], predicted_s: Sequence[float], band_percent: float
) -> float:
    """Return the share of rows, percent, whose absolute percentage error is at most `band_percent`."""
    return float(100.0 * (absolute_percentage_errors(measured_s, predicted_s) <= band_percent).mean())


def _within_10_percent(measured_s: np.ndarray, predicted_s: np.ndarray) -> float:
    return share_within_percent(measured_s, predicted_s, 10.0)


def _within_25_percent(measured_s: np.ndarray, predicted_s: np.ndarray) -> float:
    return share_within_percent(measured_s, predicted_s, 25.0)


def _within_50_percent(measured_s: np.ndarray, predicted_s: np.ndarray) -> float:
    return share_within_percent(measured_s, predicted_s, 50.0)


def invalid_rows(measured_s: Sequence[float], predicted_s: Sequence[float]) -> float:
    """Return the number of rows without a finite, positive prediction."""
    return float((_checked(measured_s, predicted_s)[1] == 0).sum())


def log_bias(measured_s: Sequence[float], predicted_s: Sequence[float]) -> float:
    """Return the mean of ln(predicted / measured) over valid rows, positive for too slow; nan without one."""
    measured, predicted = _checked(measured_s, predicted_s)
    valid = predicted > 0
    return float(np.log(predicted[valid] / measured[valid]).mean()) if valid.any() else float("nan")


def rmse_s(measured_s: Sequence[float], predicted_s: Sequence[float]) -> float:
    """Return the root of the mean squared error, seconds."""
    measured, predicted = _checked(measured_s, predicted_s)
    return float(np.sqrt(np.mean((predicted - measured) ** 2)))


def spearman(measured_s: Sequence[float], predicted_s: Sequence[float]) -> float:
    """Return Spearman's rank correlation over valid rows (mean ranks for ties); nan where either is constant.

    >>> round(spearman([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 40.0, 30.0]), 9)
    0.8
    """
    measured, predicted = _checked(measured_s, predicted_s)
    valid = predicted > 0
    ranks = [pd.Series(values[valid]).rank().to_numpy() for values in (measured, predicted)]
    centred = [rank - rank.mean() for rank in ranks if len(rank)]
    if len(centred) < 2 or not (centred[0].any() and centred[1].any()):
        return float("nan")
    return float(centred[0] @ centred[1] / np.sqrt((centred[0] @ centred[0]) * (centred[1] @ centred[1])))


def gpu_pairs(
    measured_s: Sequence[float],
    predicted_s: Sequence[float],
    gpus: Sequence[object],
    configurations: Sequence[object],
) -> pd.DataFrame:
    """Return every pair of GPUs that ran the same configuration: `first`, `second`, and `picked`.

    configurations : one label per row, equal for the same CNN, batch, precision and harness. Repeats are
    merged by their geometric mean. `picked` is 1 where the faster GPU was predicted to be faster, 0.5 for a
    predicted tie, 0 for a wrong or an invalid prediction. Pairs that were measured equally fast are left out.
    """
    measured, predicted = _checked(measured_s, predicted_s)
    # A nan makes every comparison false, so that an invalid prediction is a wrong pick.
    predicted = np.where(predicted > 0, predicted, np.nan)
    keys = pd.DataFrame({"work": np.asarray(configurations, dtype=str), "gpu": np.asarray(gpus, dtype=str)})
    codes = keys.groupby(["work", "gpu"]).ngroup().to_numpy()
    merged = keys.drop_duplicates().sort_values(["work", "gpu"], ignore_index=True)
    sizes = np.bincount(codes)
    # Sums by bincount keep a nan, which pandas' means would drop.
    merged["measured"] = np.bincount(codes, np.log(measured)) / sizes
    merged["predicted"] = np.bincount(codes, np.log(predicted)) / sizes
    pairs = merged.merge(merged, on="work", suffixes=("", "_other"))
    pairs = pairs[(pairs["gpu"] < pairs["gpu_other"]) & (pairs["measured"] != pairs["measured_other"])]
    true = np.sign(pairs["measured"] - pairs["measured_other"])
    guess = np.sign(pairs["predicted"] - pairs["predicted_other"])
    picked = np.where(guess == true, 1.0, np.where(guess == 0, 0.5, 0.0))
    return pd.DataFrame({"first": pairs["gpu"], "second": pairs["gpu_other"], "picked": picked})


def faster_gpu_percent(
    measured_s: Sequence[float],
    predicted_s: Sequence[float],
    gpus: Sequence[object],
    configurations: Sequence[object],
) -> float:
    """Return how often the faster of two GPUs is picked, percent: the decision that a person takes.

    Arguments as for `gpu_pairs`; nan where no configuration ran on two GPUs.

    >>> round(faster_gpu_percent([1.0, 2.0, 4.0], [1.0, 3.0, 2.0], ["A100", "T4", "K80"], ["r50"] * 3), 6)
    66.666667
    """
    picked = gpu_pairs(measured_s, predicted_s, gpus, configurations)["picked"]
    return 100.0 * float(picked.mean()) if len(picked) else float("nan")


def by_group(
    metric: Metric, measured_s: Sequence[float], predicted_s: Sequence[float], groups: Sequence[object]
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
    metric: Metric, measured_s: Sequence[float], predicted_s: Sequence[float], groups: Sequence[object]
) -> float:
    """Return the mean over groups of `metric`: each group counts once, however many runs it has.

    >>> macro(mape_percent, [1.0, 1.0, 1.0], [1.0, 1.5, 1.75], ["T4", "T4", "V100"])
    50.0
    """
    return float(np.nanmean(list(by_group(metric, measured_s, predicted_s, groups).values())))


#: Metrics of every error table, by column name; the name carries the unit.
METRICS: Mapping[str, Metric] = {
    "mape_percent": mape_percent,
    "median_ape_percent": median_ape_percent,
    "within_10_percent": _within_10_percent,
    "within_25_percent": _within_25_percent,
    "within_50_percent": _within_50_percent,
    "log_bias": log_bias,
    "rmse_s": rmse_s,
    "spearman": spearman,
    "invalid_rows": invalid_rows,
}
