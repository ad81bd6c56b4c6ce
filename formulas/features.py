"""What a column of numbers is: its name, symbol, unit and meaning."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.json_fields import JsonFields
from trainlaw.formulas.units import Unit


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """One feature or target: `low` and `high` bound its possible values, in `unit`.

    Raises InputError when the name is empty or `low` exceeds `high`.

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
        """Check the fields that a slip would leave wrong without notice."""
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
    def from_json(cls, value: object) -> "FeatureSpec":
        """Return the spec of what `to_json` gave; raises InputError or UnitError, naming the field."""
        fields = JsonFields(value, "feature")
        spec = cls(
            name=fields.take("name", str),
            symbol=fields.take("symbol", str),
            unit=Unit.parse(fields.take("unit", str)),
            meaning=fields.take("meaning", str),
            source=fields.take("source", str),
            low=fields.take_number("low", missing=-inf),
            high=fields.take_number("high", missing=inf),
        )
        fields.finish()
        return spec
