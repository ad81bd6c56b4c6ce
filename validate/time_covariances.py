"""Covariances of the factors on a formula's times between sets of runs: the prior of a calibration."""

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas.formula import Formula
from trainlaw.validate.time_factors import STACK_FEATURES, calibrated_times

# Deviations (ln) that are expected before any set is seen: of the factor on the whole time, of that on a
# single time, of that of a stack; they count as much as this number of sets. With 4 instead of 10 the errors
# after calibration differ by less than 0.1 points.
_OF_WHOLE, _OF_TIME, _OF_STACK, _SETS_OF_PRIOR = 0.08, 0.3, 0.1, 10.0
_LEAST_RUNS = 4  # of a set
_STEPS = 25  # after which no entry changes by a hundredth
_OF_RUN = 0.16  # standard deviation of runs (ln) from which the estimate starts


def time_covariances(
    formula: Formula, rows: FormulaRows, seconds: np.ndarray, sets: np.ndarray, groups: np.ndarray
) -> pd.DataFrame:
    """Return how ln of the factors on the times of a formula vary together between sets of runs.

    rows, seconds : runs that the formula was fitted to, (n_runs,). sets : their sets, such as a GPU in a
    precision of a source, groups : their GPU groups, texts, (n_runs,); a group counts by the root of its
    number of sets. The result has a row and a column per time of the formula.

    Expectation-maximisation for a linear model with random coefficients (Laird and Ware, Biometrics 38,
    1982): ln of measured over predicted times is linear in ln of the factors, by the shares of the times.
    """
    names = calibrated_times(formula)
    # Of sums over layers, features of stacks are those of layers.
    of_stacks = STACK_FEATURES if rows.sums is None else ()
    stacks = [rows.columns[spec.name] for spec in formula.used_features if spec.name in of_stacks]
    prior = np.diag(np.square([_OF_WHOLE, *[_OF_TIME] * len(names), *[_OF_STACK] * len(stacks)]))
    with np.errstate(all="ignore"):
        logs = np.log(seconds / rows.predict(formula))
        X = np.column_stack([np.ones(len(logs)), _shares(formula, rows, names), *stacks])
    known = np.isfinite(logs) & np.isfinite(X).all(axis=1)
    found = [known & (sets == name) for name in np.unique(sets)]
    found = [inside for inside in found if inside.sum() >= _LEAST_RUNS]
    group = pd.Series([groups[np.argmax(inside)] for inside in found])
    weights = 1.0 / np.sqrt(group.map(group.value_counts()).to_numpy(dtype=float))
    parts = [X[inside] for inside in found], [logs[inside] for inside in found]
    covariances = _estimated(*parts, weights, prior) if found else prior
    # The factor of the whole is one of each time.
    sums = np.column_stack([np.ones(len(names)), np.eye(len(names), len(prior) - 1)])
    return pd.DataFrame(sums @ covariances @ sums.T, names, names)


def _shares(formula: Formula, rows: FormulaRows, names: tuple[str, ...]) -> np.ndarray:
    """Return the change of ln of the time of each run by that of ln of each factor, (n_runs, n_times)."""
    step = 0.01
    scaled = rows.predict_scaled(
        formula, names, np.exp(step * np.vstack([np.eye(len(names)), np.zeros(len(names))]))
    )
    return np.asarray(np.log(scaled[:-1] / scaled[-1]).T / step)


def _estimated(
    X: list[np.ndarray], y: list[np.ndarray], weights: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """Return the covariance matrix of the coefficients, (k, k); X, y : (n, k) and (n,) of each set."""
    gram = np.array([part.T @ part for part in X])
    moment = np.array([part.T @ values for part, values in zip(X, y, strict=True)])
    square, number = (np.array([values @ values for values in y]), np.array([len(values) for values in y]))
    covariances, variance = prior, _OF_RUN**2
    for _ in range(_STEPS):
        posterior = np.linalg.inv(np.linalg.inv(covariances) + gram / variance)
        means = (posterior @ moment[:, :, None])[:, :, 0] / variance
        misfits = square - 2.0 * (means * moment).sum(axis=1)
        misfits += np.einsum("si,sij,sj->s", means, gram, means) + np.einsum("sij,sji->s", posterior, gram)
        second = posterior + means[:, :, None] * means[:, None]
        total = np.einsum("s,sij->ij", weights, second) + _SETS_OF_PRIOR * prior
        covariances = total / (weights.sum() + _SETS_OF_PRIOR)
        variance = float((weights * misfits).sum() / (weights * number).sum())
    return np.asarray(covariances)
