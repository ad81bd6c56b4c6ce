"""The operator table: one row per operator, and the only place where an operator is described.

No operator is protected: outside its domain it gives no finite value, and that is invalid. `scalar` is the
same value as `function`, as source text of `math` in the arguments a and b, for generated machines.
`partials` are the derivatives in a and b, in the language of `trainlaw.formulas.algebra.text`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from trainlaw.formulas.algebra import intervals
from trainlaw.formulas.errors import unknown_name


@dataclass(frozen=True, slots=True)
class UnitRule:
    """How the unit of a result follows from the units of the arguments.

    same: all arguments and the result agree. product: the result is the product of the arguments' units to
    `exponents`. dimensionless: arguments and result have none. indicator: any argument, a result without
    unit. power: the first to the second, which is a number where the first has a unit.
    """

    kind: Literal["same", "product", "dimensionless", "indicator", "power"]
    exponents: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class Operator:
    """One row of the table.

    function : numpy, float64 arrays of shape (n,) in and out. scalar : source text in a and b. sympy_form :
    called with the sympy module and the arguments. cost : its share of the complexity. partials : one text
    per argument. monotonicity : +1 rises, -1 falls, 0 depends, per argument. interval : bounds of the result
    from those of the arguments; without one, `monotonicity` gives it. definition : the same in other
    operators, for printers without a form for it.
    """

    name: str
    arity: int
    function: Callable[..., Any]
    scalar: str
    sympy_form: Callable[..., Any]
    unit_rule: UnitRule
    cost: int
    partials: tuple[str, ...]
    monotonicity: tuple[int, ...]
    interval: Callable[..., intervals.Interval] | None = None
    definition: str | None = None

    def enclose(self, *arguments: intervals.Interval) -> intervals.Interval:
        """Return bounds of the result over boxes: `arguments` and result hold one interval per box."""
        rule = self.interval or intervals.corners(self.function, self.monotonicity)
        return rule(*arguments)


def _product(*exponents: Fraction | int) -> UnitRule:
    return UnitRule("product", tuple(Fraction(exponent) for exponent in exponents))


_SAME, _PURE = UnitRule("same"), UnitRule("dimensionless")
_HALF, _THIRD = Fraction(1, 2), Fraction(1, 3)


def _cube_root(sympy: Any, a: Any) -> Any:
    """Return sympy's cbrt where the sign is known, since it is complex below zero; else a function."""
    return sympy.cbrt(a) if a.is_nonnegative else sympy.Function("cbrt", real=True)(a)


# fmt: off
_ROWS = (
    Operator("add", 2, np.add, "a + b", lambda s, a, b: a + b, _SAME, 1, ("1", "1"), (1, 1),
             intervals.add),
    Operator("sub", 2, np.subtract, "a - b", lambda s, a, b: a - b, _SAME, 1, ("1", "-1"), (1, -1),
             intervals.subtract),
    Operator("mul", 2, np.multiply, "a * b", lambda s, a, b: a * b, _product(1, 1), 1, ("b", "a"), (0, 0),
             intervals.multiply),
    Operator("div", 2, np.divide, "a / b", lambda s, a, b: a / b, _product(1, -1), 2,
             ("inv(b)", "-a / square(b)"), (0, 0), intervals.divide),
    Operator("neg", 1, np.negative, "-a", lambda s, a: -a, _SAME, 1, ("-1",), (-1,),
             intervals.negate),
    Operator("abs", 1, np.abs, "math.fabs(a)", lambda s, a: s.Abs(a), _SAME, 1, ("2 * step(a) - 1",), (0,),
             intervals.absolute),
    Operator("inv", 1, np.reciprocal, "1.0 / a", lambda s, a: 1 / a, _product(-1), 2, ("-inv(square(a))",),
             (0,), intervals.inverse, "1 / a"),
    Operator("sqrt", 1, np.sqrt, "math.sqrt(a)", lambda s, a: s.sqrt(a), _product(_HALF), 2,
             ("0.5 / sqrt(a)",), (1,), intervals.rising_from_zero(np.sqrt)),
    Operator("cbrt", 1, np.cbrt, "math.copysign(math.pow(math.fabs(a), 1.0 / 3.0), a)", _cube_root,
             _product(_THIRD), 2, ("1 / (3 * square(cbrt(a)))",), (1,)),
    Operator("square", 1, np.square, "a * a", lambda s, a: a**2, _product(2), 1, ("2 * a",), (0,),
             intervals.squared, "a * a"),
    Operator("cube", 1, lambda a: a * a * a, "a * a * a", lambda s, a: a**3, _product(3), 2,
             ("3 * square(a)",), (1,), None, "a * a * a"),
    Operator("exp", 1, np.exp, "math.exp(a)", lambda s, a: s.exp(a), _PURE, 3, ("exp(a)",), (1,),
             intervals.exponential),
    Operator("log", 1, np.log, "math.log(a)", lambda s, a: s.log(a), _PURE, 3, ("inv(a)",), (1,),
             intervals.rising_from_zero(np.log)),
    Operator("pow", 2, np.power, "math.pow(a, b)", lambda s, a, b: a**b, UnitRule("power"), 3,
             ("b * a ^ (b - 1)", "a ^ b * log(a)"), (0, 0), intervals.power),
    # The comparison with itself keeps a nan in either argument.
    Operator("min", 2, np.minimum, "a if a < b or a != a else b", lambda s, a, b: s.Min(a, b), _SAME, 2,
             ("step(b - a)", "step(a - b)"), (1, 1)),
    Operator("max", 2, np.maximum, "a if a > b or a != a else b", lambda s, a, b: s.Max(a, b), _SAME, 2,
             ("step(a - b)", "step(b - a)"), (1, 1)),
    Operator("sin", 1, np.sin, "math.sin(a)", lambda s, a: s.sin(a), _PURE, 3, ("cos(a)",), (0,),
             intervals.wave(np.sin, np.pi / 2)),
    Operator("cos", 1, np.cos, "math.cos(a)", lambda s, a: s.cos(a), _PURE, 3, ("-sin(a)",), (0,),
             intervals.wave(np.cos, 0.0)),
    Operator("tanh", 1, np.tanh, "math.tanh(a)", lambda s, a: s.tanh(a), _PURE, 3,
             ("1 - square(tanh(a))",), (1,)),
    # Half at the jump, so that the derivatives of abs, min and max are those of the mean of both sides.
    Operator("step", 1, lambda a: np.heaviside(a, 0.5),
             "0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5",
             lambda s, a: s.Heaviside(a), UnitRule("indicator"), 2, ("0",), (1,)),
)
# fmt: on

OPERATORS: Mapping[str, Operator] = MappingProxyType({row.name: row for row in _ROWS})


def operator_named(name: str) -> Operator:
    """Return the operator `name`; raises UnknownNameError with near names when there is none."""
    try:
        return OPERATORS[name]
    except KeyError:
        raise unknown_name("operator", name, OPERATORS) from None
