"""Units as rational powers of seven bases; SI only, so no scale factors."""

from dataclasses import dataclass
from fractions import Fraction

from trainlaw.formulas.algebra.expression import Apply, Constant, Variable, fold
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.errors import TrainlawError, UnitError, check_name, shown

# FLOP and MAC, byte and element are separate: a factor between them is a constant with a unit, not a
# rescaling.
BASES = ("s", "B", "FLOP", "MAC", "element", "sample", "USD")
MAX_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of `BASES`.

    A MAC (multiply-accumulate) is a separate base, so that the 2 FLOP of one MAC are a constant with a unit.

    Parameters
    ----------
    exponents : tuple of Fraction
        One exponent per base, in the order of `BASES`.

    Examples
    --------
    >>> print(Unit.parse("FLOP") / Unit.parse("FLOP/s"))
    s
    """

    exponents: tuple[Fraction, ...] = (Fraction(0),) * len(BASES)

    @classmethod
    def parse(cls, text: str) -> "Unit":
        """Return the unit that a text describes, such as "FLOP/s", "B/(element*s)", "s^(1/2)" or "1".

        Raises UnitError for a text that is no product of powers of the bases.
        """
        if len(text) > MAX_LENGTH:
            raise UnitError(f"expected a unit of at most {MAX_LENGTH} characters, got {shown(text)}")
        return _read(text)

    @property
    def is_dimensionless(self) -> bool:
        """Whether every exponent is zero."""
        return not any(self.exponents)

    def __mul__(self, other: "Unit") -> "Unit":
        return Unit(tuple(a + b for a, b in zip(self.exponents, other.exponents, strict=True)))

    def __truediv__(self, other: "Unit") -> "Unit":
        return Unit(tuple(a - b for a, b in zip(self.exponents, other.exponents, strict=True)))

    def __pow__(self, exponent: Fraction | int) -> "Unit":
        return Unit(tuple(a * Fraction(exponent) for a in self.exponents))

    def __str__(self) -> str:
        above = [_factor(base, power) for base, power in zip(BASES, self.exponents, strict=True) if power > 0]
        below = [
            _factor(base, -power) for base, power in zip(BASES, self.exponents, strict=True) if power < 0
        ]
        text = "*".join(above) or "1"
        if not below:
            return text
        return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"


def _factor(base: str, power: Fraction) -> str:
    """Return `base` to the positive `power` as text."""
    if power == 1:
        return base
    return f"{base}^{power}" if power.denominator == 1 else f"{base}^({power})"


def _read(text: str) -> Unit:
    """Return the unit that a text describes: an expression of bases, 1, products, quotients and powers."""
    try:
        unit = fold(parse_text(text), _number, _base, _applied)
    except (TrainlawError, ArithmeticError) as error:
        bases = ", ".join(BASES)
        raise UnitError(f"expected a unit such as 'FLOP/s' of {bases}, got {shown(text)}: {error}") from None
    return unit if isinstance(unit, Unit) else _as_unit(unit)


def _number(node: Constant) -> Fraction:
    return Fraction(node.value)


def _base(node: Variable) -> Unit:
    check_name("base of units", node.name, BASES)
    return Unit(tuple(Fraction(base == node.name) for base in BASES))


def _as_unit(value: Unit | Fraction) -> Unit:
    if isinstance(value, Unit) or value == 1:
        return value if isinstance(value, Unit) else DIMENSIONLESS
    raise UnitError(f"the number {value} is no unit")


def _applied(node: Apply, parts: tuple[Unit | Fraction, ...]) -> Unit | Fraction:
    one, other = parts[0], parts[-1]
    if node.operator == "pow" and isinstance(other, Fraction):
        return _as_unit(one) ** other
    if node.operator == "div" and isinstance(one, Fraction) and isinstance(other, Fraction):
        return one / other
    if node.operator == "neg" and isinstance(one, Fraction):
        return -one
    if node.operator in ("mul", "div"):
        left, right = _as_unit(one), _as_unit(other)
        return left * right if node.operator == "mul" else left / right
    raise UnitError("expected products, quotients and powers only")


DIMENSIONLESS = Unit()
SECOND = Unit.parse("s")
