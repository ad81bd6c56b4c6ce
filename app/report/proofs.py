"""The part of the report that proves what can be proved of the formula, and shows which terms return."""

from dataclasses import dataclass

from trainlaw.app.models.errors import OURS
from trainlaw.app.models.terms import plain_expression
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.stability import further_terms
from trainlaw.app.text.html import table_html
from trainlaw.app.text.numbers import show_number
from trainlaw.formulas import Expression, Formula, Proof, prove_monotone, prove_sign

# Enough for formulas of a page; a try that needs more boxes is left undecided rather than waited for.
_MAX_BOXES = 2048


@dataclass(frozen=True)
class Claim:
    """A statement about the formula over the box of its training ranges, and what became of it."""

    statement: str
    proof: Proof


def claims(formula: Formula) -> tuple[Claim, ...]:
    """Return what is claimed of a time: it is not negative, and does not fall when a feature grows.

    For a feature that makes the time fall that is refuted with a witness, and the opposite is tried.
    """
    expression = plain_expression(formula)
    box = {spec.name: formula.ranges[spec.name] for spec in formula.used_features}
    found = [
        Claim(
            "the time is never negative",
            prove_sign(expression, box, max_boxes=_MAX_BOXES, simplify_seconds=0),
        )
    ]
    for spec in formula.used_features:
        found += _trend(expression, spec.name, box)
    return tuple(found)


def _trend(expression: Expression, name: str, box: dict[str, tuple[float, float]]) -> list[Claim]:
    rising = _monotone(expression, name, box, 1)
    claims_of_name = [Claim(f"it never falls when {name} grows", rising)]
    if rising.status == "refuted":
        falling = _monotone(expression, name, box, -1)
        claims_of_name.append(Claim(f"it never rises when {name} grows", falling))
    return claims_of_name


def _monotone(
    expression: Expression, name: str, box: dict[str, tuple[float, float]], direction: int
) -> Proof:
    return prove_monotone(expression, name, box, direction, max_boxes=_MAX_BOXES, simplify_seconds=0)


def proofs_html(outcome: StudyOutcome) -> str:
    """Return the table of claims: proved, refuted with a point, or undecided."""
    rows = [[claim.statement, claim.proof.status, _witness(claim.proof)] for claim in claims(outcome.formula)]
    caption = (
        "Over the whole box of the training ranges, not only at the runs. Proved: by interval arithmetic; "
        "refuted: with the point shown; undecided: neither within the limit of work."
    )
    return table_html(caption, ["claim", "outcome", "where it fails"], rows, ["long", "symbol", "long"])


def _witness(proof: Proof) -> str:
    if not proof.witness:
        return ""
    return ", ".join(f"{name} = {show_number(value)}" for name, value in proof.witness[0].items())


def stability_html(outcome: StudyOutcome) -> str:
    """Return how often each term returns in the formulas of the folds and of further seeds."""
    folds = [formula for (_, name), formula in outcome.result.formulas.items() if name == OURS]
    n_seeds = len(outcome.repeats)
    seeds = f"of {n_seeds} further seeds" if n_seeds else "of further seeds"
    rows = [[item.term, item.in_folds, item.in_seeds if n_seeds else "not run"] for item in outcome.returns]
    for features, count in list(further_terms(outcome.formula, [*folds, *outcome.repeats]).items())[
        :_FURTHER
    ]:
        rows.append([f"not here, but there {count} times: {', '.join(features) or 'a constant'}", "", ""])
    caption = (
        "How often each term returns where the search saw other rows or began from another seed. Terms are "
        "the same where they are made of the same features; constants may differ. "
        "Further seeds: trainlaw study --repeats 3."
    )
    return table_html(caption, ["term", f"of {len(folds)} folds", seeds], rows, ["formula", "n", "n"])


_FURTHER = 6  # terms of other formulas that are shown
