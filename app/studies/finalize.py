"""Post-process search results: simplify, round constants, drop unused features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from trainlaw.formulas import (
    Expression,
    Formula,
    ParetoFront,
    RowSums,
    ScoredFormula,
    complexity,
    round_constants,
)
from trainlaw.formulas.simplification import simplify_all

_SIMPLIFY_SECONDS = 30.0  # far more than it takes, so that a busy machine does not change the result


def readable_formulas(
    formula: Formula,
    front: ParetoFront,
    columns: Mapping[str, np.ndarray],
    seconds: np.ndarray,
    sums: RowSums | None = None,
) -> tuple[Formula, ParetoFront]:
    """Return the formula with short constants, and the front, both simplified.

    columns : the searched features by name, each (n_rows,). seconds : measured, (n_runs,). sums : which rows,
    such as layers, make up each run; None where each row is a run.
    """
    chosen, *others = _simplified([formula, *(member.formula for member in front)], columns)
    readable = replace(chosen, expression=_readable(chosen.expression, columns, seconds, sums))
    smaller = ParetoFront.of(
        ScoredFormula(_only_used(other), member.loss, complexity(other.expression), member.validation_loss)
        for member, other in zip(front, others, strict=True)
    )
    return _only_used(readable), smaller


def _simplified(formulas: Sequence[Formula], columns: Mapping[str, np.ndarray]) -> list[Formula]:
    expressions = simplify_all([formula.expression for formula in formulas], columns, _SIMPLIFY_SECONDS)
    return [
        replace(formula, expression=shorter) for formula, shorter in zip(formulas, expressions, strict=True)
    ]


def _readable(
    expression: Expression, columns: Mapping[str, np.ndarray], seconds: np.ndarray, sums: RowSums | None
) -> Expression:
    """Short constants; once they are round, more of them merge, and those are made short in turn."""
    rounded = round_constants(expression, columns, seconds, sums=sums).expression
    merged = simplify_all([rounded], columns, _SIMPLIFY_SECONDS)[0]
    return round_constants(merged, columns, seconds, sums=sums).expression


def _only_used(formula: Formula) -> Formula:
    used = formula.used_features
    ranges = {spec.name: formula.ranges[spec.name] for spec in used}
    return replace(formula, features=used, ranges=ranges)
