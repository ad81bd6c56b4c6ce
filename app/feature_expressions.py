"""A feature as an expression over raw columns, for a workbook or a page to compute from a GPU and a CNN.

The feature table of `datasets` holds one numpy function per feature. Called with symbols in place of columns,
that same function writes down what it computes, so there is no second definition that could differ.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from trainlaw.datasets import FEATURES
from trainlaw.formulas import Apply, Constant, Expression, InputError, Variable, unknown_name

_OPERATOR_OF = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "div",
    np.negative: "neg",
    np.maximum: "max",
    np.minimum: "min",
    np.power: "pow",
    np.sqrt: "sqrt",
    np.square: "square",
    np.exp: "exp",
    np.log: "log",
    np.abs: "abs",
}


class _Symbol(NDArrayOperatorsMixin):
    """Stands for a column and records what numpy is asked to do with it."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arguments = tuple(map(_expression, inputs))
        if method == "__call__" and function in _OPERATOR_OF:
            return _Symbol(Apply(_OPERATOR_OF[function], arguments))
        if function is np.greater:
            return _Symbol(_greater(*arguments))
        if function is np.log2:
            return _Symbol(Apply("div", (Apply("log", arguments), Constant(float(np.log(2.0))))))
        if function is np.isnan:
            return False  # the tables that we write have no unknown values; see `known_gpu_values`
        return NotImplemented

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if function is np.where and isinstance(inputs[0], bool):
            return inputs[1] if inputs[0] else inputs[2]
        if function is np.full_like:
            return _Symbol(Constant(float(inputs[1])))
        return NotImplemented

    def astype(self, kind: Any) -> "_Symbol":
        """Return itself: expressions know float64 only."""
        return self


class _Symbols(Mapping[str, _Symbol]):
    """What the function of the feature `asked` sees: raw columns as variables, other features written out."""

    def __init__(self, asked: str) -> None:
        self.asked = asked

    def __getitem__(self, name: str) -> _Symbol:
        # A feature that asks for a column of its own name is that column.
        raw = name == self.asked or name not in FEATURES
        return _Symbol(Variable(name) if raw else feature_expression(name))

    def __iter__(self) -> Iterator[str]:
        return iter(FEATURES)

    def __len__(self) -> int:
        return len(FEATURES)


def _expression(value: Any) -> Expression:
    return value.expression if isinstance(value, _Symbol) else Constant(float(value))


def _greater(left: Expression, right: Expression) -> Expression:
    """1 where left > right, else 0: `step` is a half where both are equal, so that half is cut away."""
    step = Apply("step", (Apply("sub", (left, right)),))
    return Apply("max", (Apply("sub", (Apply("mul", (Constant(2.0), step)), Constant(1.0))), Constant(0.0)))


def feature_expression(name: str) -> Expression:
    """Return a feature as an expression over raw columns of runs, GPUs and CNNs, in the feature's unit.

    Raises UnknownNameError for an unknown feature, InputError where the feature's function has no such form.

    >>> from trainlaw.formulas import to_text
    >>> to_text(feature_expression("cores_per_sm"))
    'core_count / sm_count'
    """
    if name not in FEATURES:
        raise unknown_name("feature", name, FEATURES)
    try:
        return _expression(FEATURES[name].function(_Symbols(name)))
    except TypeError as error:
        raise InputError(f"feature {name!r} has no form as an expression: {error}") from None
