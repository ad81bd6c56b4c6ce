"""A formula as a sum of terms: constants by name, and the share of the time that each term explains."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from trainlaw.formulas import (
    Apply,
    Expression,
    Formula,
    RowSums,
    Unit,
    UnitError,
    Variable,
    constants,
    evaluate,
    variables,
)
from trainlaw.formulas.algebra.expression import additive_terms, count_nodes, rebuilt
from trainlaw.formulas.algebra.unit_inference import constant_units

# Beyond these limits an expanded product of sums is harder to read than the product.
_MOST_TERMS = 60
_MOST_GROWTH = 4


class NamedConstant(NamedTuple):
    """A constant of a formula that can be changed by name; `unit` is None where any unit would do."""

    name: str
    value: float
    unit: Unit | None


def terms_of(formula: Formula) -> list[Expression]:
    """Return expressions whose sum the formula is; products and quotients of sums of times are written out.

    A sum without any quantity that has a unit is a factor, and stays whole.
    """
    return _terms(formula.ungrouped, _with_unit(formula))


def _with_unit(formula: Formula) -> set[str]:
    return {spec.name for spec in formula.features if not spec.unit.is_dimensionless}


def _terms(expression: Expression, with_unit: set[str]) -> list[Expression]:
    if not with_unit.intersection(variables(expression)):
        return [expression]
    return [part for term in additive_terms(expression) for part in _spread(term, with_unit)]


def _spread(term: Expression, with_unit: set[str]) -> list[Expression]:
    """A product or quotient as several, one per term of its factors; any other term as it is."""
    if not isinstance(term, Apply) or term.operator not in ("mul", "div", "neg"):
        return [term]
    factors = [_terms(argument, with_unit) for argument in term.arguments]
    if term.operator == "div":
        factors[1] = [term.arguments[1]]
    if not 1 < prod(map(len, factors)) <= _MOST_TERMS:
        return [term]
    written_out: list[Expression] = [Apply(term.operator, arguments) for arguments in product(*factors)]
    grown = sum(map(count_nodes, written_out)) > _MOST_GROWTH * count_nodes(term)
    return [term] if grown else written_out


@dataclass(frozen=True)
class Part:
    """A term as it counts: where its side of every maximum around it is the largest one.

    expression : the term. against : triples of the side that holds it, another side, and whether it must be
    larger; a first side also wins where both are equal.
    """

    expression: Expression
    against: tuple[tuple[Expression, Expression, bool], ...] = ()

    @property
    def features(self) -> frozenset[str]:
        """The features of the term: terms with the same ones count as equal, whatever their constants."""
        return frozenset(variables(self.expression))


def parts_of(formula: Formula, expression: Expression | None = None) -> list[Part]:
    """Return the terms of a formula, those inside maxima one by one; in each row their values add up to it.

    expression : the formula's, perhaps with named constants; None for `formula.ungrouped`. Products and
    quotients of sums are written out as by `terms_of`.
    """
    whole, with_unit = formula.ungrouped if expression is None else expression, _with_unit(formula)
    return _parts(whole, with_unit, ())


def _parts(
    expression: Expression, with_unit: set[str], against: tuple[tuple[Expression, Expression, bool], ...]
) -> list[Part]:
    if not with_unit.intersection(variables(expression)):
        return [Part(expression, against)]
    found = []
    for term in additive_terms(expression):
        if isinstance(term, Apply) and term.operator == "max":
            for place, side in enumerate(term.arguments):
                numbered = enumerate(term.arguments)
                lost = tuple((side, other, number < place) for number, other in numbered if number != place)
                found += _parts(side, with_unit, against + lost)
        else:
            found += [Part(written, against) for written in _spread(term, with_unit)]
    return found


def with_named_constants(formula: Formula) -> tuple[Expression, tuple[NamedConstant, ...]]:
    """Return the expression with `constant_1`, `constant_2`, ... in place of its numbers, and those numbers.

    Names that are features of the formula are skipped.
    """
    expression = formula.ungrouped
    given = {spec.name: spec.unit for spec in formula.features}
    try:
        units = constant_units(expression, given, formula.target.unit)
    except UnitError:
        # A formula that the user wrote may mix units; it can still be computed.
        units = (None,) * len(constants(expression))
    values = constants(expression)
    free = (name for name in map("constant_{}".format, range(1, 10**6)) if name not in given)
    found = tuple(NamedConstant(next(free), value, unit) for value, unit in zip(values, units, strict=True))
    following = iter(found)
    return rebuilt(expression, constant=lambda node: Variable(next(following).name)), found


def part_values(
    formula: Formula, columns: Mapping[str, np.ndarray], sums: RowSums | None = None
) -> np.ndarray:
    """Return each part's value, in the target's unit, shape (n_parts, n_runs); nan where invalid.

    A part on a side of a maximum that is not the largest counts as 0.

    columns : the used features by name, each of shape (n_rows,). sums : which rows, such as layers, make up
    each run; None where each row is a run.
    """
    used = {spec.name: np.asarray(columns[spec.name]) for spec in formula.used_features}
    length = len(next(iter(columns.values()))) if columns else 1
    rows = []

    @cache
    def value(expression: Expression) -> np.ndarray:
        # A term without features is the same for every row.
        return np.broadcast_to(values_of(expression, used), length)

    for part in parts_of(formula):
        of_rows = value(part.expression)
        for side, other, larger in part.against:
            wins = value(side) > value(other) if larger else value(side) >= value(other)
            of_rows = np.where(wins, of_rows, 0.0)
        rows.append(of_rows if sums is None else sums.apply(of_rows))
    return np.array(rows)


def values_of(expression: Expression, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the values of an expression, nan where invalid; columns of one shape, or numbers."""
    names = variables(expression)
    shape = np.broadcast_shapes(*(np.shape(columns[name]) for name in names)) if names else ()
    flat = {name: np.broadcast_to(columns[name], shape).ravel() for name in names}
    values, valid = evaluate(expression, flat)
    return np.where(valid, values, np.nan).reshape(shape) if names else np.where(valid, values, np.nan)


def mean_shares(
    formula: Formula, columns: Mapping[str, np.ndarray], sums: RowSums | None = None
) -> tuple[float, ...]:
    """Return the mean over runs of each part's share in the total, in the order of `parts_of`; sum 1.

    columns, sums : as for `part_values`.
    """
    values = part_values(formula, columns, sums)
    return tuple(float(share) for share in np.nanmean(values / values.sum(axis=0), axis=1))
