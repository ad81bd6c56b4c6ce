"""Terms by their features: how often each is found again, in folds, with other seeds, in resampled groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from trainlaw.app.models.term_descriptions import described_terms
from trainlaw.app.models.terms import parts_of
from trainlaw.formulas import Formula, to_text
from trainlaw.validate.chosen_again import CHOSEN_AGAIN

#: How often the groups of a search on all rows are resampled, to see which terms are chosen again.
RESAMPLES = 200
_Shares = Mapping[frozenset[str], float]


def kinds_of(formula: Formula) -> set[frozenset[str]]:
    """Return the features of each term of a formula."""
    return {part.features for part in parts_of(formula)}


def amounts_of(formula: Formula) -> frozenset[str]:
    """Return the features that have a unit; the others are factors."""
    return frozenset(spec.name for spec in formula.features if not spec.unit.is_dimensionless)


class TermShares(NamedTuple):
    """In which share of the resamples the chosen formula has a term; empty where nothing was resampled.

    terms : by all features of the term. amounts : by those with a unit, whatever the factors.
    """

    terms: _Shares
    amounts: _Shares

    @classmethod
    def of(cls, chosen: Iterable[tuple[Formula, float]]) -> Self:
        """Return the shares of the terms of chosen formulas, each with its share of the resamples."""
        terms: dict[frozenset[str], float] = {}
        amounts: dict[frozenset[str], float] = {}
        for formula, share in chosen:
            kinds, with_unit = kinds_of(formula), amounts_of(formula)
            for found, of_formula in ((terms, kinds), (amounts, {kind & with_unit for kind in kinds})):
                for kind in of_formula:
                    found[kind] = found.get(kind, 0.0) + share
        return cls(terms, amounts)

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> Self:
        """Return what `to_json` wrote."""
        return cls(*({frozenset(kind): float(share) for kind, share in shares} for shares in value))

    def to_json(self) -> list[list[list[object]]]:
        """Return plain JSON, in a fixed order."""
        return [sorted([sorted(kind), share] for kind, share in shares.items()) for shares in self]


def chosen_again_json(formula: Formula, searches: Sequence[TermShares]) -> dict[str, object]:
    """Return the entry of `chosen_again` for a formula's errors; {} where nothing was resampled."""
    terms = chosen_again(formula, searches)
    seeds = sum(bool(shares.terms) for shares in searches)
    return {CHOSEN_AGAIN: {"resamples": RESAMPLES, "seeds": seeds, "terms": terms}} if terms else {}


def chosen_again(formula: Formula, searches: Sequence[TermShares]) -> list[dict[str, object]]:
    """Return, as plain JSON, the terms of `formula` in the order of `parts_of` and how often they are chosen.

    searches : one per random seed; shares are means over them. Terms with the same features are one entry.
    Without searches, or where nothing was resampled, there are no entries.
    """
    resampled = [shares for shares in searches if shares.terms]
    if not resampled:
        return []
    with_unit = amounts_of(formula)
    return [
        {
            "features": sorted(kind),
            "share": _mean(kind, [shares.terms for shares in resampled]),
            "amount_share": _mean(kind & with_unit, [shares.amounts for shares in resampled]),
        }
        for kind in dict.fromkeys(part.features for part in parts_of(formula))
    ]


def _mean(kind: frozenset[str], searches: Sequence[_Shares]) -> float:
    return round(sum(shares.get(kind, 0.0) for shares in searches) / len(searches), 3)


@dataclass(frozen=True)
class StudiedTerm:
    """A term of the delivered formula: its share of the time, and how many other formulas have it.

    share : of the predicted time, mean over all rows; those of a formula sum to 1. in_folds, in_seeds : the
    formulas of other folds and seeds with a term of the same features; constants and powers may differ.
    """

    name: str
    text: str
    features: tuple[str, ...]
    share: float
    in_folds: int
    in_seeds: int


def studied_terms(
    formula: Formula, shares: Sequence[float], folds: Sequence[Formula], seeds: Sequence[Formula] = ()
) -> tuple[StudiedTerm, ...]:
    """Return the terms of a formula in the order of `parts_of`, which `shares` have, too."""
    by_fold, by_seed = ([kinds_of(other) for other in others] for others in (folds, seeds))
    return tuple(
        StudiedTerm(
            term.name,
            to_text(term.part.expression, 3),
            tuple(sorted(term.part.features)),
            share,
            sum(term.part.features in kinds for kinds in by_fold),
            sum(term.part.features in kinds for kinds in by_seed),
        )
        for term, share in zip(described_terms(formula), shares, strict=True)
    )


def further_terms(formula: Formula, others: Iterable[Formula]) -> dict[tuple[str, ...], int]:
    """Return the terms that `formula` lacks, as their features, and how many of the `others` have each."""
    present, counts = kinds_of(formula), dict[tuple[str, ...], int]()
    for other in others:
        for kind in sorted(kinds_of(other) - present, key=sorted):
            counts[tuple(sorted(kind))] = counts.get(tuple(sorted(kind)), 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
