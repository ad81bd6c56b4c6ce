"""The bounds and kinds of the numbers that users give: rows of `limits.csv`, which every output reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real

from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas.errors import InputError, check_name, shown


@dataclass(frozen=True)
class Limit:
    """What a number may be: whole or not, from `least` to `most`, in `unit`."""

    name: str
    is_whole: bool
    least: float
    most: float
    unit: str

    @property
    def expected(self) -> str:
        """The expectation, without the name.

        >>> limits()["batch"].expected, limits()["host_launch_s"].expected
        ('a whole number from 1 to 10,000,000', 'a number from 1e-07 to 1 s')
        """
        kind, ends = "whole number" if self.is_whole else "number", (self.least, self.most)
        least, most = (f"{end:,.0f}" if end == int(end) else f"{end:g}" for end in ends)
        return f"a {kind} from {least} to {most} {self.unit}".rstrip()

    def holds(self, value: object) -> bool:
        """Return whether a value is such a number; True and False are none."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.is_whole else Real):
            return False
        # Compared as it is: a whole number may be longer than a float holds.
        return bool(self.least <= value <= self.most)  # type: ignore[operator]  # Real declares no <= with float


@cache
def limits() -> Mapping[str, Limit]:
    """Return the limits by the name of the input."""
    return {
        row["name"]: Limit(
            row["name"], row["kind"] == "whole", float(row["least"]), float(row["most"]), row.get("unit", "")
        )
        for row in read_data_rows("limits.csv")
    }


def check_limit(name: str, value: object, called: str = "") -> None:
    """Raise InputError for a value that is outside the limits of an input; called : as the user names it."""
    check_name("limit", name, limits())
    if not limits()[name].holds(value):
        raise InputError(f"expected {called or name} as {limits()[name].expected}, got {shown(value)}")
