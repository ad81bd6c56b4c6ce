"""What the reader of a study must know first: whether it learned anything, and what does better."""

import shlex
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.calibration import calibrated_law
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.text.numbers import show_percent
from trainlaw.datasets import RunTable
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import Formula, InputError, load_formula
from trainlaw.validate import StudyResult
from trainlaw.validate.baselines import title_of
from trainlaw.validate.held_out_errors import MACRO, OURS, estimators, overall_error
from trainlaw.validate.result import MEASURED

#: Fewer runs say more about a formula's constants than about its terms.
FEW_RUNS = 40
# On one GPU, at most 50 runs calibrate a formula rather than evolve one.
_MOST_RUNS = 50
CONSTANT = "constant"
_LEAST_GAIN = 0.1  # of the error of the constant; noise alone gives some


def verdict_lines(formula: Formula, result: StudyResult, is_evolved: bool) -> tuple[str, ...]:
    """Return at most one line: that nothing was learned, or which baseline is better than the formula.

    formula : with the errors of `result`. is_evolved : whether it is from a search, not from the user.
    """
    if not len(result.predictions):
        return ()
    others = [name for name in estimators(formula) if name != OURS]
    factors = {name: _typical_factor(result, name) for name in (OURS, *others)}
    least = (1.0 - _LEAST_GAIN) * factors.get(CONSTANT, 0.0)
    if is_evolved and CONSTANT in factors and not factors[OURS] < least:
        learned = [name for name in others if factors[name] < least]
        said = "nothing was learned: predicted and measured times of held-out runs differ by a factor of "
        named = [f"{np.exp(factors[OURS]):.2f}", _by(CONSTANT, factors)]
        if learned:
            named.append(_by(min(learned, key=lambda name: factors[name]), factors))
        return (said + ", ".join(named),)
    errors = {name: overall_error(formula, name, MACRO) for name in (OURS, *others)}
    best = min(others, key=lambda name: (not np.isfinite(errors[name]), errors[name]), default=OURS)
    if errors[best] >= errors[OURS] or not np.isfinite(errors[best]):
        return ()
    ours, theirs = show_percent(errors[OURS]), show_percent(errors[best])
    return (f"worse than a baseline: its held-out error is {ours} %, of {title_of(best)} {theirs} %",)


def _typical_factor(result: StudyResult, name: str) -> float:
    """Mean of |ln(predicted / measured)|, inf where a prediction is none.

    Percentages would not do: under noise, a constant below the median has lower ones than the median.
    """
    runs = result.predictions
    with np.errstate(all="ignore"):
        found = np.mean(np.abs(np.log(runs[name].to_numpy() / runs[MEASURED].to_numpy())))
    return float(found) if np.isfinite(found) else np.inf


def _by(name: str, factors: Mapping[str, float]) -> str:
    return f"those of {title_of(name)} by {np.exp(factors[name]):.2f}"


def calibration_advice(table: MeasuredTable, definition: StudyDefinition, own_percent: float | None) -> str:
    """Return the advice to calibrate the built-in formula instead, with its error; "" if a study is better.

    own_percent : held-out error of the evolved formula, mean over runs; None where there is none.
    """
    scope_fits = isinstance(table, RunTable) and definition.of in ("runs", "free-runs", "layers")
    if not isinstance(table, RunTable) or not scope_fits or not 2 <= len(table) <= _MOST_RUNS:
        return ""
    if len(table) >= FEW_RUNS and table.labels()["gpu_group"].nunique() > 1:
        return ""
    try:
        law = calibrated_law(load_formula(BUILT_IN), table)
    except InputError:
        return ""  # such as runs on several GPUs
    calibrated = law.left_out_percent
    advised = "or calibrate" if own_percent is not None and own_percent < calibrated else "calibrate instead"
    parts = [
        f"{len(table)} runs are few: {advised}: `{_command(definition)}`",
        f"error on runs left out one by one {show_percent(calibrated)} %",
        f"the built-in formula as it is {show_percent(law.before_percent)} %",
    ]
    if own_percent is not None:
        parts.append(f"the evolved formula on what is held out {show_percent(own_percent)} %")
    return "; ".join(parts)


def _command(definition: StudyDefinition) -> str:
    files = [("--gpu-file", definition.gpu_file)] if definition.gpu_file else []
    files += [("--cnn-file", path) for path in definition.cnn_file]
    options = [part for option, path in files for part in (option, str(Path(path)))]
    return shlex.join(["trainlaw", "calibrate", definition.table, *options, "--out", "my-law"])
