"""A formula as a sum of terms: constants by name, and the share of the time that each term explains."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from trainlaw.formulas import (
    Apply,
    Constant,
    Expression,
    Formula,
    Unit,
    UnitError,
    Variable,
    additive_terms,
    constant_units,
    constants,
    evaluate,
    fold,
    substitute,
)

_MOST_TERMS = 60  # a product of sums is written out only as far as a person would read it


@dataclass(frozen=True)
class NamedConstant:
    """A constant of a formula that can be changed by name; `unit` is None where any unit would do."""

    name: str
    value: float
    unit: Unit | None


def plain_expression(formula: Formula) -> Expression:
    """Return the expression with each grouped constant at its default, the value for a group without data."""
    return substitute(formula.expression, {item.name: Constant(item.default) for item in formula.grouped})


def terms(expression: Expression) -> list[Expression]:
    """Return expressions whose sum is `expression`; products and quotients of sums are written out.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> [to_text(term) for term in terms(parse_text("(2 * a + b) * exp(c) + d"))]
    ['2 * a * exp(c)', 'b * exp(c)', 'd']
    """
    found = []
    for term in additive_terms(expression):
        found.extend(_spread(term))
    return found


def _spread(term: Expression) -> list[Expression]:
    if not isinstance(term, Apply) or term.operator not in ("mul", "div", "neg"):
        return [term]
    left = terms(term.arguments[0])
    right = terms(term.arguments[1]) if term.operator == "mul" else [*term.arguments[1:]] or [None]
    if len(left) * len(right) == 1 or len(left) * len(right) > _MOST_TERMS:
        return [term]
    return [
        Apply(term.operator, (first,) if second is None else (first, second))
        for first in left
        for second in right
    ]


def with_named_constants(formula: Formula) -> tuple[Expression, tuple[NamedConstant, ...]]:
    """Return the expression with `constant_1`, `constant_2`, ... in place of its numbers, and those numbers.

    Names that are features of the formula are skipped.
    """
    expression = plain_expression(formula)
    taken = {spec.name for spec in formula.features}
    values = constants(expression)
    units = _units(expression, formula)
    free = (name for name in map("constant_{}".format, range(1, 10**6)) if name not in taken)
    found = tuple(NamedConstant(next(free), value, unit) for value, unit in zip(values, units, strict=True))
    following = iter(found)
    named = fold(
        expression,
        lambda node: Variable(next(following).name),
        lambda node: node,
        lambda node, arguments: Apply(node.operator, arguments),
    )
    return named, found


def _units(expression: Expression, formula: Formula) -> tuple[Unit | None, ...]:
    try:
        return constant_units(
            expression, {spec.name: spec.unit for spec in formula.features}, formula.target.unit
        )
    except UnitError:
        # A formula that a person wrote may mix units; it can be computed all the same.
        return (None,) * len(constants(expression))


def term_values(formula: Formula, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return each term's value, in the target's unit, shape (n_terms, n_runs); nan where invalid.

    columns : the used features by name, each of shape (n_runs,).
    """
    used = {spec.name: np.asarray(columns[spec.name]) for spec in formula.used_features}
    rows = []
    for term in terms(plain_expression(formula)):
        values, valid = evaluate(term, used)
        rows.append(np.where(valid, values, np.nan))
    return np.array(rows)


def median_shares(formula: Formula, columns: Mapping[str, np.ndarray]) -> tuple[float, ...]:
    """Return the median over runs of each term's share in the total, in the order of `terms`."""
    values = term_values(formula, columns)
    return tuple(float(share) for share in np.nanmedian(values / values.sum(axis=0), axis=1))
