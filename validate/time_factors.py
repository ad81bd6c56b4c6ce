"""Calibration of a formula to one machine from a few runs measured on it: a factor on each of its times.

The factors are the maximum a posteriori estimate with a log-normal prior at 1: one run moves little, many
move freely, each run the times that it consists of and those that deviate with them on other machines, by
the covariances of `datasets/data/time_covariances.csv`. Least times, which peak rates allow, stay.

Where runs of several software stacks calibrate, those of each stack but eager have a further factor on the
whole time, close to the formula's factor of that stack.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd
from trainlaw.datasets.files.storage import read_data_table
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    Variable,
    constants,
    substitute,
    with_constants,
)
from trainlaw.formulas.algebra.tidying import rounded, tidy
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.validate.least_squares import robust_least_squares

# Standard deviations of runs (ln) around a formula calibrated by one run, and by several, of which those that
# are left out decide how much of the factors is kept. With these on half of the GPU groups ...
RUN_DEVIATION, _DEVIATION_OF_SEVERAL = 0.2, 0.1
# Of a time without covariances, and of a formula without times as a whole.
_TIME_DEVIATION, _WHOLE_DEVIATION = 0.4, 0.15
# Deviation of runs of a stack from the formula's factor of that stack: sources of one stack differ by 7 %.
_STACK_DEVIATION = 0.1
#: Features that are 1 for runs of a stack; eager runs have none.
STACK_FEATURES = ("runs_channels_last", "runs_fused")
# Of few runs, shares that may be kept are weighed by the error (ln, root mean square) of each run by the
# others; of many, that takes too long. Chosen on the same groups, of which at most 8 % become worse by half
# a point: errors that differ by less than an eightieth count alike, and a share gains a fiftieth.
_SHARES, _MOST_LEFT_OUT = np.array([0.0, 0.25, 0.5, 0.75, 1.0]), 10
_SAME_ERROR, _GAIN_OF_SHARE = 1 / 80, 0.02
#: Times that depend on the host, not on the GPU.
HOST_TIMES = ("host_s", "conv_launch_s", "input_copy_s")
#: Bounds that no machine undercuts.
LEAST_TIMES = ("least_time_s",)
# Share of the logarithm of a 90 % interval that is left after that number of runs: ratios of the quantiles of
# the errors of held-out GPU groups of the default table, the formula refitted without each of them.
_LEFT = {0: 1.0, 1: 0.9, 2: 0.83, 3: 0.78, 5: 0.72, 10: 0.7, 20: 0.68}
# Of more runs than this, only some of each architecture calibrate, from short to long: more of the same add
# little, and a fit takes at most a certain number.
_ALL_RUNS, _MOST_PER_CNN, _MOST_RUNS = 50, 10, 400
_SIGNIFICANT_DIGITS = 3  # of a factor; no calibration knows more
# Hides the rounding of a product of two decimal numbers.
_DIGITS_OF_CONSTANTS = 6


@dataclass(frozen=True)
class TimeFactors:
    """Factors on the times of a formula.

    common : by which they change the runs that calibrated, in the geometric mean; of a formula without times,
    the factor on the whole. by_time : factor by feature. by_stack : factor of the whole time by feature of a
    stack; empty where runs of one stack calibrated.
    """

    common: float
    by_time: Mapping[str, float]
    by_stack: Mapping[str, float] = field(default_factory=dict)

    def seconds(self, formula: Formula, rows: FormulaRows) -> np.ndarray:
        """Return the time of each run with these factors, in s, shape (n_runs,)."""
        found = rows.predict(formula, self.by_time)
        if not self.by_time:
            return self.common * found
        for name, factor in self.by_stack.items():
            found = found * factor ** rows.columns[name]
        return found

    def apply(self, formula: Formula) -> Expression:
        """Return the expression of a formula with these factors in its constants."""
        expression = formula.expression
        if not self.by_time:
            expression = Apply("mul", (Constant(self.common), expression))
        scaled = {
            name: Apply("mul", (Constant(factor), Variable(name)))
            for name, factor in self.by_time.items()
            if factor != 1.0
        }
        merged = substitute(expression, scaled)
        for name, factor in self.by_stack.items():
            exponent = Apply("mul", (Constant(float(np.log(factor))), Variable(name)))
            merged = Apply("mul", (merged, Apply("exp", (exponent,))))
        merged = tidy(merged)
        short = [rounded(value, _DIGITS_OF_CONSTANTS) for value in constants(merged)]
        return with_constants(merged, short)


def time_factors(
    formula: Formula, rows: FormulaRows, seconds: np.ndarray, covariances: pd.DataFrame | None = None
) -> TimeFactors:
    """Return the factors of a formula from runs measured on one machine.

    formula : of whole runs or of layers. rows : the runs as rows of it. seconds : measured, (n_runs,).
    covariances : of ln of the factors by time, those of the default table by default. One factor per time in
    the formula, and per stack of several, with three significant digits; 1 without a run. InputError where
    the formula has no finite, positive time for a run.
    """
    if not len(seconds):
        return TimeFactors(1.0, {})
    spread = _spread(calibrated_times(formula), covariances)
    fit = _fit(formula, rows, seconds, spread)
    found = fit.factors(fit.logs * _kept(formula, rows, seconds, spread))
    changes = np.log(found.seconds(formula, rows) / rows.predict(formula))
    return replace(found, common=rounded(float(np.exp(changes.mean())), _SIGNIFICANT_DIGITS))


def calibrated_seconds(
    formula: Formula,
    rows: FormulaRows,
    seconds: np.ndarray,
    measured: np.ndarray,
    asked: FormulaRows,
    *,
    covariances: pd.DataFrame | None = None,
) -> np.ndarray:
    """Return the time of each run asked for, in s, by the formula that some measured runs calibrate.

    measured : which of `rows` calibrate, as `FormulaRows.of_runs` takes it. Further arguments and errors as
    for `time_factors`.
    """
    found = time_factors(formula, rows.of_runs(measured), seconds[measured], covariances)
    return found.seconds(formula, asked)


@dataclass(frozen=True)
class _Fit:
    """The factors of a formula before they are shrunk.

    names, stacks : of their features. spread : as `_spread` returns it. logs : parameters, the last ones of
    the stacks.
    """

    names: tuple[str, ...]
    stacks: tuple[str, ...]
    spread: np.ndarray
    logs: np.ndarray

    def factors(self, logs: np.ndarray) -> TimeFactors:
        """Return the factors that these parameters are."""
        n_times = len(self.spread)

        def named(of: Sequence[str], values: np.ndarray) -> dict[str, float]:
            short = (rounded(float(value), _SIGNIFICANT_DIGITS) for value in values)
            return dict(zip(of, short, strict=False))

        of_times = _factors(logs[:n_times] @ self.spread)
        whole = 1.0 if self.names else rounded(float(of_times[0]), _SIGNIFICANT_DIGITS)
        return TimeFactors(whole, named(self.names, of_times), named(self.stacks, np.exp(logs[n_times:])))


def _fit(formula: Formula, rows: FormulaRows, seconds: np.ndarray, spread: np.ndarray) -> _Fit:
    """Return the maximum a posteriori estimate."""
    names, stacks = calibrated_times(formula), _mixed_stacks(formula, rows)
    n_times, start = len(spread), np.zeros(len(spread) + len(stacks))
    is_stack = np.array([rows.columns[name] for name in stacks])
    deviations = np.append(np.ones(n_times), np.full(len(stacks), _STACK_DEVIATION))
    of_run = RUN_DEVIATION if len(seconds) == 1 else _DEVIATION_OF_SEVERAL

    def log_times(logs: np.ndarray) -> np.ndarray:
        """From sets of parameters, (n_sets, k), to ln(seconds) of each run, (n_sets, n_runs)."""
        factors = _factors(logs[:, :n_times] @ spread)
        with np.errstate(all="ignore"):
            found = rows.predict_scaled(formula, names, factors)
            alike = np.log(np.where(found > 0, found, np.nan)) + (0.0 if names else np.log(factors))
        return alike + logs[:, n_times:] @ is_stack if stacks else alike

    wanted = np.log(seconds)
    if not np.isfinite(log_times(start[None])).all():
        raise InputError("calibration: the formula has no finite, positive time for a measured run")

    def residuals(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        step = 1e-5
        found = log_times(np.vstack([logs, logs + step * np.eye(len(logs))]))
        return (found[0] - wanted) / of_run, (found[1:] - found[0]).T / step / of_run

    fitted = robust_least_squares(
        residuals, start, soft_l1_scale=1.0, deviation=deviations, max_steps=30, tolerance=1e-5
    )
    return _Fit(names, stacks, spread, fitted.parameters)


def _factors(logs: np.ndarray) -> np.ndarray:
    """Return the factors of parameters: exp(x) below 1, 1 + x above, so that no time explodes."""
    return np.where(logs > 0, 1.0 + logs, np.exp(np.minimum(logs, 0.0)))


def left_out_times(formula: Formula, rows: FormulaRows, seconds: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return seconds, (n_runs,), of each run by the formula that the runs outside its part calibrate."""
    found = np.empty(len(seconds))
    for part in np.unique(parts):
        inside, law = parts == part, formula
        if not inside.all():
            factors = time_factors(formula, rows.of_runs(~inside), seconds[~inside])
            law = replace(formula, expression=factors.apply(formula))
        found[inside] = rows.of_runs(inside).predict(law)
    return found


def _kept(formula: Formula, rows: FormulaRows, seconds: np.ndarray, spread: np.ndarray) -> float:
    """Return the share of the factors' logarithms to keep; of few runs, as they predict each other."""
    n_runs = len(seconds)
    if not 1 < n_runs <= _MOST_LEFT_OUT:
        return 1.0
    misfits = np.array([_misfits(formula, rows, seconds, spread, place) for place in range(n_runs)])
    errors = np.sqrt((misfits**2).mean(axis=0)) - _GAIN_OF_SHARE * _SHARES
    weights = np.exp((errors.min() - errors) / _SAME_ERROR)
    return float((weights * _SHARES).sum() / weights.sum())


def _misfits(
    formula: Formula, rows: FormulaRows, seconds: np.ndarray, spread: np.ndarray, place: int
) -> np.ndarray:
    """Return ln of predicted over measured of one run by the others, for each share that may be kept."""
    others = np.arange(len(seconds)) != place
    fit, alone = _fit(formula, rows.of_runs(others), seconds[others], spread), rows.of_runs(~others)
    found = (fit.factors(share * fit.logs).seconds(formula, alone)[0] for share in _SHARES)
    return np.asarray(np.log(np.array(list(found)) / seconds[place]))


def calibrating_runs(cnns: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return which runs calibrate, bool (n_runs,): at most 50 all, else some of each architecture.

    cnns : architecture of each run, text. seconds : measured times. Both (n_runs,).

    >>> calibrating_runs(np.array(["vgg"] * 60 + ["lenet"]), np.arange(61.0)).sum()
    np.int64(11)
    """
    if len(cnns) <= _ALL_RUNS:
        return np.ones(len(cnns), dtype=bool)
    chosen = np.zeros(len(cnns), dtype=bool)
    names = np.unique(cnns)
    most = max(1, min(_MOST_PER_CNN, _MOST_RUNS // max(len(names), 1)))
    for name in names:
        rows = np.flatnonzero(cnns == name)
        rows = rows[np.argsort(seconds[rows], kind="stable")]
        chosen[rows[np.unique(np.linspace(0, len(rows) - 1, most).round().astype(int))]] = True
    return chosen


def calibrated_times(formula: Formula) -> tuple[str, ...]:
    """Return the features of a formula that calibration multiplies: its times, but for least times."""
    used = (spec for spec in formula.used_features if spec.unit == SECOND)
    return tuple(spec.name for spec in used if spec.name not in LEAST_TIMES)


def _mixed_stacks(formula: Formula, rows: FormulaRows) -> tuple[str, ...]:
    """Return the features of a formula by which the runs' stacks differ; none for sums over layers."""
    if rows.sums is not None:
        return ()
    used = [spec.name for spec in formula.used_features if spec.name in STACK_FEATURES]
    return tuple(name for name in used if len(np.unique(rows.columns[name])) > 1)


def _spread(names: Sequence[str], covariances: pd.DataFrame | None) -> np.ndarray:
    """Return the matrix from parameters of unit deviation to logarithms of factors, (k, n_times).

    Without times it is the deviation of the factor of the whole.
    """
    if not names:
        return np.array([[_WHOLE_DEVIATION]])
    known = shipped_covariances() if covariances is None else covariances
    found = known.reindex(index=[*names], columns=[*names]).fillna(0.0).to_numpy()
    alone = [0.0 if name in known.index else _TIME_DEVIATION**2 for name in names]
    return np.asarray(np.linalg.cholesky(found + np.diag(alone)).T)


@cache
def shipped_covariances() -> pd.DataFrame:
    """Return the covariances of ln of factors between the sets of the default table, by time."""
    return read_data_table("time_covariances.csv").set_index("name")


def interval_share(n_runs: int) -> float:
    """Return which share of the logarithm of an interval is left after calibration with that number of runs.

    >>> interval_share(0), interval_share(3), interval_share(100)
    (1.0, 0.78, 0.68)
    """
    counts = np.log1p(list(_LEFT))
    return float(np.interp(np.log1p(n_runs), counts, list(_LEFT.values())))
