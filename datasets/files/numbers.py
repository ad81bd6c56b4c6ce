"""Numbers as people and spreadsheets write them: decimal commas, thousands separators, and which of both."""

import math
import re
from collections.abc import Iterable

_SPACES = re.compile(r"(?<=\d)[\s'\u00a0\u202f\u2019](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"[-+]?(?:\d[\d.,]*|[.,]\d+)(?:e[-+]?\d{1,3})?", re.IGNORECASE | re.ASCII)
_GROUPS = re.compile(r"[-+]?[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*")
_LONGEST = 60  # characters of a number; float64 prints at most 25


def is_number(text: str) -> bool:
    """Return whether a text is a number in any notation.

    >>> is_number("1'234,5"), is_number("1e-3"), is_number("12 ms")
    (True, True, False)
    """
    return len(text) <= _LONGEST and _NUMBER.fullmatch(_without_spaces(text)) is not None


def _without_spaces(text: str) -> str:
    """Return a text without blanks around it and marks of thousands that are blanks or apostrophes."""
    plain = text.strip()
    # Most numbers have none, and looking for them takes longer than reading the number.
    return plain if _NUMBER.fullmatch(plain) else _SPACES.sub("", plain)


def decimal_marks(texts: Iterable[str]) -> set[str]:
    """Return the decimal marks that numbers show: "." and ",", or "?," and "?." for one that may be either.

    >>> sorted(decimal_marks(["12,5", "3"])), sorted(decimal_marks(["1.234,5"])), decimal_marks(["1,234"])
    ([','], [','], {'?,'})
    """
    return {mark for text in texts if is_number(text) for mark in [_mark(text)] if mark}


def _mark(text: str) -> str:
    plain = _without_spaces(text)
    mantissa = re.split("[eE]", plain, maxsplit=1)[0]
    found = [character for character in mantissa if character in ".,"]
    if not found:
        return ""
    if len(set(found)) == 2:
        return found[-1]
    grouped = _GROUPS.fullmatch(mantissa) is not None
    if len(found) > 1:
        # 1.234.567: the other mark is the decimal one.
        return {".": ",", ",": "."}[found[0]] if grouped else ""
    return f"?{found[0]}" if grouped else found[0]


def number_of(text: str, decimal: str) -> float:
    """Return the number that a text is with this decimal mark, "." or ","; nan for any other text.

    >>> number_of("1.234,5", ","), number_of("1,234.5", "."), number_of("12,5", ".")
    (1234.5, 1234.5, nan)
    """
    plain = _without_spaces(text)
    if len(text) > _LONGEST or not _NUMBER.fullmatch(plain):
        return math.nan
    thousands = "," if decimal == "." else "."
    whole, mark, rest = plain.partition(decimal)
    if thousands in rest:
        return math.nan
    if thousands in whole:
        if not re.fullmatch(rf"[-+]?[1-9]\d{{0,2}}(?:\{thousands}\d{{3}})+", whole, re.ASCII):
            return math.nan
        whole = whole.replace(thousands, "")
    try:
        value = float(f"{whole}.{rest}" if mark else whole)
    except (OverflowError, ValueError):
        return math.nan
    return value if math.isfinite(value) else math.nan
