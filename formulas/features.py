"""Specifications of features: name, symbol, unit and meaning of a column of numbers."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from trainlaw.formulas.algebra.units import Unit
from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.codec import finite_number, optional, record, text


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """Description of a feature or of a target.

    Parameters
    ----------
    name : str
        Name of the column; not empty.
    symbol : str
        Symbol in printed formulas, such as "W_conv" or "rho".
    unit : Unit
        Unit of the values.
    meaning : str
        Human-readable description.
    source : str
        Where the values come from.
    low, high : float
        Bounds of the possible values, in `unit`.

    Raises
    ------
    InputError
        If the name is empty, or `low` exceeds `high`.

    Examples
    --------
    >>> FeatureSpec("batch", "b", Unit.parse("sample"), "images per iteration", low=1).high
    inf
    """

    name: str
    symbol: str
    unit: Unit
    meaning: str
    source: str = ""
    low: float = -inf
    high: float = inf

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("expected a feature with a name, got an empty name")
        if not self.low <= self.high:
            raise InputError(
                f"expected low <= high for feature {shown(self.name)}, got {self.low} and {self.high}"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON; an infinite bound is null."""
        return {
            "name": self.name,
            "symbol": self.symbol,
            "unit": str(self.unit),
            "meaning": self.meaning,
            "source": self.source,
            "low": float(self.low) if isfinite(self.low) else None,
            "high": float(self.high) if isfinite(self.high) else None,
        }

    @classmethod
    def from_json(cls, value: object, place: str = "a feature") -> "FeatureSpec":
        """Return the spec that `to_json` wrote.

        Raises InputError, which names the place, for a field that is missing, unknown or of the wrong kind,
        and UnitError for a text that is no unit.
        """
        return cls(**_CODEC(value, place))


_CODEC = record(
    {
        "name": text,
        "symbol": text,
        "unit": lambda value, place: Unit.parse(text(value, place)),
        "meaning": text,
        "source": text,
        "low": optional(finite_number, -inf),
        "high": optional(finite_number, inf),
    },
    closed=True,
)
