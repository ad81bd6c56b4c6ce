"""Calibration of a formula to one machine from a few runs measured on it: a factor on each of its times.

The GPU's times share a common factor, and each deviates from it by another factor; times of the host
have no common factor. All are the maximum a posteriori estimate with log-normal priors at 1: one run moves
little, many move freely, each run the times that it consists of. Least times, which peak rates allow, stay.

Where runs of several software stacks calibrate, those of each stack but eager have a further factor on the
whole time, close to the formula's factor of that stack.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
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

# Standard deviations of logarithms, chosen on held-out GPU groups (docs/explanation/law.md): of the factor
# common to all GPUs, of the deviation of one time from it, of the host's times, and of runs around a
# calibrated formula.
COMMON_DEVIATION = 0.1
TIME_DEVIATION = 1.0
HOST_DEVIATION = 0.4
RUN_DEVIATION = 0.2
# One run does not show which of its times deviates.
_TIME_DEVIATION_OF_ONE = 0.5
# Deviation of runs of a stack from the formula's factor of that stack: sources of one stack differ by 7 %.
_STACK_DEVIATION = 0.1
#: Features that are 1 for runs of a stack; eager runs have none.
STACK_FEATURES = ("runs_channels_last", "runs_fused")
# Standard deviations of ln(measured / predicted) in the default table, the formula refitted without the GPU
# group: between the means of sets (a source, a GPU, a precision), and of the runs of a set around its mean.
# With any one group left out they are 0.152 to 0.155 and 0.160 to 0.163.
_BETWEEN_SETS, _WITHIN_SETS = 0.155, 0.162
# Of the ratio of these variances half shrinks the factors, since the priors of the fit shrink them, too.
_RUNS_OF_PRIOR = 0.5 * (_WITHIN_SETS / _BETWEEN_SETS) ** 2
# Runs that are hardly off say little: a mean counts from this share of its variance on. A tenth of the
# variance is added to the mean's square: single times may deviate while it does not.
_LEAST_SHARE, _SHARE_OF_VARIANCE = 0.6, 0.1
# Of few runs, shares that may be kept are weighed by the error (ln, root mean square) of each run by the
# others; of many, that takes too long. Chosen on the same groups, of which at most 8 % become worse by half
# a point: errors that differ by less than an eightieth count alike, and a share costs a fiftieth.
_SHARES, _MOST_LEFT_OUT = np.array([0.0, 0.25, 0.5, 0.75, 1.0]), 10
_SAME_ERROR, _COST_OF_SHARE = 1 / 80, 0.02
#: Times in proportion to the host's launch time, which have one factor.
LAUNCH_TIMES = ("host_s", "conv_launch_s")
#: Times that depend on the host, not on the GPU.
HOST_TIMES = (*LAUNCH_TIMES, "input_copy_s")
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

    common : factor that those of the GPU's times contain; of a formula without times, on the whole. by_time :
    factor by feature. by_stack : factor of the whole time by feature of a stack; empty where runs of one
    stack calibrated.
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


def time_factors(formula: Formula, rows: FormulaRows, seconds: np.ndarray) -> TimeFactors:
    """Return the factors of a formula from runs measured on one machine.

    formula : of whole runs or of layers. rows : the runs as rows of it. seconds : measured, (n_runs,). One
    factor per time in the formula, and per stack of several, with three significant digits; 1 without a run.
    InputError where the formula has no finite, positive time for a run.
    """
    if not len(seconds):
        return TimeFactors(1.0, {})
    fit = _fit(formula, rows, seconds)
    kept = _kept(formula, rows, seconds, fit.before)
    return fit.factors(fit.logs * kept)


def calibrated_seconds(
    formula: Formula, rows: FormulaRows, seconds: np.ndarray, measured: np.ndarray, asked: FormulaRows
) -> np.ndarray:
    """Return the time of each run asked for, in s, by the formula that some measured runs calibrate.

    measured : which of `rows` calibrate, as `FormulaRows.of_runs` takes it. Further arguments and errors as
    for `time_factors`.
    """
    return time_factors(formula, rows.of_runs(measured), seconds[measured]).seconds(formula, asked)


@dataclass(frozen=True)
class _Fit:
    """The factors of a formula before they are shrunk.

    names, stacks : of their features. spread : as `_spread` returns it. logs : parameters. before : ln of
    predicted over measured of each run, (n_runs,).
    """

    names: tuple[str, ...]
    stacks: tuple[str, ...]
    spread: np.ndarray
    logs: np.ndarray
    before: np.ndarray

    def factors(self, logs: np.ndarray) -> TimeFactors:
        """Return the factors that these parameters are."""
        n_times = len(self.spread)

        def named(of: Sequence[str], values: np.ndarray) -> dict[str, float]:
            short = (rounded(float(value), _SIGNIFICANT_DIGITS) for value in np.exp(values))
            return dict(zip(of, short, strict=False))

        common = rounded(float(np.exp(logs[0])), _SIGNIFICANT_DIGITS)
        by_time = named(self.names, logs[:n_times] @ self.spread)
        return TimeFactors(common, by_time, named(self.stacks, logs[n_times:]))


def _fit(formula: Formula, rows: FormulaRows, seconds: np.ndarray) -> _Fit:
    """Return the maximum a posteriori estimate."""
    names = calibrated_times(formula)
    spread, deviations = _spread(names, len(seconds))
    stacks, n_times = _mixed_stacks(formula, rows), len(deviations)
    is_stack = np.array([rows.columns[name] for name in stacks])
    deviations = np.append(deviations, np.full(len(stacks), _STACK_DEVIATION))

    def log_times(logs: np.ndarray) -> np.ndarray:
        """From sets of parameters, (n_sets, k), to ln(seconds) of each run, (n_sets, n_runs)."""
        shares = logs[:, :n_times] @ spread
        with np.errstate(all="ignore"):
            found = rows.predict_scaled(formula, names, np.exp(shares))
            alike = np.log(np.where(found > 0, found, np.nan)) + (0.0 if names else shares)
        return alike + logs[:, n_times:] @ is_stack if stacks else alike

    wanted = np.log(seconds)
    start = np.zeros(len(deviations))
    before = log_times(start[None])[0] - wanted
    if not np.isfinite(before).all():
        raise InputError("calibration: the formula has no finite, positive time for a measured run")

    def residuals(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        step = 1e-5
        found = log_times(np.vstack([logs, logs + step * np.eye(len(logs))]))
        return (found[0] - wanted) / RUN_DEVIATION, (found[1:] - found[0]).T / step / RUN_DEVIATION

    fitted = robust_least_squares(
        residuals, start, soft_l1_scale=1.0, deviation=deviations, max_steps=30, tolerance=1e-5
    )
    return _Fit(names, stacks, spread, fitted.parameters, before)


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


def _kept(formula: Formula, rows: FormulaRows, seconds: np.ndarray, before: np.ndarray) -> float:
    """Return the share of the factors' logarithms to keep.

    Of few runs, shares count by how well each run is predicted from the others; else the mean deviation
    decides. before : ln of predicted over measured of each run, (n_runs,).
    """
    n_runs = len(before)
    if 1 < n_runs <= _MOST_LEFT_OUT:
        misfits = np.array([_misfits(formula, rows, seconds, place) for place in range(n_runs)])
        errors = np.sqrt((misfits**2).mean(axis=0)) + _COST_OF_SHARE * _SHARES
        weights = np.exp((errors.min() - errors) / _SAME_ERROR)
        return float((weights * _SHARES).sum() / weights.sum())
    seen = float(before.mean() ** 2 + _SHARE_OF_VARIANCE * before.var())
    return n_runs / (n_runs + _RUNS_OF_PRIOR) * seen / (seen + _LEAST_SHARE * _WITHIN_SETS**2 / n_runs)


def _misfits(formula: Formula, rows: FormulaRows, seconds: np.ndarray, place: int) -> np.ndarray:
    """Return ln of predicted over measured of one run by the others, for each share that may be kept."""
    others = np.arange(len(seconds)) != place
    fit, alone = _fit(formula, rows.of_runs(others), seconds[others]), rows.of_runs(~others)
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


def _spread(names: Sequence[str], n_runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix from parameters to logarithms of factors, (k, n_times), and their priors, (k,).

    The first parameter is common to the times of the GPU. Without times it is the factor of the whole.
    """
    if not names:
        return np.ones((1, 1)), np.array([COMMON_DEVIATION])
    common = np.array([name not in HOST_TIMES for name in names], dtype=np.float64)
    owners = [LAUNCH_TIMES[0] if name in LAUNCH_TIMES else name for name in names]
    different = list(dict.fromkeys(owners))
    single = np.array([[float(owner == name) for owner in owners] for name in different])
    of_time = TIME_DEVIATION if n_runs > 1 else _TIME_DEVIATION_OF_ONE
    deviations = [HOST_DEVIATION if name in HOST_TIMES else of_time for name in different]
    return np.vstack([common, single]), np.array([COMMON_DEVIATION, *deviations])


def interval_share(n_runs: int) -> float:
    """Return which share of the logarithm of an interval is left after calibration with that number of runs.

    >>> interval_share(0), interval_share(3), interval_share(100)
    (1.0, 0.78, 0.68)
    """
    counts = np.log1p(list(_LEFT))
    return float(np.interp(np.log1p(n_runs), counts, list(_LEFT.values())))
