"""What is proved about a formula over its training ranges, and how stable its terms are, as tables."""

from dataclasses import dataclass

from trainlaw.app.models.errors import OURS
from trainlaw.app.models.terms import plain_expression
from trainlaw.app.studies.result import StudyOutcome, further_terms
from trainlaw.app.text.html import Table
from trainlaw.app.text.numbers import show_number
from trainlaw.formulas import Expression, Formula, Proof, prove_monotone, prove_sign

# Enough for formulas of one page; a claim that needs more boxes is left undecided rather than waited for.
_MAX_BOXES = 2048
_MOST_FURTHER_TERMS = 6


@dataclass(frozen=True)
class Claim:
    """A statement about the formula over the box of its training ranges, and its proof."""

    statement: str
    proof: Proof


def claims(formula: Formula) -> tuple[Claim, ...]:
    """Return the claims about a predicted time: it is not negative, and never falls as a feature grows.

    Where the second is refuted with a witness, the opposite is tried.
    """
    expression = plain_expression(formula)
    box = {spec.name: formula.ranges[spec.name] for spec in formula.used_features}
    sign = prove_sign(expression, box, max_boxes=_MAX_BOXES, simplify_seconds=0)
    found = [Claim("the time is never negative", sign)]
    for spec in formula.used_features:
        found += _trend(expression, spec.name, box)
    return tuple(found)


def _trend(expression: Expression, name: str, box: dict[str, tuple[float, float]]) -> list[Claim]:
    rising = _monotone(expression, name, box, 1)
    found = [Claim(f"the time never falls as {name} grows", rising)]
    if rising.status == "refuted":
        found.append(Claim(f"the time never rises as {name} grows", _monotone(expression, name, box, -1)))
    return found


def _monotone(
    expression: Expression, name: str, box: dict[str, tuple[float, float]], direction: int
) -> Proof:
    return prove_monotone(expression, name, box, direction, max_boxes=_MAX_BOXES, simplify_seconds=0)


def property_table(formula: Formula) -> Table:
    """Return the claims as a table: proved, refuted with a point, or undecided."""
    rows = [[claim.statement, claim.proof.status, _witness(claim.proof)] for claim in claims(formula)]
    return Table(["claim", "result", "counterexample"], rows, ["long", "symbol", "long"])


def _witness(proof: Proof) -> str:
    if not proof.witness:
        return ""
    return ", ".join(f"{name} = {show_number(value)}" for name, value in proof.witness[0].items())


def stability_table(outcome: StudyOutcome) -> Table:
    """Return how often each term recurs in the formulas of the folds and of further seeds."""
    folds = [formula for (_, name), formula in outcome.result.formulas.items() if name == OURS]
    n_seeds = len(outcome.repeats)
    rows: list[list[object]] = [
        [item.term, item.in_folds, item.in_seeds if n_seeds else "not run"] for item in outcome.returns
    ]
    further = list(further_terms(outcome.formula, [*folds, *outcome.repeats]).items())
    for features, count in further[:_MOST_FURTHER_TERMS]:
        rows.append(
            [f"not in this formula, found {count} times: {', '.join(features) or 'a constant'}", "", ""]
        )
    seeds = f"of {n_seeds} further seeds" if n_seeds else "of further seeds"
    return Table(["term", f"of {len(folds)} folds", seeds], rows, ["formula", "n", "n"])
