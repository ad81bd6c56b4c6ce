"""Conversion to and from sympy expressions; sympy is imported when first needed."""

import importlib
from collections.abc import Collection, Mapping
from functools import cache, reduce
from types import ModuleType
from typing import Any

from trainlaw.formulas.algebra.expression import Apply, Constant, Expression, Variable, check_size, fold
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.errors import InputError, shown

# Powers with a separate operator, by the text of sympy's exponent.
POWER_OPERATORS = {"-1": "inv", "1/2": "sqrt", "2": "square", "3": "cube"}


def to_sympy(expression: Expression, positive: Collection[str] = ()) -> Any:
    """Return the sympy expression; variables are real symbols, those named in `positive` positive ones.

    Whole numbers, halves and quarters become sympy's fractions, all others floats of 53 bits. What sympy
    cannot hold as a real value (the logarithm of -1, a division by zero) becomes what sympy makes of it;
    `from_sympy` refuses that. Raises InputError where sympy would have to compare such a value.
    """
    sympy = _sympy()

    def symbol(node: Variable) -> Any:
        return (
            sympy.Symbol(node.name, positive=True)
            if node.name in positive
            else sympy.Symbol(node.name, real=True)
        )

    def number(node: Constant) -> Any:
        exact = abs(node.value) < 2**50 and (4 * node.value).is_integer()
        return sympy.Rational(node.value) if exact else sympy.Float(node.value)

    try:
        return fold(
            expression,
            number,
            symbol,
            lambda node, arguments: OPERATORS[node.operator].sympy_form(sympy, *arguments),
        )
    except ValueError as error:
        # A division by zero cannot be compared, such as in a minimum.
        raise InputError(f"expected real, finite numbers, got sympy's {error}") from None


def from_sympy(value: Any) -> Expression:
    """Return the expression of a real sympy expression.

    Raises InputError for what the operator table cannot write: complex or infinite numbers, other functions.
    """
    sympy = _sympy()
    built: dict[Any, Expression] = {}
    for node in sympy.postorder_traversal(value):
        if node not in built:
            built[node] = _from_node(node, [built[item] for item in node.args])
    return check_size(built[value])


def _sympy() -> ModuleType:
    """Return the sympy module; its import takes longer than all of trainlaw.formulas."""
    return importlib.import_module("sympy")


def _from_node(node: Any, arguments: list[Expression]) -> Expression:
    """Return the expression of one sympy node over the expressions of its arguments."""
    if node.is_Symbol:
        return Variable(node.name)
    if node.is_number and not node.args:
        return _number(node)
    if node.is_Add or node.is_Mul:
        return _chain("add" if node.is_Add else "mul", arguments)
    if node.is_Pow:
        operator = POWER_OPERATORS.get(str(node.exp))
        return Apply(operator, (arguments[0],)) if operator else Apply("pow", tuple(arguments))
    operator = _operators_by_function().get(node.func.__name__)
    if operator is None:
        raise InputError(f"expected operators of the table, got sympy's {shown(node.func.__name__)}")
    # sympy's maximum takes any number of arguments, and its step function carries its value at the jump.
    return Apply(operator, (arguments[0],)) if OPERATORS[operator].arity == 1 else _chain(operator, arguments)


def _chain(operator: str, arguments: list[Expression]) -> Expression:
    """Return the binary `operator` over the arguments, from left to right."""
    return reduce(lambda left, right: Apply(operator, (left, right)), arguments)


def _number(node: Any) -> Expression:
    """Return the constant of a sympy number; raises InputError for one that is complex or infinite."""
    if not (node.is_real and node.is_finite):
        raise InputError(f"expected real, finite numbers, got sympy's {shown(str(node))}")
    return Constant(float(node))


@cache
def _operators_by_function() -> Mapping[str, str]:
    """Return the operator of each sympy function, found by asking every row of the table for its form."""
    sympy = _sympy()
    symbols = sympy.symbols("a b", real=True)
    forms = {name: row.sympy_form(sympy, *symbols[: row.arity]) for name, row in OPERATORS.items()}
    return {
        form.func.__name__: name
        for name, form in forms.items()
        if not (form.is_Add or form.is_Mul or form.is_Pow)
    }
