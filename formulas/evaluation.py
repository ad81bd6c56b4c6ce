"""The value of an expression over columns of numbers."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.errors import InputError, shown, unknown_name
from trainlaw.formulas.expression import Expression, fold, variables
from trainlaw.formulas.operators import OPERATORS


def evaluate(
    expression: Expression, columns: Mapping[str, NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return values, float64, shape (n,), and which are valid, bool, shape (n,); never raises on numbers.

    columns : one float64 array of shape (n,) per variable name; without any column n is 1.
    A row is valid where EVERY node is finite, not only the root: 1/exp(1000) is invalid, as it is in a
    spreadsheet and in Python, though IEEE arithmetic would make it 0.
    Raises UnknownNameError for a variable without a column, InputError for columns of different lengths.

    >>> from trainlaw.formulas.text import parse_text
    >>> values, valid = evaluate(parse_text("inv(x)"), {"x": np.array([2.0, 0.0])})
    >>> values, valid
    (array([0.5, inf]), array([ True, False]))
    """
    for name in variables(expression):
        if name not in columns:
            raise unknown_name("column", name, columns)
    arrays = {name: np.asarray(columns[name], dtype=np.float64) for name in variables(expression)}
    shape = _common_shape(columns)
    valid = np.ones(shape, dtype=bool)

    def checked(value: NDArray[np.float64]) -> NDArray[np.float64]:
        np.logical_and(valid, np.isfinite(value), out=valid)
        return value

    with np.errstate(all="ignore"):
        values = fold(
            expression,
            lambda node: checked(np.asarray(node.value, dtype=np.float64)),
            lambda node: checked(arrays[node.name]),
            lambda node, arguments: checked(OPERATORS[node.operator].function(*arguments)),
        )
    return np.array(np.broadcast_to(values, shape)), valid


def _common_shape(columns: Mapping[str, NDArray[np.float64]]) -> tuple[int]:
    """Return the shape (n,) of all columns."""
    lengths = {name: np.size(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"expected columns of one length, got rows: {shown(lengths, limit=200)}")
    return (next(iter(lengths.values()), 1),)
