"""The unit of an expression whose constants may have any unit.

Every constant has an unknown unit. A node's unit is then a known unit times rational powers of the unknown
ones; sums, functions and the target give equations, which are solved by elimination over the fractions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from trainlaw.formulas.algebra.expression import Apply, Constant, Expression, Variable, fold
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.text import to_text
from trainlaw.formulas.algebra.units import DIMENSIONLESS, Unit
from trainlaw.formulas.errors import UnitError, check_name


def infer_unit(expression: Expression, units: Mapping[str, Unit]) -> Unit | None:
    """Return the unit of an expression whose constants may have any unit.

    Parameters
    ----------
    expression : Expression
        Any expression.
    units : mapping of str to Unit
        Unit of each variable.

    Returns
    -------
    Unit or None
        None where the constants leave the unit open.

    Raises
    ------
    UnitError
        If the units of a sub-expression, which the message names, are inconsistent.
    UnknownNameError
        If a variable has no unit.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> units = {"work": Unit.parse("FLOP"), "rate": Unit.parse("FLOP/s")}
    >>> str(infer_unit(parse_text("work / rate + 3"), units))
    's'
    """
    system, root = _solve(expression, units)
    return system.known(root)


def constant_units(
    expression: Expression, units: Mapping[str, Unit], target: Unit
) -> tuple[Unit | None, ...]:
    """Return the unit of each constant, from left to right, for the expression to have the unit `target`.

    None stands for a unit that stays free, as for two constants of which only the product is determined.
    Raises as `infer_unit`, also when the expression cannot have that unit.

    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> str(constant_units(parse_text("2 * work"), {"work": Unit.parse("FLOP")}, Unit.parse("s"))[0])
    's/FLOP'
    """
    system, root = _solve(expression, units)
    system.require(root, _Power(target), expression)
    return tuple(system.known(_Power(DIMENSIONLESS, {index: Fraction(1)})) for index in range(system.count))


@dataclass(frozen=True, slots=True)
class _Power:
    """A known unit times the units of constants, by their index, to rational powers."""

    unit: Unit
    unknown: Mapping[int, Fraction] = field(default_factory=dict)

    def times(self, other: "_Power", exponent: Fraction) -> "_Power":
        """Return this times `other` to `exponent`."""
        unknown = dict(self.unknown)
        for index, power in other.unknown.items():
            unknown[index] = unknown.get(index, Fraction(0)) + power * exponent
        return _Power(
            self.unit * other.unit**exponent, {index: power for index, power in unknown.items() if power}
        )


NO_UNIT = _Power(DIMENSIONLESS)


class _System:
    """The equations found so far: each solved constant in terms of those that are not."""

    def __init__(self) -> None:
        self.count = 0
        self.solved: dict[int, _Power] = {}

    def new_constant(self) -> _Power:
        """Return the unit of one more constant, unknown as yet."""
        self.count += 1
        return _Power(DIMENSIONLESS, {self.count - 1: Fraction(1)})

    def reduced(self, power: _Power) -> _Power:
        """Return `power` with the solved constants replaced."""
        result = _Power(power.unit)
        for index, exponent in power.unknown.items():
            known = self.solved.get(index)
            part = _Power(DIMENSIONLESS, {index: Fraction(1)}) if known is None else self.reduced(known)
            result = result.times(part, exponent)
        return result

    def known(self, power: _Power) -> Unit | None:
        """Return the unit that `power` comes to, or None where unknown units are left."""
        reduced = self.reduced(power)
        return None if reduced.unknown else reduced.unit

    def require(self, one: _Power, other: _Power, place: Expression) -> None:
        """Add the equation one = other; raises UnitError, naming `place`, where it cannot hold."""
        difference = self.reduced(one.times(other, Fraction(-1)))
        if difference.unknown:
            # Any unknown would do; the newest one is rarely part of earlier equations.
            index = max(difference.unknown)
            exponent = difference.unknown[index]
            rest = difference.times(_Power(DIMENSIONLESS, {index: exponent}), Fraction(-1))
            self.solved[index] = NO_UNIT.times(rest, -1 / exponent)
        elif not difference.unit.is_dimensionless:
            found, wanted = self.known(one), self.known(other)
            detail = f"{found} and {wanted}" if found and wanted else f"they differ by {difference.unit}"
            raise UnitError(f"expected units that agree in '{to_text(place, digits=4)}', got {detail}")


def _solve(expression: Expression, units: Mapping[str, Unit]) -> tuple[_System, _Power]:
    system = _System()

    def power_of(node: Variable) -> _Power:
        check_name("variable with a unit", node.name, units)
        return _Power(units[node.name])

    apply = partial(_result, system)
    return system, fold(expression, lambda node: system.new_constant(), power_of, apply)


def _result(system: _System, node: Apply, powers: tuple[_Power, ...]) -> _Power:
    rule = OPERATORS[node.operator].unit_rule
    if rule.kind == "product":
        result = NO_UNIT
        for power, exponent in zip(powers, rule.exponents, strict=True):
            result = result.times(power, exponent)
        return result
    if rule.kind == "power":
        return _power_result(system, node, *powers)
    if rule.kind == "same":
        for power in powers[1:]:
            system.require(powers[0], power, node)
        return powers[0]
    if rule.kind == "dimensionless":
        for power in powers:
            system.require(power, NO_UNIT, node)
    return NO_UNIT


def _power_result(system: _System, node: Apply, base: _Power, exponent: _Power) -> _Power:
    """Return the unit of base^exponent: any base to a constant, else a base without unit."""
    system.require(exponent, NO_UNIT, node)
    number = node.arguments[1]
    if isinstance(number, Constant):
        return NO_UNIT.times(base, exact_fraction(number.value))
    system.require(base, NO_UNIT, node)
    return NO_UNIT


def exact_fraction(value: float) -> Fraction:
    """Return the fraction that `value` stands for: 0.48 is 12/25, and 0.3333333333333333 is 1/3."""
    # Exponents of units are thirds, quarters and their like; 24 has them all as divisors.
    simple = Fraction(value).limit_denominator(24)
    return simple if float(simple) == value else Fraction(repr(value))
