"""Prices of GPUs per hour, from a CSV file with their date and source."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import isfinite, nan
from pathlib import Path

from trainlaw.app.inputs.resolve import known_gpus
from trainlaw.datasets import GpuCatalog
from trainlaw.formulas import InputError, TrainlawError
from trainlaw.formulas.errors import shown, unknown_name
from trainlaw.formulas.files.text_files import read_csv

EXAMPLE = "example"  # names the price list that comes with trainlaw
_EXAMPLE_FILE = Path(__file__).parents[1] / "builtin" / "prices.csv"
_PRICE_COLUMN = re.compile(r"price_per_hour_([a-z]{3})", re.ASCII)
_MOST_USD = 25.0  # twice the dearest GPU of a cloud; more is in cents, or the price of the GPU
_ANY_NUMBER = 0  # of GPUs of a machine, where the file does not say


@dataclass(frozen=True)
class Prices:
    """Prices of one GPU for an hour.

    currency : three capital letters. prices : by GPU and number of GPUs of the machine. origin : the file
    with the span of its dates.
    """

    currency: str
    prices: Mapping[tuple[str, int], float]
    origin: str

    def of(self, gpu: str, gpus_per_node: int) -> float:
        """Return the price of one GPU for an hour in a machine with that many; nan where it is not listed."""
        whole = self.prices.get((gpu, _ANY_NUMBER), nan)
        return self.prices.get((gpu, gpus_per_node), whole)


def read_prices(path: Path, gpus: GpuCatalog | None = None) -> Prices:
    """Return the prices in a CSV file, or the shipped ones for the path `EXAMPLE`.

    Columns: gpu, price_per_hour_usd (or another currency: the price of one GPU), date (such as 2026-09-20),
    source; and n_gpus where a price is for machines with that many GPUs. gpus : known GPUs.
    Raises InputError, with the line, for anything else.
    """
    is_example = str(path) == EXAMPLE and not path.exists()
    columns, rows = read_csv(_EXAMPLE_FILE if is_example else path)
    currency_column = _currency_column(columns, path)
    catalog, prices, dates = gpus or known_gpus(), dict[tuple[str, int], float](), []
    for line, row in enumerate(rows, start=2):
        try:
            key = catalog.find((row.get("gpu") or "").strip()).gpu, _number(row)
            if key in prices:
                raise InputError(f"expected one price of {key[0]} per number of GPUs, got another one")
            prices[key] = _price(row, currency_column)
            dates.append(_date(row))
        except TrainlawError as error:
            raise InputError(f"{path} line {line}: {error}") from None
    if not prices:
        raise InputError(f"{path}: expected at least one price under the header")
    first, last = min(dates), max(dates)
    span = f"of {last}" if first == last else f"of {first} to {last}"
    name = "the shipped example" if is_example else str(path)
    return Prices(currency_column[-3:].upper(), prices, f"{name}, {span}")


def _currency_column(columns: tuple[str, ...], path: Path) -> str:
    found = [name for name in columns if _PRICE_COLUMN.fullmatch(name)]
    missing = [name for name in ("gpu", "date", "source") if name not in columns]
    if len(found) != 1 or missing:
        raise InputError(
            f"{path}: expected the columns gpu, price_per_hour_usd (or another currency), date, source, got "
            f"{', '.join(columns)}"
        )
    known = ("gpu", "n_gpus", "date", "source", found[0])
    for name in columns:
        if name not in known:
            raise unknown_name(f"column of {path}", name, known)
    return found[0]


def _number(row: Mapping[str, str | None]) -> int:
    text = (row.get("n_gpus") or "").strip()
    if text and not (text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= 65_536):
        raise InputError(f"expected n_gpus as a whole number of at least 1, or empty, got {shown(text)}")
    return int(text) if text else _ANY_NUMBER


def _price(row: Mapping[str, str | None], column: str) -> float:
    text = (row.get(column) or "").strip()
    try:
        price = float(text)
    except ValueError:
        price = nan
    if not (isfinite(price) and price > 0):
        raise InputError(f"expected {column} as a positive number, got {shown(text)}")
    if price > _MOST_USD and column.endswith("usd"):
        raise InputError(f"expected {column} in dollars for an hour of one GPU, got {shown(text)}")
    if not (row.get("source") or "").strip():
        raise InputError("column source is empty; say where the price is from")
    return price


def _date(row: Mapping[str, str | None]) -> str:
    text = (row.get("date") or "").strip()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InputError(f"expected a date such as 2026-09-20, got {shown(text)}") from None
