"""The derivatives of an expression, from the partial derivatives of the operator table."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.algebra.expression import Apply, Constant, Expression, Variable, fold
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.text import parse_text


@cache
def partials(operator: str) -> tuple[Expression, ...]:
    """Return the partial derivatives of an operator, in the variables a and b."""
    return tuple(parse_text(text) for text in OPERATORS[operator].partials)


class _Step(NamedTuple):
    """A node with the places of its arguments, its value, and whether a variable of interest occurs in it."""

    node: Expression
    places: tuple[int, ...]
    value: Any
    moves: bool


def value_and_slopes(
    expression: Expression, columns: Mapping[str, NDArray[np.float64]], names: Collection[str]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return the value of each row and its derivatives in the variables `names`, each of shape (n_rows,).

    One pass from the leaves upwards and one back (reverse accumulation), so that many constants cost little
    more than one. What is not finite stays so. At a kink of abs, min or max a derivative is the mean of both
    sides; the jump of a step has none and counts as zero.
    """
    tape: list[_Step] = []

    def leaf(node: Constant | Variable) -> int:
        moves = isinstance(node, Variable) and node.name in names
        value = columns[node.name] if isinstance(node, Variable) else node.value
        tape.append(_Step(node, (), value, moves))
        return len(tape) - 1

    def applied(node: Apply, places: tuple[int, ...]) -> int:
        value = OPERATORS[node.operator].function(*(tape[place].value for place in places))
        tape.append(_Step(node, places, value, any(tape[place].moves for place in places)))
        return len(tape) - 1

    with np.errstate(all="ignore"):
        root = fold(expression, leaf, leaf, applied)
        shape = np.shape(tape[root][2])
        slopes = [np.zeros(shape) for _ in tape]
        slopes[root] += 1.0
        found = {name: np.zeros(shape) for name in names}
        for row, slope in zip(reversed(tape), reversed(slopes), strict=True):
            if isinstance(row.node, Variable) and row.moves:
                found[row.node.name] += slope
            if isinstance(row.node, Apply) and row.moves:
                given = {name: tape[place].value for name, place in zip("ab", row.places, strict=False)}
                for place, partial in zip(row.places, partials(row.node.operator), strict=True):
                    # Elsewhere a partial derivative may not exist, as that of x^2 in the exponent.
                    if tape[place].moves:
                        slopes[place] += slope * _plain_value(partial, given)
    return tape[root].value, found


def _plain_value(expression: Expression, columns: Mapping[str, Any]) -> Any:
    return fold(
        expression,
        lambda node: node.value,
        lambda node: columns[node.name],
        lambda node, arguments: OPERATORS[node.operator].function(*arguments),
    )
