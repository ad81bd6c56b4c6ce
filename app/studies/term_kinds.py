"""Terms by their features: which of them are chosen again when the groups of a search are resampled."""

from collections.abc import Iterable, Mapping, Sequence

from trainlaw.app.models.terms import parts_of
from trainlaw.formulas import Expression, Formula, variables


def kind_of(term: Expression) -> frozenset[str]:
    """Return the features of a term: terms with the same ones count as equal, whatever their constants."""
    return frozenset(variables(term))


def kinds_of(formula: Formula) -> set[frozenset[str]]:
    """Return the features of each term of a formula."""
    return {kind_of(part.expression) for part in parts_of(formula)}


def term_shares(chosen: Iterable[tuple[Formula, float]]) -> dict[frozenset[str], float]:
    """Return the terms of chosen formulas, by their features, and the sum of the shares that have each."""
    found: dict[frozenset[str], float] = {}
    for formula, share in chosen:
        for kind in sorted(kinds_of(formula), key=sorted):
            found[kind] = found.get(kind, 0.0) + share
    return found


def chosen_again(
    formula: Formula, searches: Sequence[Mapping[frozenset[str], float]]
) -> list[dict[str, object]]:
    """Return, as plain JSON, the terms of `formula` in the order of `parts_of` and how often they are chosen.

    searches : per random seed what `term_shares` returned; a share is the mean over them. Terms with the
    same features are one entry. Without searches, or where nothing was resampled, there are no entries.
    """
    drawn = [shares for shares in searches if shares]
    kinds = dict.fromkeys(kind_of(part.expression) for part in parts_of(formula)) if drawn else {}
    return [
        {
            "features": sorted(kind),
            "share": round(sum(shares.get(kind, 0.0) for shares in drawn) / len(drawn), 3),
        }
        for kind in kinds
    ]
