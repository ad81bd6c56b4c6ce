"""One fault of a table: where it is, what came and what was expected."""

from dataclasses import dataclass

from trainlaw.formulas.errors import shown


@dataclass(frozen=True)
class Fault:
    """One fault; `row` counts from 1 below the header and is None when the whole column or table is meant.

    >>> print(Fault(3, "time_s", -0.5, "a number from 1e-09 to 1e+07 s"))
    row 3, column time_s: expected a number from 1e-09 to 1e+07 s, came -0.5
    """

    row: int | None
    column: str
    value: object
    expected: str

    def __str__(self) -> str:
        """Return the fault as one line."""
        places = [
            f"row {self.row}" if self.row is not None else "",
            f"column {self.column}" if self.column else "",
        ]
        where = ", ".join(place for place in places if place)
        came = f", came {shown(self.value)}" if self.value is not None else ""
        return f"{where + ': ' if where else ''}expected {self.expected}{came}"
