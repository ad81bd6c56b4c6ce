"""Proven properties of a formula, and how often its terms recur, as tables of the report."""

from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.terms_found import further_terms
from trainlaw.app.text.numbers import show_percent
from trainlaw.app.text.tables import Table, TableColumn
from trainlaw.formulas import Elasticities, Formula, Proof
from trainlaw.validate.chosen_again import resamples_of_groups, shares_chosen_again
from trainlaw.validate.result import OURS

_MOST_FURTHER_TERMS = 6


#: A statement about the formula over the box of its training ranges, and its proof.
Claim = tuple[str, Proof]


def claims(formula: Formula) -> list[Claim]:
    """Return the claims about a predicted time: it is not negative, and never falls as a feature grows.

    Where the second is not proved, the opposite is tried.
    """
    box = {spec.name: formula.ranges[spec.name] for spec in formula.used_features}
    proofs = Elasticities(formula.ungrouped, box)
    found = [("the time is never negative", Proof(proofs.nonnegative))]
    for name in box:
        rising, falling = (proofs.monotone(name, direction) for direction in (1, -1))
        is_falling = falling.proved and not rising.proved
        statement = f"the time never {'rises' if is_falling else 'falls'} as {name} grows"
        found.append((statement, falling if is_falling else rising))
    return found


def property_table(formula: Formula) -> Table:
    """Return the claims as a table: proved, or the terms that leave them open."""
    rows = [
        [statement, "proved" if proof.proved else "not proved", "; ".join(proof.blame)]
        for statement, proof in claims(formula)
    ]
    return Table.of(["claim", TableColumn("result", "symbol"), "left open by"], rows, "long")


def stability_table(outcome: StudyOutcome) -> Table:
    """Return how often each term recurs: in folds, with further seeds, when the GPU groups are resampled."""
    folds = [formula for (_, name), formula in outcome.result.formulas.items() if name == OURS]
    n_seeds = len(outcome.repeats)
    drawn = shares_chosen_again(outcome.formula)
    rows: list[list[object]] = [
        [
            item.text,
            item.in_folds,
            item.in_seeds if n_seeds else "not run",
            *(show_percent(100 * share) for share in drawn.get(item.features, ())),
        ]
        for item in outcome.terms
    ]
    further = list(further_terms(outcome.formula, [*folds, *outcome.repeats]).items())
    for features, count in further[:_MOST_FURTHER_TERMS]:
        rows.append(
            [f"not in this formula, found {count} times: {', '.join(features) or 'a constant'}", "", ""]
        )
    seeds = f"of {n_seeds} further seeds" if n_seeds else "of further seeds"
    resamples = resamples_of_groups(outcome.formula)
    shares = [f"% of {resamples}", "with any factors"] if drawn else []
    header: list[str | TableColumn] = [
        TableColumn("term", "formula"),
        f"of {len(folds)} folds",
        seeds,
        *shares,
    ]
    filled = [[*row, *[""] * (len(header) - len(row))] for row in rows]
    return Table.of(header, filled, "number")
