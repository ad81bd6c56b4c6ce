"""The unit of an expression whose constants may have any unit.

Every constant has an unknown unit. A node's unit is then a known unit times rational powers of the unknown
ones; sums, functions and the target give equations, which are solved by elimination over the fractions.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from trainlaw.formulas.algebra.expression import Apply, Constant, Expression, Variable, fold
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.text import to_text
from trainlaw.formulas.algebra.units import BASES, Unit
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
    system.require(root, _of_unit(target), expression)
    return tuple(system.known({number: Fraction(1)}) for number in range(system.count))


# Exponents of a unit by base, and of the units of constants by their number.
_Power = dict[str | int, Fraction]


def _times(one: _Power, other: _Power, exponent: Fraction) -> _Power:
    """Return `one` times `other` to `exponent`."""
    found = dict(one)
    for key, power in other.items():
        found[key] = found.get(key, Fraction(0)) + power * exponent
    return {key: power for key, power in found.items() if power}


def _of_unit(unit: Unit) -> _Power:
    return {base: power for base, power in zip(BASES, unit.exponents, strict=True) if power}


class _System:
    """The equations found so far: each solved constant in terms of those that are not."""

    def __init__(self) -> None:
        self.count = 0
        self.solved: dict[str | int, _Power] = {}

    def new_constant(self) -> _Power:
        """Return the unit of one more constant, unknown as yet."""
        self.count += 1
        return {self.count - 1: Fraction(1)}

    def reduced(self, power: _Power) -> _Power:
        """Return `power` with the solved constants replaced."""
        result: _Power = {}
        for key, exponent in power.items():
            known = self.solved.get(key)
            result = _times(result, {key: Fraction(1)} if known is None else self.reduced(known), exponent)
        return result

    def known(self, power: _Power) -> Unit | None:
        """Return the unit that `power` comes to, or None where unknown units are left."""
        reduced = self.reduced(power)
        is_known = reduced.keys() <= {*BASES}
        return Unit(tuple(reduced.get(base, Fraction(0)) for base in BASES)) if is_known else None

    def require(self, one: _Power, other: _Power, place: Expression) -> None:
        """Add the equation one = other; raises UnitError, naming `place`, where it cannot hold."""
        difference = self.reduced(_times(one, other, Fraction(-1)))
        unknown = [key for key in difference if isinstance(key, int)]
        if unknown:
            # Any unknown would do; the newest one is rarely part of earlier equations.
            exponent = difference.pop(max(unknown))
            self.solved[max(unknown)] = _times({}, difference, -1 / exponent)
        elif difference:
            found, wanted = self.known(one), self.known(other)
            differ = f"they differ by {self.known(difference)}"
            detail = f"{found} and {wanted}" if found and wanted else differ
            raise UnitError(f"expected units that agree in '{to_text(place, digits=4)}', got {detail}")


def _solve(expression: Expression, units: Mapping[str, Unit]) -> tuple[_System, _Power]:
    system, powers = _System(), {name: _of_unit(unit) for name, unit in units.items()}

    def power_of(node: Variable) -> _Power:
        check_name("variable with a unit", node.name, powers)
        return powers[node.name]

    apply = partial(_result, system)
    return system, fold(expression, lambda node: system.new_constant(), power_of, apply)


def _result(system: _System, node: Apply, powers: tuple[_Power, ...]) -> _Power:
    rule = OPERATORS[node.operator].unit_rule
    if rule.kind == "product":
        result: _Power = {}
        for power, exponent in zip(powers, rule.exponents, strict=True):
            result = _times(result, power, exponent)
        return result
    if rule.kind == "power":
        return _power_result(system, node, *powers)
    if rule.kind == "same":
        for power in powers[1:]:
            system.require(powers[0], power, node)
        return powers[0]
    if rule.kind == "dimensionless":
        for power in powers:
            system.require(power, {}, node)
    return {}


def _power_result(system: _System, node: Apply, base: _Power, exponent: _Power) -> _Power:
    """Return the unit of base^exponent: any base to a constant, else a base without unit."""
    system.require(exponent, {}, node)
    number = node.arguments[1]
    if isinstance(number, Constant):
        return _times({}, base, exact_fraction(number.value))
    system.require(base, {}, node)
    return {}


def exact_fraction(value: float) -> Fraction:
    """Return the fraction that `value` stands for: 0.48 is 12/25, and 0.3333333333333333 is 1/3."""
    # Exponents of units are thirds, quarters and their like; 24 has them all as divisors.
    simple = Fraction(value).limit_denominator(24)
    return simple if float(simple) == value else Fraction(repr(value))
