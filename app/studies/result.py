"""The result of a study: formula, front, held-out errors, and how often each term was selected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from trainlaw.app.models.terms import parts_of
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.term_kinds import kind_of, kinds_of
from trainlaw.formulas import Formula, ParetoFront, to_text
from trainlaw.validate import LevelError, StudyResult


@dataclass(frozen=True)
class TermReturns:
    """A term of the delivered formula, and in how many formulas of other folds and seeds it occurs.

    Terms are equal where they have the same features; constants and powers may differ.
    """

    term: str
    features: tuple[str, ...]
    in_folds: int
    in_seeds: int


@dataclass(frozen=True)
class StudyOutcome:
    """A finished or interrupted study.

    formula : from the search on all rows; its `errors` are those of the folds
    front : Pareto front of that search
    result : held-out predictions and the formula of each finished fold
    held_out : GPU groups by name of the fold
    shares : share of each term in the predicted time, mean over all rows; they sum to 1
    training_loss : the formula's loss in the search on all rows
    columns : the formula's features of all rows of the table, by name, each (n_runs,); for a formula of one
        layer their sums over the layers, pure numbers averaged
    levels : the error by what is known of the target GPU
    returns : how often each term was selected; repeats : formulas of further searches with other seeds
    matrices : errors by training and test platform, by label (see `cross_platform`)
    definition : of the study
    verdict : lines to be read first: nothing learned, a better baseline, calibration instead
    missing : sentences on what an interrupted study lacks
    absent : baselines that cannot run here, with the package to install; provenance : plain JSON values
    """

    formula: Formula
    front: ParetoFront
    result: StudyResult
    held_out: Mapping[str, tuple[str, ...]]
    shares: tuple[float, ...]
    training_loss: float
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    levels: tuple[LevelError, ...] = ()
    returns: tuple[TermReturns, ...] = ()
    repeats: tuple[Formula, ...] = ()
    matrices: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    definition: StudyDefinition = field(default_factory=StudyDefinition)
    verdict: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, object] = field(default_factory=dict)


def term_returns(
    formula: Formula, folds: Sequence[Formula], seeds: Sequence[Formula] = ()
) -> tuple[TermReturns, ...]:
    """Return one entry per term of `formula`, in the order of `parts_of`."""
    by_fold, by_seed = ([kinds_of(other) for other in others] for others in (folds, seeds))
    return tuple(
        TermReturns(
            to_text(term, 3),
            tuple(sorted(kind)),
            sum(kind in kinds for kinds in by_fold),
            sum(kind in kinds for kinds in by_seed),
        )
        for term in (part.expression for part in parts_of(formula))
        for kind in (kind_of(term),)
    )


def further_terms(formula: Formula, others: Iterable[Formula]) -> dict[tuple[str, ...], int]:
    """Return the terms that `formula` lacks, as their features, and how many of the `others` have each."""
    own, counts = kinds_of(formula), dict[tuple[str, ...], int]()
    for other in others:
        for kind in sorted(kinds_of(other) - own, key=sorted):
            counts[tuple(sorted(kind))] = counts.get(tuple(sorted(kind)), 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
