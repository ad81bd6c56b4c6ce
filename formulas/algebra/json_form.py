"""An expression as plain JSON: a number, a name, or a list of an operator and its arguments."""

from trainlaw.formulas.algebra.expression import (
    MAX_DEPTH,
    Apply,
    Constant,
    Expression,
    Variable,
    check_size,
    fold,
)
from trainlaw.formulas.algebra.operators import operator_named
from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.codec import finite_number

MAX_NAME = 200


def to_json(expression: Expression) -> object:
    """Return the expression as numbers, texts and lists.

    >>> to_json(Apply("mul", (Constant(2.0), Variable("x"))))
    ['mul', 2.0, 'x']
    """
    return fold(
        expression,
        lambda node: node.value,
        lambda node: node.name,
        lambda node, arguments: [node.operator, *arguments],
    )


def from_json(value: object) -> Expression:
    """Return the expression that `to_json` wrote.

    Raises InputError for anything else, for numbers that are not finite, and for more than MAX_NODES nodes or
    MAX_DEPTH levels; UnknownNameError for an operator that is not in the table.

    >>> from_json(["neg", "x"])
    -x
    """
    return check_size(_read(value, 1))


def _read(item: object, level: int) -> Expression:
    # A file may nest more deeply than Python can recurse.
    if level > MAX_DEPTH:
        raise InputError(f"expected at most {MAX_DEPTH} nested levels in a formula, got more")
    if isinstance(item, list) and item and isinstance(item[0], str):
        operator = operator_named(item[0])
        if len(item) - 1 != operator.arity:
            raise InputError(f"expected {operator.arity} arguments of {operator.name!r}, got {shown(item)}")
        return Apply(operator.name, tuple([_read(argument, level + 1) for argument in item[1:]]))
    if isinstance(item, str) and 0 < len(item) <= MAX_NAME:
        return Variable(item)
    if isinstance(item, int | float):
        return Constant(finite_number(item, "a constant of a formula"))
    raise InputError(f"expected a number, a name or a list [operator, argument, ...], got {shown(item)}")
