"""Units as rational powers of seven bases; SI only, so no scale factors."""

import re
from dataclasses import dataclass
from fractions import Fraction

from trainlaw.formulas.errors import UnitError, shown

# FLOP and MAC, byte and element are separate: a factor between them is a constant with a unit, not a
# rescaling.
BASES = ("s", "B", "FLOP", "MAC", "element", "sample", "USD")
MAX_LENGTH = 200
_TOKEN = re.compile(r"\s*(?:([A-Za-z]+)|(-?\d+(?:/\d+)?)|([*/^()]))")


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
        """Return the unit that a text describes.

        Parameters
        ----------
        text : str
            Such as "FLOP/s", "B/(element*s)", "s^(1/2)" or "1".

        Returns
        -------
        Unit
            The unit.

        Raises
        ------
        UnitError
            If the text is no product of powers of the bases.
        """
        if len(text) > MAX_LENGTH:
            raise UnitError(f"expected a unit of at most {MAX_LENGTH} characters, got {shown(text)}")
        return _UnitReader(text).read()

    @property
    def is_dimensionless(self) -> bool:
        """Whether every exponent is zero."""
        return not any(self.exponents)

    def __mul__(self, other: "Unit") -> "Unit":
        """Return the unit of a product."""
        return Unit(tuple(a + b for a, b in zip(self.exponents, other.exponents, strict=True)))

    def __truediv__(self, other: "Unit") -> "Unit":
        """Return the unit of a quotient."""
        return Unit(tuple(a - b for a, b in zip(self.exponents, other.exponents, strict=True)))

    def __pow__(self, exponent: Fraction | int) -> "Unit":
        """Return the unit of a power with a rational exponent."""
        return Unit(tuple(a * Fraction(exponent) for a in self.exponents))

    def __str__(self) -> str:
        """Return the unit in the form that `parse` reads."""
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


class _UnitReader:
    """Reads one text: product = factor, then any of '*' factor and '/' factor."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.fault(f"got {text[position]!r}")
            self.tokens.append(match.group().strip())
            position = match.end()

    def fault(self, detail: str) -> UnitError:
        """Return the error for this text."""
        return UnitError(
            f"expected a unit such as 'FLOP/s' of {', '.join(BASES)}, {detail} in {shown(self.text)}"
        )

    def take(self) -> str:
        """Return and remove the next token, or the empty text at the end."""
        return self.tokens.pop(0) if self.tokens else ""

    def read(self) -> Unit:
        """Return the unit of the whole text."""
        unit = self.product()
        if self.tokens:
            raise self.fault(f"got {self.tokens[0]!r}")
        return unit

    def product(self) -> Unit:
        """Return the unit of a product of factors."""
        unit = self.factor()
        while self.tokens and self.tokens[0] in "*/":
            unit = unit * self.factor() if self.take() == "*" else unit / self.factor()
        return unit

    def factor(self) -> Unit:
        """Return the unit of one base, of 1 or of a parenthesis, with its exponent."""
        token = self.take()
        if token == "(":
            unit = self.product()
            if self.take() != ")":
                raise self.fault("a ')' is missing")
        elif token == "1":
            unit = DIMENSIONLESS
        elif token in BASES:
            unit = Unit(tuple(Fraction(base == token) for base in BASES))
        else:
            raise self.fault(f"got {token!r}" if token else "it ends early")
        if self.tokens and self.tokens[0] == "^":
            self.take()
            unit = unit ** self.exponent()
        return unit

    def exponent(self) -> Fraction:
        """Return the rational number after a '^', bare or in parentheses."""
        token = self.take()
        enclosed = token == "("
        if enclosed:
            token = self.take()
        try:
            value = Fraction(token)
        except (ValueError, ZeroDivisionError):
            raise self.fault(f"got the exponent {token!r}") from None
        if enclosed and self.take() != ")":
            raise self.fault("a ')' is missing")
        return value


DIMENSIONLESS = Unit()
SECOND = Unit.parse("s")
