"""Specifications of features: name, symbol, unit and meaning of a column of numbers."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from trainlaw.formulas.algebra.units import Unit
from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.json_fields import JsonFields


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
        """Check the fields that a slip would leave wrong without notice."""
        if not self.name:
            raise InputError("expected a feature with a name, got an empty name")
        if not self.low <= self.high:
            raise InputError(
                f"expected low <= high for feature {shown(self.name)}, got {self.low} and {self.high}"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON; an infinite bound is null.

        Returns
        -------
        dict of str to object
            What `from_json` reads.
        """
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
        """Return the spec that `to_json` wrote.

        Parameters
        ----------
        value : object
            A JSON object.

        Returns
        -------
        FeatureSpec
            The spec.

        Raises
        ------
        InputError
            If a field is missing, unknown or of the wrong kind.
        UnitError
            If the unit cannot be read.
        """
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
