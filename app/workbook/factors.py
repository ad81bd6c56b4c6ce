"""An expression over facts of two tables, taken apart: factors per row, factors per column, and the rest.

A matrix of cells would else repeat the whole formula in each of them. What depends on the row's facts alone
is computed once per row, what depends on the column's once per column.
"""

from collections.abc import Callable
from typing import NamedTuple

from trainlaw.formulas import Apply, Constant, Expression, Variable
from trainlaw.formulas.expression import fold

ROW, COLUMN, SHARED = "row", "column", "shared"
_ONE = Constant(1.0)


class Factors(NamedTuple):
    """rows, columns : one expression per factor. cell : over the variables row_1, ..., column_1, ... ."""

    rows: tuple[Expression, ...]
    columns: tuple[Expression, ...]
    cell: Expression


class _Part(NamedTuple):
    """A product of what depends on shared names only, on the row, on the column, and on both."""

    shared: Expression | None = None
    row: Expression | None = None
    column: Expression | None = None
    rest: Expression | None = None

    @property
    def sides(self) -> set[str]:
        return {name for name, factor in self._asdict().items() if factor is not None}


def taken_apart(expression: Expression, side_of: Callable[[str], str]) -> Factors:
    """Return the factors of an expression; `side_of` tells ROW, COLUMN or SHARED of each variable.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> sides = {"macs": ROW, "peak": COLUMN, "batch": SHARED}
    >>> found = taken_apart(parse_text("6 * batch * macs / peak + 3"), sides.get)
    >>> [to_text(part) for part in (*found.rows, *found.columns, found.cell)]
    ['6 * batch * macs', '1 / peak', 'row_1 * column_1 + 3']
    """
    known: dict[str, dict[Expression, str]] = {ROW: {}, COLUMN: {}}

    def named(side: str, factor: Expression) -> Expression:
        if isinstance(factor, Constant):
            return factor
        names = known[side]
        return Variable(names.setdefault(factor, f"{side}_{len(names) + 1}"))

    def as_cell(part: _Part) -> Expression:
        row = _product(part.shared, part.row)
        factors = [named(ROW, row)] if row is not None else []
        factors += [named(COLUMN, part.column)] if part.column is not None else []
        factors += [part.rest] if part.rest is not None else []
        product = factors[0]
        for factor in factors[1:]:
            product = Apply("mul", (product, factor))
        return product

    def applied(node: Apply, parts: tuple[_Part, ...]) -> _Part:
        if node.operator == "mul":
            return _Part(*(_product(left, right) for left, right in zip(*parts, strict=True)))
        if node.operator == "div":
            return _Part(*(_quotient(left, right) for left, right in zip(*parts, strict=True)))
        sides = set().union(*(part.sides for part in parts))
        if sides <= {SHARED} or (len(sides - {SHARED}) == 1 and "rest" not in sides):
            own = next(iter(sides - {SHARED}), SHARED)
            return _Part(**{own: Apply(node.operator, tuple(map(_whole, parts)))})
        return _Part(rest=Apply(node.operator, tuple(map(as_cell, parts))))

    whole = fold(
        expression,
        lambda node: _Part(shared=node),
        lambda node: _Part(**{side_of(node.name): node}),
        applied,
    )
    cell = as_cell(whole)
    return Factors(tuple(known[ROW]), tuple(known[COLUMN]), cell)


def _whole(part: _Part) -> Expression:
    """A part of one side as one expression."""
    product = None
    for factor in part:
        product = _product(product, factor)
    return product or _ONE


def _product(left: Expression | None, right: Expression | None) -> Expression | None:
    return Apply("mul", (left, right)) if left is not None and right is not None else left or right


def _quotient(left: Expression | None, right: Expression | None) -> Expression | None:
    return left if right is None else Apply("div", (left or _ONE, right))
