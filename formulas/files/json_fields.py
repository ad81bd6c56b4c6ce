"""Read a JSON object strictly: every field is present, has the right type, and is known."""

from collections.abc import Callable
from typing import Any

from trainlaw.formulas.errors import InputError, shown


class JsonFields:
    """The fields of one JSON object, which is a `kind` of thing in messages.

    Raises InputError when `value` is no object.
    """

    def __init__(self, value: object, kind: str) -> None:
        """Take the object `value`."""
        if not isinstance(value, dict):
            raise InputError(f"expected a JSON object for a {kind}, got {shown(value)}")
        self.value = value
        self.kind = kind
        self.left = set(value)

    def take(self, name: str, kind: type) -> Any:
        """Return the field `name`; raises InputError when it is missing or no `kind`."""
        if name not in self.value:
            raise InputError(f"expected the field {name!r} in a {self.kind}, it is missing")
        self.left.discard(name)
        value = self.value[name]
        if not isinstance(value, kind):
            raise InputError(f"expected {kind.__name__} as {name!r} of a {self.kind}, got {shown(value)}")
        return value

    def take_optional(self, name: str, kind: type, missing: Any) -> Any:
        """Return the field `name` as `take` does, or `missing` where it is absent."""
        return self.take(name, kind) if name in self.value else missing

    def take_number(self, name: str, missing: float | None = None) -> float:
        """Return the finite number in field `name`, or `missing` where it is null and `missing` is given."""
        value = self.take(name, object)
        return missing if value is None and missing is not None else finite_number(value, name)

    def take_mapping(self, name: str, read: Callable[[object, str], Any]) -> dict[str, Any]:
        """Return the object in field `name` with `read` applied to each value and its place."""
        return {key: read(item, f"{name}[{shown(key)}]") for key, item in self.take(name, dict).items()}

    def finish(self) -> None:
        """Raise InputError for a field that was not taken."""
        if self.left:
            raise InputError(f"expected no field {shown(min(self.left))} in a {self.kind}: remove it")


def finite_number(value: object, place: str) -> float:
    """Return a JSON number as float; raises InputError, naming the place, when it is none or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**1024:
        raise InputError(f"expected a finite number as {place}, got {shown(value)}")
    return float(value)


def number_pair(value: object, place: str) -> tuple[float, float]:
    """Return a JSON list [low, high] as two floats; raises InputError, naming the place, when it is none."""
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(f"expected [low, high] as {place}, got {shown(value)}")
    low, high = finite_number(value[0], place), finite_number(value[1], place)
    if low > high:
        raise InputError(f"expected [low, high] as {place}, got {shown(value)}")
    return low, high
