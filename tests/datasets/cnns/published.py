"""Figures that others published, beside this file."""

import csv
from decimal import Decimal
from pathlib import Path


def published(file: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(file).open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def agrees(value: float, figure: str) -> bool:
    """Whether a value equals a published figure in all digits that it has."""
    digits = -Decimal(figure).as_tuple().exponent
    return abs(Decimal(value) - Decimal(figure)) <= Decimal(5).scaleb(-digits - 1)
