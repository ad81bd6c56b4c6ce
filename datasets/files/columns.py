"""The columns of a table schema: what each may hold, for checks, documentation and the Table Schema."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isinf
from typing import TypedDict

MAX_TEXT_LENGTH = 300


class Range(TypedDict):
    """Unit and bounds that several columns share, given as `Column(..., **range)`."""

    unit: str
    low: float
    high: float


class Optional(TypedDict):
    """What columns share whose cells may be missing, given as `Column(..., **optional)`."""

    default: str | float | None
    may_be_empty: bool


@dataclass(frozen=True)
class Column:
    """One column: `kind` is "integer", "number" or "text"; `low` and `high` bound numbers, in `unit`.

    `allowed` lists the permitted texts, if only some are. `default` fills a column that a file lacks; None
    means that the file must have it. `may_be_empty` marks a column whose cells may be missing.
    """

    name: str
    kind: str
    meaning: str
    unit: str = ""
    low: float = -inf
    high: float = inf
    allowed: tuple[str, ...] = ()
    default: str | float | None = None
    may_be_empty: bool = False

    @property
    def expected(self) -> str:
        """What a cell must hold, as a phrase for messages.

        >>> Column("time_s", "number", "time", "s", low=0, high=10).expected
        'a number from 0 to 10 s'
        """
        if self.kind == "text":
            choice = "one of " + ", ".join(self.allowed) if self.allowed else ""
            return (
                choice or f"text of 1 to {MAX_TEXT_LENGTH} printable characters, not beginning with = + - @"
            )
        noun = "a whole number" if self.kind == "integer" else "a number"
        low = "" if isinf(self.low) else f" from {self.low:g}"
        high = "" if isinf(self.high) else f" to {self.high:g}"
        return f"{noun}{low}{high}{' ' + self.unit if self.unit else ''}"


def table_schema(columns: Iterable[Column], title: str) -> dict[str, object]:
    """Return the columns as a Frictionless Table Schema (https://specs.frictionlessdata.io/table-schema/)."""
    return {"title": title, "fields": [_field(column) for column in columns], "missingValues": [""]}


def _field(column: Column) -> dict[str, object]:
    constraints: dict[str, object] = {"required": not column.may_be_empty}
    if not isinf(column.low):
        constraints["minimum"] = column.low
    if not isinf(column.high):
        constraints["maximum"] = column.high
    if column.allowed:
        constraints["enum"] = list(column.allowed)
    kind = {"text": "string"}.get(column.kind, column.kind)
    field: dict[str, object] = {
        "name": column.name,
        "type": kind,
        "description": column.meaning,
        "constraints": constraints,
    }
    return field | ({"unit": column.unit} if column.unit else {})
