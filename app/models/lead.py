"""The held-out error of a formula in sentences, and what its lead over the best baseline rests on."""

import math
from collections.abc import Mapping

from trainlaw.app.text.numbers import show_percent
from trainlaw.formulas import Formula
from trainlaw.validate.baselines import title_of
from trainlaw.validate.held_out_errors import (
    BY_GPU,
    MACRO,
    OURS,
    error_lines,
    estimators,
    held_out_kind,
    overall_error,
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
        return f"That lead comes from one group: without {least} it is {left[least]:.1f} points."
    ends = f"between {left[least]:.1f} and {max(left.values()):.1f} points"
    return f"No single group makes that lead: without any one it is {ends}, least without {least}."
