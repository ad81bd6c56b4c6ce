"""The value of an expression over columns of numbers."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.algebra.expression import Expression, fold, variables
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.scalars import scalar_function
from trainlaw.formulas.errors import InputError, check_name, shown


def evaluate(
    expression: Expression, columns: Mapping[str, NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the values of an expression and whether each is valid; numbers never raise.

    A row is valid where EVERY node is finite, not only the root: 1/exp(1000) is invalid, as it is in a
    spreadsheet and in Python, though IEEE arithmetic would make it 0.

    Parameters
    ----------
    expression : Expression
        Any expression.
    columns : mapping of str to ndarray, shape (n_rows,)
        Values per variable name, in the variable's unit; without any column n_rows is 1.

    Returns
    -------
    values : ndarray of float64, shape (n_rows,)
        Values, also where they are not valid.
    valid : ndarray of bool, shape (n_rows,)
        Whether every node is finite.

    Raises
    ------
    UnknownNameError
        If a variable has no column.
    InputError
        If the columns differ in length.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> values, valid = evaluate(parse_text("inv(x)"), {"x": np.array([2.0, 0.0])})
    >>> values, valid
    (array([0.5, inf]), array([ True, False]))
    """
    shape = _common_shape(columns)
    valid = np.ones(shape, dtype=bool)
    if shape == (1,):
        value = _of_one_row(expression, columns)
        if value is not None:
            return np.array([value]), valid

    def checked(value: NDArray[np.float64]) -> NDArray[np.float64]:
        np.logical_and(valid, np.isfinite(value), out=valid)
        return value

    def column(name: str) -> NDArray[np.float64]:
        check_name("column", name, columns)
        return checked(np.asarray(columns[name], dtype=np.float64))

    with np.errstate(all="ignore"):
        values = fold(
            expression,
            lambda node: checked(np.asarray(node.value, dtype=np.float64)),
            lambda node: column(node.name),
            lambda node, arguments: checked(OPERATORS[node.operator].function(*arguments)),
        )
    return np.array(np.broadcast_to(values, shape)), valid


def _of_one_row(expression: Expression, columns: Mapping[str, NDArray[np.float64]]) -> float | None:
    """Return the value where it is valid, else None."""
    compute = scalar_function(expression)
    try:
        values = {name: float(columns[name].item()) for name in variables(expression)}
    except KeyError:
        return None
    value = math.nan if compute is None else compute(values)
    return None if math.isnan(value) else value


def _common_shape(columns: Mapping[str, NDArray[np.float64]]) -> tuple[int]:
    """Return the shape (n,) of all columns."""
    sizes = {np.size(column) for column in columns.values()}
    if len(sizes) > 1:
        lengths = {name: np.size(column) for name, column in columns.items()}
        raise InputError(f"expected columns of one length, got rows: {shown(lengths, limit=200)}")
    return (sizes.pop() if sizes else 1,)
