"""Calibration of a formula to one GPU from a few runs measured on it.

A factor on all times of the GPU, and how far compute times deviate from it in one direction and memory times
in the other, correct the nominal rates of this GPU. They are the maximum a posteriori estimate with a
log-normal prior at 1: with one measured run they move little, with many freely.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.validate.least_squares import Prior, robust_least_squares, with_numeric_slopes
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.result import StudyResult

Columns = Mapping[str, np.ndarray]

# Standard deviations: of the logarithms of the common factor and of the deviation from it among GPUs, and of
# ln(time) among the runs of one GPU around a good formula.
PRIOR_DEVIATION = 0.3
CONTRAST_DEVIATION = 0.1
NOISE_DEVIATION = 0.15


@dataclass(frozen=True)
class Calibration:
    """Factors on the compute, memory and launch times of one GPU; 1 is the nominal rate.

    Attributes
    ----------
    compute_factor, memory_factor, launch_factor : float
        Measured over nominal time.
    """

    compute_factor: float = 1.0
    memory_factor: float = 1.0
    launch_factor: float = 1.0

    def apply(self, columns: Columns) -> dict[str, np.ndarray]:
        """Return the features, each (n_runs,), at the effective rates of this GPU.

        Compute and memory times are multiplied, rates divided, ratios of rates changed accordingly.
        """
        return {
            name: np.asarray(values, dtype=float) * self._factor(name) for name, values in columns.items()
        }

    def _factor(self, name: str) -> float:
        if name.endswith("flop_per_s") or name == "matrix_number":
            return 1.0 / self.compute_factor
        factors = {
            "_compute_s": self.compute_factor,
            "_matrix_s": self.compute_factor,
            "_simt_s": self.compute_factor,
            "_memory_s": self.memory_factor,
            "_cached_s": self.memory_factor,
            "_launch_s": self.launch_factor,
            "_kernel_s": self.launch_factor,
            "bandwidth_byte_per_s": 1.0 / self.memory_factor,
            "ridge_flop_per_byte": self.memory_factor / self.compute_factor,
            # Arithmetic intensity over the ridge point.
            "intensity_ratio": self.compute_factor / self.memory_factor,
        }
        return next((factor for ending, factor in factors.items() if name.endswith(ending)), 1.0)


def calibrate(
    predict: Callable[[Columns], np.ndarray], columns: Columns, seconds: npt.ArrayLike
) -> Calibration:
    """Return the calibration from runs measured on one GPU.

    Parameters
    ----------
    predict : callable
        From features by name, each (n_runs,), to seconds, (n_runs,); such as `Formula.predict`.
    columns : mapping of str to ndarray, shape (n_runs,)
        Features of the runs.
    seconds : array_like, shape (n_runs,)
        Measured times.

    Returns
    -------
    Calibration
        Factors for compute and memory times.

    Raises
    ------
    InputError
        If `predict` returns a time that is not finite and positive.
    """
    log_seconds = np.log(np.asarray(seconds, dtype=float))

    def values(logs: np.ndarray) -> np.ndarray:
        predicted = predict(_calibration(logs).apply(columns))
        residuals: np.ndarray = (np.log(predicted) - log_seconds) / NOISE_DEVIATION
        return residuals

    with np.errstate(all="ignore"):
        if not np.isfinite(values(np.zeros(2))).all():
            raise InputError("calibration: the formula has no finite, positive time for a measured run")
    prior = Prior(np.zeros(2), np.array([PRIOR_DEVIATION, CONTRAST_DEVIATION]))
    # Two factors that are known to a few percent at best do not need ten digits.
    fitted = robust_least_squares(with_numeric_slopes(values), np.zeros(2), prior=prior, tolerance=1e-6)
    return _calibration(fitted.parameters)


def _calibration(logs: np.ndarray) -> Calibration:
    """Return the factors of the logarithms of the common factor and of the deviation from it, (2,)."""
    common, contrast = (float(log) for log in logs)
    return Calibration(
        float(np.exp(common + contrast)), float(np.exp(common - contrast)), float(np.exp(common))
    )


def anchor_errors(
    result: StudyResult,
    estimator: str,
    X: pd.DataFrame,
    *,
    n_anchors: Sequence[int] = (0, 1, 3, 5),
    draws: int = 25,
    seed: int = 0,
    by: str = "gpu_group",
) -> pd.DataFrame:
    """Return the held-out error after calibration with a few runs of the held-out GPU.

    For each held-out group, each of its precisions and number k of anchors, k random rows calibrate the
    formula of the split, which is then evaluated on the other rows; the mean over `draws`. A precision with
    at most k rows is omitted for that k. Columns `n_anchors`, `split`, `group`, `n_rows`, `mape_percent`.

    result : a study whose splits hold out whole groups of the label `by`. estimator : one whose fits are
    formulas; InputError otherwise. X : the features of that study, shape (n_runs, n_features).
    """
    rows: list[tuple[int, str, str, int, float]] = []
    keys = ["split", by, *(["precision"] if "precision" in result.predictions else [])]
    for (split, group, *_), part in result.predictions.groupby(keys, sort=False):
        formula, columns, measured = held_out_part(result, estimator, X, str(split), part)
        for count in n_anchors:
            if count < len(measured):
                random = np.random.default_rng([seed, count, len(rows)])
                errors = [
                    _error_after(formula, columns, measured, random.permutation(len(measured)), count)
                    for _ in range(draws if count else 1)
                ]
                rows.append((count, str(split), str(group), len(measured), float(np.mean(errors))))
    return pd.DataFrame(rows, columns=["n_anchors", "split", "group", "n_rows", "mape_percent"])


def held_out_part(
    result: StudyResult, estimator: str, X: pd.DataFrame, split: str, part: pd.DataFrame
) -> tuple[Formula, Columns, np.ndarray]:
    """Return the formula of `split`, and features by name and measured seconds, each (n_rows,), of `part`.

    part : rows of `result.predictions`. InputError if the estimator has no formula for the split.
    """
    if (split, estimator) not in result.formulas:
        raise InputError(f"estimator {estimator!r} has no formula of split {split!r} to calibrate")
    formula = result.formulas[split, estimator]
    features = X.iloc[part["row"].to_numpy(dtype=np.int64)]
    columns = {spec.name: features[spec.name].to_numpy(dtype=float) for spec in formula.used_features}
    return formula, columns, part["measured_s"].to_numpy(dtype=float)


def _error_after(
    formula: Formula, columns: Columns, measured: np.ndarray, order: np.ndarray, count: int
) -> float:
    """Return the MAPE, percent, of the rows after the first `count` of `order`, which calibrate."""
    anchors, others = order[:count], order[count:]
    calibration = Calibration()
    if count:
        known = {name: values[anchors] for name, values in columns.items()}
        calibration = calibrate(formula.predict, known, measured[anchors])
    unknown = calibration.apply({name: values[others] for name, values in columns.items()})
    return mape_percent(measured[others], formula.predict(unknown))
