"""Specifications with their unit, as data sheets write them: "150 TFLOP/s", "24 GB", "1.7 GHz"."""

import math
import re

_PREFIXES = {
    "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip
# How data sheets write the units of the GPU schema.
_SPELLINGS = {
    "FLOP/s": r"flops?(?:/s(?:ec)?)?", "B/s": r"b(?:yte)?s?/s(?:ec)?|bps", "B": r"b(?:ytes?)?", "Hz": "hz",
    "W": r"w(?:atts?)?",
}  # fmt: skip
_QUANTITY = re.compile(
    r"([-+]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?)\s*([kKMGTP]i?)?([A-Za-z/]+)"
)


def si_number(text: str, unit: str) -> float:
    """Return the number of a text with a prefix and `unit` in that unit; nan where it is another text.

    >>> si_number("150 TFLOPS", "FLOP/s"), si_number("900 GB/s", "B/s"), si_number("24 GB", "Hz")
    (150000000000000.0, 900000000000.0, nan)
    """
    match = _QUANTITY.fullmatch(text.strip()) if len(text) < 60 else None
    if match is None or unit not in _SPELLINGS:
        return math.nan
    number, prefix, written = match.groups()
    # "Gbit/s" and "Gb/s" are bits.
    if not re.fullmatch(_SPELLINGS[unit], written, re.IGNORECASE) or (unit == "B/s" and written[:1] == "b"):
        return math.nan
    return float(number.replace("_", "")) * _PREFIXES[prefix or ""]
