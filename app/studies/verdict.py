"""The verdict on a study: nothing learned, a better baseline, calibration instead, or the lead."""

import math
import shlex
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.calibration import calibrated_law
from trainlaw.app.models.front import worth_lines
from trainlaw.app.models.stated_error import evolution_gains
from trainlaw.app.studies.front import THE_LAW, Deliverable, StudyFront
from trainlaw.app.text.numbers import show_percent
from trainlaw.datasets import RunTable
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import Formula, InputError, constants, load_formula
from trainlaw.validate import StudyResult
from trainlaw.validate.baselines import CONTROLS, title_of
from trainlaw.validate.error_table import BY_GPU, MEANS
from trainlaw.validate.formula_errors import CarriedErrors, carried_errors, overall_error
from trainlaw.validate.result import MEASURED, OURS

#: Fewer runs say more about a formula's constants than about its terms.
FEW_RUNS = 40
# On one GPU, at most 50 runs calibrate a formula rather than evolve one.
_MOST_RUNS = 50
CONSTANT = "constant"
_LEAST_GAIN = 0.1  # of the error of the constant; noise alone gives some


def verdict_lines(
    formula: Formula,
    result: StudyResult,
    table: MeasuredTable,
    definition: StudyDefinition,
    *,
    is_evolved: bool,
    best: Deliverable = THE_LAW,
    few: StudyFront | None = None,
) -> tuple[str, ...]:
    """Return what is to be read first: the verdict on a formula, and of a search the advice to calibrate.

    formula : with the errors of `result`. is_evolved : whether it is from the study, not from the user.
    best : which of the study's formulas it is. few : those of few constants.
    """
    lines = formula_verdict(formula, result, is_evolved)
    if not is_evolved:
        return lines
    if few is not None:
        count = "" if best.size else f", {len(constants(formula.expression))} constants"
        named = f"delivered: {best.title}{count}"
        error = show_percent(overall_error(formula, OURS))
        why = "" if not best.size else "; it has the least held-out error of all candidates"
        lines = (*lines, f"{named}: {error} % on what is held out{why}", *worth_lines(few.rows))
    percent = overall_error(formula, OURS, "mape_percent") if len(result.predictions) else None
    advice = calibration_advice(table, definition, percent)
    return (*lines, advice) if advice else lines


def formula_verdict(formula: Formula, result: StudyResult, is_evolved: bool) -> tuple[str, ...]:
    """Return at most one line: nothing learned, a better baseline, or an evolution that adds nothing certain.

    Arguments as for `verdict_lines`.
    """
    if not len(result.predictions):
        return ()
    errors = carried_errors(formula)
    others = errors.others
    factors = {name: _typical_factor(result, name) for name in (OURS, *others)}
    least = (1.0 - _LEAST_GAIN) * factors.get(CONSTANT, 0.0)
    if is_evolved and CONSTANT in factors and not factors[OURS] < least:
        learned = [name for name in others if factors[name] < least]
        said = "nothing was learned: predicted and measured times of held-out runs differ by a factor of "
        named = [f"{np.exp(factors[OURS]):.2f}", _by(CONSTANT, factors)]
        if learned:
            named.append(_by(min(learned, key=lambda name: factors[name]), factors))
        return (said + ", ".join(named),)
    best = best_baseline(errors)
    if best is not None and errors.overall[best] < errors.overall[OURS]:
        ours, theirs = (show_percent(errors.overall[name]) for name in (OURS, best))
        return (f"worse than a baseline: its held-out error is {ours} %, of {title_of(best)} {theirs} %",)
    better = _better_by_other_means(formula, errors)
    # Controls over which the interval of what the search adds, to a tenth, is not above 0.
    unsure = [title_of(name) for name, (_, low, _) in evolution_gains(errors).items() if round(low, 1) <= 0]
    controls = " or ".join(unsure) if is_evolved else ""
    fitted = f"fitted rather than found: evolution adds nothing certain to {controls}" if controls else ""
    return tuple(filter(None, (better, fitted)))


def _better_by_other_means(formula: Formula, errors: CarriedErrors) -> str:
    """Return where a baseline is better though not over GPU groups, as one line; "" where none is."""
    baselines, found = [name for name in errors.others if name not in CONTROLS], []
    for metric, title in MEANS.items():
        ours = overall_error(formula, OURS, metric)
        known = {name: overall_error(formula, name, metric) for name in baselines}
        best = min(known, key=lambda name: np.nan_to_num(known[name], nan=np.inf), default="")
        if best and known[best] < ours:
            both = f"{title_of(best)} {show_percent(known[best])} %, ours {show_percent(ours)} %"
            found.append(f"by the {title} ({both})")
    return f"a baseline is better {' and '.join(found)}" if found else ""


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


def calibration_advice(
    table: MeasuredTable, definition: StudyDefinition, own_percent: float | None = None
) -> str:
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


def best_baseline(errors: CarriedErrors) -> str | None:
    """Return the name of the baseline with the lowest mean error over GPU groups; None without baselines."""
    overall = {name: errors.overall[name] for name in errors.others if name not in CONTROLS}
    finite = {name: error for name, error in overall.items() if math.isfinite(error)}
    return min(finite, key=finite.__getitem__) if finite else None


def lead_sentence(errors: CarriedErrors) -> str:
    """Return the lead over the best baseline, and what is left of it without any one GPU group."""
    best, groups = best_baseline(errors), errors.lines[BY_GPU]
    if best is None:
        return "There is no baseline to compare with."
    known = {line.label: line.errors[best] - line.errors[OURS] for line in groups}
    leads = {label: lead for label, lead in known.items() if math.isfinite(lead)}
    if not leads:
        return f"The best baseline, {title_of(best)}, has no error on these groups."
    whole = sum(leads.values()) / len(leads)
    won = sum(lead > 0 for lead in leads.values())
    verb = "lower" if whole > 0 else "higher"
    text = (
        f"The best baseline, {title_of(best)}, has {show_percent(errors.overall[best])} %: ours is "
        f"{abs(whole):.1f} points {verb}, and lower on {won} of {len(leads)} GPU groups."
    )
    return f"{text} {_without_one(leads, whole)}".strip()


def _without_one(leads: Mapping[str, float], whole: float) -> str:
    """What is left of the lead over a baseline where one group is left out, in one sentence."""
    if len(leads) < 3 or whole <= 0:
        return ""
    total, others = sum(leads.values()), len(leads) - 1
    left = {label: (total - lead) / others for label, lead in leads.items()}
    least = min(left, key=left.__getitem__)
    if left[least] <= 0:
        return f"That lead comes from one group: without {least} it is {left[least]:.1f} points."
    ends = f"between {left[least]:.1f} and {max(left.values()):.1f} points"
    return (
        f"The lead does not depend on one group: leaving out any one, it stays {ends}, least without {least}."
    )
