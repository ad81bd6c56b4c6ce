"""What the report says first: the error in a sentence, where the formula is wrong, what its lead rests on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from trainlaw.app.models.errors import (
    BY_CNN,
    BY_GPU,
    KEPT,
    MACRO,
    OURS,
    ErrorLine,
    error_lines,
    estimators,
    held_out_kind,
    overall_error,
    searches_of,
)
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.text.html import Table
from trainlaw.app.text.numbers import show_percent
from trainlaw.formulas import Formula
from trainlaw.validate.baselines import title_of

_WORST = 7  # groups of each kind that are named before the details
_FEW_RUNS = 5  # fewer say little about an architecture
_BEST_THERE = ("best there, %", "which baseline")
_READABLE = {"channels_last": "channels last", "unknown": "layout not recorded", "nchw": "NCHW"}


@dataclass(frozen=True)
class Story:
    """The first page of the report: sentences, and tables by title."""

    sentence: str
    lead: str
    classes: Sequence[tuple[str, Table]]
    worst: Sequence[tuple[str, Table]]


def story_of(outcome: StudyOutcome) -> Story | None:
    """Return what the report says first; None where no fold was finished."""
    formula = outcome.formula
    if not estimators(formula):
        return None
    levels = [(level, error_lines(formula, level)) for level in KEPT]
    return Story(
        sentence=error_sentence(formula),
        lead=lead_sentence(formula),
        classes=[(f"By {level}", _class_table(lines)) for level, lines in levels if lines],
        worst=[
            (title, _worst_table(outcome, level))
            for title, level in (("GPU groups", BY_GPU), ("Architectures", BY_CNN))
        ],
    )


def error_sentence(formula: Formula) -> str:
    """Return the held-out error in one sentence: overall, by precision, and the range over generations."""
    what = f"On {held_out_kind(formula)}s that were held out, this formula errs by"
    parts = [f"{what} {show_percent(overall_error(formula, OURS, MACRO))} % on average"]
    precisions = error_lines(formula, "precision")
    if len(precisions) > 1:
        named = ", ".join(f"{line.name} {show_percent(line.errors[OURS])} %" for line in precisions)
        parts.append(f"by precision {named}")
    generations = error_lines(formula, "generation")
    if len(generations) > 1:
        best, worst = (
            f"{show_percent(line.errors[OURS])} % ({line.name})" for line in (generations[0], generations[-1])
        )
        parts.append(f"by generation between {best} and {worst}")
    return "; ".join(parts) + "."


def best_baseline(formula: Formula) -> str | None:
    """Return the name of the baseline with the lowest mean error over GPU groups; None without baselines."""
    errors = {name: overall_error(formula, name, MACRO) for name in estimators(formula) if name != OURS}
    finite = {name: error for name, error in errors.items() if math.isfinite(error)}
    return min(finite, key=finite.__getitem__) if finite else None


def lead_sentence(formula: Formula) -> str:
    """Return the lead over the best baseline, and what is left of it without any one GPU group."""
    best, groups = best_baseline(formula), error_lines(formula, BY_GPU)
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
        f"The best baseline, {title_of(best)}, has {show_percent(overall_error(formula, best))} %: ours is "
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
        return f"That lead is the doing of one group: without {least} it is {left[least]:.1f} points."
    ends = f"between {left[least]:.1f} and {max(left.values()):.1f} points"
    return f"No single group makes that lead: without any one it is {ends}, least without {least}."


def _class_table(lines: Sequence[ErrorLine]) -> Table:
    baselines = [name for name in lines[0].errors if name != OURS]
    rows = [
        [_READABLE.get(line.name, line.name), line.rows, len(line.members), show_percent(line.errors[OURS]),
         _spread(line.seeds), *_best_of(line, baselines)]
        for line in lines
    ]  # fmt: skip
    header = ["", "runs", "GPU groups", "this formula, %", "seeds, %", *_BEST_THERE]
    return Table(header, rows, ["long", "n", "n", "n", "n", "n", "long"])


def _spread(seeds: Sequence[float]) -> str:
    return f"{min(seeds):.1f} to {max(seeds):.1f}" if seeds else "-"


def _best_of(line: ErrorLine, baselines: Sequence[str]) -> tuple[str, str]:
    known = [(line.errors[name], name) for name in baselines if math.isfinite(line.errors[name])]
    if not known:
        return "-", ""
    error, name = min(known)
    return show_percent(error), title_of(name)


def _worst_table(outcome: StudyOutcome, level: str) -> Table:
    """The groups with the largest errors, worst first, and whether times are predicted long or short."""
    bias = _bias_by(outcome, level)
    lines = [line for line in error_lines(outcome.formula, level) if math.isfinite(line.errors[OURS])]
    enough = [line for line in lines if line.rows >= _FEW_RUNS] or lines
    worst = sorted(enough, key=lambda line: -line.errors[OURS])[:_WORST]
    baselines = [name for name in estimators(outcome.formula) if name != OURS]
    rows = [
        [line.label, line.rows, show_percent(line.errors[OURS]), f"{bias[line.name]:.2f}",
         *_best_of(line, baselines)]
        for line in worst
    ]  # fmt: skip
    header = ["", "runs", "error, %", "predicted / measured", *_BEST_THERE]
    return Table(header, rows, ["long", "n", "n", "n", "n", "long"])


def _bias_by(outcome: StudyOutcome, level: str) -> dict[str, float]:
    """The geometric mean of predicted over measured time, by label; that of all searches."""
    result = outcome.result
    ratios = np.mean([np.log(result.predicted_s(name)) for name in searches_of(result)], axis=0)
    ratios -= np.log(result.measured_s)
    labels = result.labels(level)
    return {str(label): float(np.exp(ratios[labels == label].mean())) for label in np.unique(labels)}
