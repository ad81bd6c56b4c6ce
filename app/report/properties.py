"""Proven properties of a formula, as a table of the report."""

from trainlaw.app.text.tables import Table, TableColumn
from trainlaw.formulas import Elasticities, Formula, Proof

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
