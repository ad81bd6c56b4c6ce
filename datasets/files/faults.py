"""Faults of a table: the place, the expected and the found value of each."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from trainlaw.formulas.errors import InputError, shown

_LONGEST_NAME = 100  # of a file or column in a message, which is to stay one line


@dataclass(frozen=True)
class Fault:
    """One fault; `row` counts from 1 below the header and is None when the whole column or table is meant.

    >>> print(Fault(3, "time_s", -0.5, "a number from 1e-09 to 1e+07 s"))
    row 3, column time_s: expected a number from 1e-09 to 1e+07 s, got -0.5
    """

    row: int | None
    column: str
    value: object
    expected: str

    def __str__(self) -> str:
        places = [
            f"row {self.row}" if self.row is not None else "",
            f"column {plain_name(self.column)}" if self.column else "",
        ]
        where = ", ".join(place for place in places if place)
        value = self.value.item() if isinstance(self.value, np.generic) else self.value
        found = f", got {shown(value)}" if value is not None else ""
        return f"{where + ': ' if where else ''}expected {self.expected}{found}"


def plain_name(name: str) -> str:
    """Return the name of a column as it is, or as `shown` where it would not fit into a line.

    >>> plain_name("gpu"), plain_name("gpu\\n")
    ('gpu', "'gpu\\\\n'")
    """
    return name if name.isprintable() and len(name) <= _LONGEST_NAME else shown(name)


class FaultsError(InputError):
    """A table has faults; `faults` lists them, the message states the first ones and the number of the rest.

    `path` is the name of the file.
    """

    longest_message = 4_000  # several faults, each with its row, column and value

    def __init__(
        self, path: str | os.PathLike[str], faults: tuple[Fault, ...], listed: int = 1, advice: str = ""
    ) -> None:
        """Keep the faults of the file at `path`; the message states `listed` of them, then the advice."""
        self.faults = faults
        self.path = Path(path).name
        more = f" (and {len(faults) - listed} more faults)" if len(faults) > listed else ""
        first = "; ".join(map(str, faults[:listed]))
        super().__init__(f"{self.path}: {first}{more}{'; ' + advice if advice else ''}")


def refuse(path: str | os.PathLike[str], faults: Sequence[Fault]) -> None:
    """Raise FaultsError for the file at `path` if there are faults, sorted by row and column."""
    if faults:
        raise FaultsError(path, tuple(sorted(faults, key=lambda fault: (fault.row or 0, fault.column))))


def merged_faults(faults: Sequence[Fault], later: Sequence[Fault]) -> list[Fault]:
    """Return both lists, without a second fault for the same cell."""
    seen = {(fault.row, fault.column) for fault in faults}
    return [*faults, *(fault for fault in later if (fault.row, fault.column) not in seen)]
