"""Codecs of JSON: the form that a value must have, and the value read from it.

A codec takes a value and its place, which messages name, and returns what the value means; it raises
InputError for anything else. Files may come from anyone, and whatever shows a formula relies on this.
"""

from collections.abc import Callable, Mapping
from typing import Any

from trainlaw.formulas.errors import InputError, shown

Codec = Callable[[object, str], Any]


def anything(value: object, place: str) -> Any:
    """Return any value as it is."""
    return value


def text(value: object, place: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise InputError(f"expected a text as {place}, got {shown(value)}")
    return value


def whole(value: object, place: str) -> int:
    """Return a whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"expected a whole number from 0 as {place}, got {shown(value)}")
    return value


def finite_number(value: object, place: str) -> float:
    """Return a finite number as float."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**1024:
        raise InputError(f"expected a finite number as {place}, got {shown(value)}")
    return float(value)


def optional(codec: Codec, missing: object = None) -> Codec:
    """Return the codec of a value that may be null, which is read as `missing`."""
    return lambda value, place: missing if value is None else codec(value, place)


def listed(codec: Codec, length: int | None = None) -> Codec:
    """Return the codec of a list, of `length` values where that is given."""

    def read(value: object, place: str) -> list[Any]:
        if not isinstance(value, list) or length not in (None, len(value)):
            raise InputError(
                f"expected a list{f' of {length}' if length else ''} as {place}, got {shown(value)}"
            )
        return [codec(part, place) for part in value]

    return read


def every(codec: Codec) -> Codec:
    """Return the codec of an object with entries of any name."""

    def read(value: object, place: str) -> dict[str, Any]:
        return {name: codec(part, f"{place}, {shown(name)}") for name, part in _object(value, place).items()}

    return read


def record(
    needed: Mapping[str, Codec], more: Mapping[str, Codec] | None = None, *, closed: bool = False
) -> Codec:
    """Return the codec of an object with the entries `needed` and perhaps `more`.

    closed : whether other entries are refused; otherwise they may be anything.
    """
    known = {**needed, **(more or {})}

    def read(value: object, place: str) -> dict[str, Any]:
        entries = _object(value, place)
        found = {
            name: codec(entries[name], f"{place}, {name}") for name, codec in known.items() if name in entries
        }
        for name in needed:
            if name not in entries:
                raise InputError(f"expected the entry {name!r} in {place}, it is missing")
        for name in sorted(entries.keys() - known.keys()) if closed else ():
            raise InputError(f"expected no entry {shown(name)} in {place}: remove it")
        return {**entries, **found}

    return read


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object as {place}, got {shown(value)}")
    return value
