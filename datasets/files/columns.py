"""Columns of a table schema with their allowed values, from the shipped Table Schemas."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isinf, nan
from typing import Any

from trainlaw.datasets.files.storage import read_data_file

MAX_TEXT_LENGTH = 300  # the longest text of the shipped runs has 137 characters


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


def shipped_schema(table: str) -> tuple[Column, ...]:
    """Return the columns of a table from its shipped schema, `runs`, `layers` or `gpus`.

    The files are Frictionless Table Schemas (https://specs.frictionlessdata.io/table-schema/), where `unit`
    and `default` are added: a null default is nan, none at all means that a file must have the column.
    """
    fields = json.loads(read_data_file(f"{table}.schema.json"))["fields"]
    return tuple(_column(field) for field in fields)


def _column(field: Mapping[str, Any]) -> Column:
    limits = field["constraints"]
    return Column(
        field["name"],
        "text" if field["type"] == "string" else field["type"],
        field["description"],
        field.get("unit", ""),
        limits.get("minimum", -inf),
        limits.get("maximum", inf),
        tuple(limits.get("enum", ())),
        nan if "default" in field and field["default"] is None else field.get("default"),
        not limits["required"],
    )
