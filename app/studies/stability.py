"""How often each term of the delivered formula returns in the searches of other folds and other seeds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainlaw.app.models.terms import terms_of
from trainlaw.formulas import Expression, Formula, to_text, variables


@dataclass(frozen=True)
class TermReturns:
    """A term of the delivered formula, and in how many of the formulas of folds and of seeds it occurs.

    Terms are the same where they are made of the same features; constants and powers may differ.
    """

    term: str
    features: tuple[str, ...]
    in_folds: int
    in_seeds: int


def term_returns(
    formula: Formula, folds: Sequence[Formula], seeds: Sequence[Formula] = ()
) -> tuple[TermReturns, ...]:
    """Return one entry per term of `formula`, in the order of `terms_of`."""
    by_fold, by_seed = ([_kinds(other) for other in others] for others in (folds, seeds))
    return tuple(
        TermReturns(
            to_text(term, 3),
            tuple(sorted(kind)),
            sum(kind in kinds for kinds in by_fold),
            sum(kind in kinds for kinds in by_seed),
        )
        for term in terms_of(formula)
        for kind in (_kind(term),)
    )


def further_terms(formula: Formula, others: Iterable[Formula]) -> dict[tuple[str, ...], int]:
    """Return the terms that `formula` lacks, as their features, and how many of the `others` have each."""
    own, counts = _kinds(formula), dict[tuple[str, ...], int]()
    for other in others:
        for kind in sorted(_kinds(other) - own, key=sorted):
            counts[tuple(sorted(kind))] = counts.get(tuple(sorted(kind)), 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _kind(term: Expression) -> frozenset[str]:
    return frozenset(variables(term))


def _kinds(formula: Formula) -> set[frozenset[str]]:
    return {_kind(term) for term in terms_of(formula)}
