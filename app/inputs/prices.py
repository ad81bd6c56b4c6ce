"""Prices of GPUs per hour: from a CSV file with dates and sources, or of the shipped instances of clouds."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from math import inf, isfinite, isnan, nan
from pathlib import Path

from trainlaw.app.inputs.resolve import known_gpus
from trainlaw.datasets import GpuCatalog
from trainlaw.datasets.files.limits import limits
from trainlaw.datasets.hardware.gpus import find_instance
from trainlaw.datasets.hardware.instances import Instance, instances
from trainlaw.formulas import InputError, TrainlawError, UnknownNameError
from trainlaw.formulas.errors import shown
from trainlaw.formulas.files.text_files import csv_text, read_csv

EXAMPLE = "example"  # names the prices of the shipped instances
TEMPLATE = "template"  # asks for a file to fill in
# A fifth of the cheapest GPU of a cloud: less is in another unit; the most is a row of the table of limits.
LEAST_USD = 0.01
_MOST_OF_KNOWN = 10.0  # factor between a price and those of the same GPU in clouds
# From this factor on, the price is rather that of a machine with several GPUs.
_MOST_OF_MACHINE = 1.8
_OTHER_TIME = re.compile(
    r".*\b(month|monat|quarter|quartal|year|jahr|day|tag|week|woche|min(ute)?|sec(ond)?|sekunde|"
    r"image|epoch|kwh)s?\b.*"
)
_ANY_NUMBER = 0  # of GPUs of a machine, where the file does not say
_MOST_OF_HOST = 5.0  # prices of a GPU for its share of the host
_OF_MACHINE = re.compile(r".*\b(instance|machine|vm|rack|box)s?\b.*")
_RENTED_SINGLY = "RunPod"  # a provider whose price per GPU does not depend on their number
# What a column holds, by its heading; the first that fits.
_HEADINGS: Mapping[str, re.Pattern[str]] = {
    "n_gpus": re.compile(r"n gpus|gpus|gpu count|(number of|anzahl) gpus|count|anzahl"),
    "gpu": re.compile(r"gpu|graphics.*|instance( type)?|machine|model|name|(grafik)?karte"),
    "date": re.compile(r"date|datum|as of|stand"),
    "source": re.compile(r"source|quelle|url|provider|anbieter|cloud"),
    "spot": re.compile(r".*(spot|preempt|interrupt).*"),
    "host": re.compile(r".*\b(host|node|server).*"),
    "deduction": re.compile(r".*\b(discount|rebate|rabatt|vat|tax|mwst|ust|surcharge|markup)\b.*"),
    "currency": re.compile(r"currency|w(ä|ae)hrung|devise"),
    "price": re.compile(r".*(price|preis|cost|kosten|rate|hour|/ ?h\b|stunde|usd|eur|\$|€).*"),
}
_CURRENCIES = {"usd": "USD", "$": "USD", "eur": "EUR", "€": "EUR", "gbp": "GBP", "£": "GBP", "chf": "CHF"}
_CODE = re.compile(r"per_hour_([a-z]{3})", re.ASCII)
_Key = tuple[str, int]


@dataclass(frozen=True)
class Prices:
    """Prices of one GPU for an hour.

    currency : three capital letters. prices : by GPU and number of GPUs of the machine. origin : the file
    with the span of its dates. spot : of GPUs that may be taken away. host : of the machine without GPUs.
    whose : the instance or the source that a price is of.
    """

    currency: str
    prices: Mapping[_Key, float]
    origin: str
    spot: Mapping[_Key, float] = field(default_factory=dict)
    host: Mapping[_Key, float] = field(default_factory=dict)
    whose: Mapping[_Key, str] = field(default_factory=dict)

    def whose_of(self, gpu: str, gpus_per_node: int) -> str:
        """Return whose price `of` is: an instance, or the source that a file names; "" for neither."""
        key = (gpu, gpus_per_node)
        return self.whose.get(key if key in self.prices else (gpu, _ANY_NUMBER), "")

    def of_instance(self, one: Instance) -> float:
        """Return the price of a GPU of an instance for an hour: that of the file, of the instance without.

        nan where it is not known.
        """
        listed = self.of(one.gpu, one.gpus_per_node)
        return one.price_usd_per_hour / one.gpus_per_node if self.is_shipped else listed

    @property
    def is_shipped(self) -> bool:
        """Whether these are the prices of the shipped instances."""
        return self is _example()

    def of(self, gpu: str, gpus_per_node: int) -> float:
        """Return the price of one GPU and its share of the host for an hour in a machine with that many GPUs.

        nan where it is not listed.
        """
        return _listed(self.prices, gpu, gpus_per_node) + self.host_share(gpu, gpus_per_node)

    def spot_of(self, gpu: str, gpus_per_node: int) -> float:
        """Return the same of a GPU that may be taken away; nan where it is not listed."""
        return _listed(self.spot, gpu, gpus_per_node) + self.host_share(gpu, gpus_per_node)

    def host_share(self, gpu: str, gpus_per_node: int) -> float:
        """Return a GPU's share of the price of its machine for an hour; 0 where none is listed."""
        price = _listed(self.host, gpu, gpus_per_node)
        return 0.0 if isnan(price) else price / gpus_per_node


def _listed(prices: Mapping[_Key, float], gpu: str, gpus_per_node: int) -> float:
    return prices.get((gpu, gpus_per_node), prices.get((gpu, _ANY_NUMBER), nan))


def read_prices(path: Path, gpus: GpuCatalog | None = None) -> Prices:
    """Return the prices in a CSV file, or those of the shipped instances for the path `EXAMPLE`.

    A column has names of GPUs or of instances of clouds, one the price of a GPU (or instance) for an hour;
    others may have the number of GPUs of a machine, a date, a source, the spot price, the price of the host.
    Headings and numbers are as people write them. gpus : known GPUs.
    Raises InputError, with the line, for anything else.
    """
    if str(path) == EXAMPLE and not path.exists():
        return _example()
    columns, rows = read_csv(path)
    places = _places(columns, path)
    catalog, dates = gpus or known_gpus(), set[str]()
    found: dict[str, dict[_Key, float]] = {"price": {}, "spot": {}, "host": {}}
    whose: dict[_Key, str] = {}
    for line, row in enumerate(rows, start=2):
        cells = {what: row[column].strip() for what, column in places.items()}
        try:
            keys = _add(found, cells, places, catalog)
            rented = find_instance(cells["gpu"])
            whose |= dict.fromkeys(keys, cells.get("source") or (rented.instance if rented else ""))
            dates |= {_date(cells["date"])} if cells.get("date") else set()
        except TrainlawError as error:
            raise InputError(f"{path} line {line}: {error}") from None
    if not found["price"]:
        raise InputError(f"{path}: expected at least one price under the header")
    said = (places["price"], *places.values(), *(row[places["price"]] for row in rows))
    stated = [row[places["currency"]].strip() for row in rows if "currency" in places]
    currencies = dict.fromkeys(filter(None, (*map(_currency, said), *map(_stated_currency, stated))))
    if len(currencies) > 1:
        raise InputError(f"{path}: expected prices in one currency, got {' and '.join(currencies)}")
    currency = next(iter(currencies), "")
    for key, host in found["host"].items():
        if host / max(key[1], 1) > _MOST_OF_HOST * found["price"].get(key, inf):
            raise InputError(f"{path}: expected the price of a host of {key[0]} alone, got {host:g}")
    for key, spot in found["spot"].items():
        if spot > found["price"].get(key, inf):
            raise InputError(f"{path}: expected a spot price of {key[0]} below its price, got {spot:g}")
    unsaid = "" if currency else ", taken as USD"
    origin = f"{path}, {_span(dates)}{unsaid}{_dear(found['price'])}"
    return Prices(currency or "USD", found["price"], origin, found["spot"], found["host"], whose)


def _dear(prices: Mapping[_Key, float]) -> str:
    """Return a question about GPUs that cost more than in clouds; "" where none does."""
    names = [
        gpu
        for (gpu, _), price in prices.items()
        if price > _MOST_OF_MACHINE * max(_of_clouds(gpu), default=inf)
    ]
    if not names:
        return ""
    others = f" and {len(names) - 1} others" if len(names) > 1 else ""
    return f"; {names[0]}{others} dearer than in any cloud: is it the price of one GPU?"


def _of_clouds(gpu: str) -> list[float]:
    return [price for (name, _), price in _example().prices.items() if name == gpu]


@cache
def _example() -> Prices:
    """Return the least price of each GPU and number of GPUs among the shipped instances."""
    prices, whose, dates = dict[_Key, float](), dict[_Key, str](), set[str]()
    for one in instances():
        if not isnan(one.price_usd_per_hour):
            number = _ANY_NUMBER if one.provider == _RENTED_SINGLY else one.gpus_per_node
            key, price = (one.gpu, number), one.price_usd_per_hour / one.gpus_per_node
            if price < prices.get(key, inf):
                prices[key], whose[key] = price, f"{one.provider} {one.instance}"
            dates.add(one.date)
    return Prices("USD", prices, f"least of clouds, {_span(dates)}", whose=whose)


def template() -> str:
    """Return a CSV file of prices to fill in, with the shipped ones of GPUs that people rent."""
    names = ("T4", "L4", "A10G", "L40S", "RTX 4090", "A100-SXM4-40GB", "A100-SXM4-80GB", "H100-SXM5-80GB")
    known = _example()
    columns = (
        "gpu",
        "n_gpus",
        "price_per_hour_usd",
        "spot_per_hour_usd",
        "host_per_hour_usd",
        "date",
        "source",
    )
    listed = [key for key in known.prices if key[0] in (*names, "H200-SXM-141GB", "Instinct MI300X")]
    rows = [
        {"gpu": gpu, "n_gpus": number or "", "price_per_hour_usd": f"{known.prices[gpu, number]:.4g}"}
        for gpu, number in sorted(listed)
    ]
    return csv_text(columns, [{**dict.fromkeys(columns, ""), **row} for row in rows])


def _places(columns: Iterable[str], path: Path) -> dict[str, str]:
    """Return the column of each role; InputError where several may have one, or GPU or price have none."""
    found: dict[str, list[str]] = {}
    for column in columns:
        plain = " ".join(column.lower().replace("_", " ").split())
        role = next((name for name, form in _HEADINGS.items() if form.fullmatch(plain)), "")
        if role in ("price", "spot", "host") and _OTHER_TIME.fullmatch(plain):
            raise InputError(f"{path}: expected prices per hour, got the column {shown(column)}")
        if role in ("price", "spot") and _OF_MACHINE.fullmatch(plain):
            raise InputError(
                f"{path}: expected prices of one GPU, got the column {shown(column)}: divide them by "
                "the number of GPUs, or name instances in the column of the GPU"
            )
        if role == "deduction":
            raise InputError(f"{path}: expected prices as they are paid, got the column {shown(column)}")
        found.setdefault(role, []).append(column)
    found.pop("", None)
    for role, names in found.items():
        if len(names) > 1:
            raise InputError(f"{path}: expected one column for the {role}, got {' and '.join(names)}")
    if not {"gpu", "price"} <= found.keys():
        raise InputError(
            f"{path}: expected a column with GPUs and one with prices per hour, such as gpu and "
            f"price_per_hour_usd, got {', '.join(columns)}; `trainlaw plan --prices template` prints a file"
        )
    return {role: names[0] for role, names in found.items()}


def _add(
    found: Mapping[str, dict[_Key, float]],
    cells: Mapping[str, str],
    places: Mapping[str, str],
    catalog: GpuCatalog,
) -> list[_Key]:
    """Add the prices of a row and return what they are of.

    A name that several GPUs have is a price of all that have none yet.
    """
    new = set(found["price"])
    instance = find_instance(cells["gpu"])
    share = instance.gpus_per_node if instance else 1
    number = share if instance else _number(cells.get("n_gpus", ""))
    try:
        names = [catalog.find(cells["gpu"]).gpu]
    except UnknownNameError:
        names = [gpu.gpu for gpu in catalog.variants(cells["gpu"])]
        if not names:
            raise
    for role, prices in found.items():
        if cells.get(role) or role == "price":
            price = _price(cells[role], places[role]) / (1 if role == "host" else share)
            for name in names if role != "host" else ():
                _check_price(price, name, 1 if instance else number, places[role], cells[role])
            for name in names:
                if (name, number) in prices and len(names) == 1:
                    raise InputError(f"expected one price of {name} per number of GPUs, got another one")
                prices.setdefault((name, number), price)
    return [key for key in found["price"] if key not in new]


def _check_price(price: float, gpu: str, number: int, column: str, cell: str) -> None:
    """Raise InputError for a price that is not of one GPU and an hour, by those of clouds.

    number : of GPUs of the machine, `_ANY_NUMBER` where the file does not say.
    """
    if _currency(f"{column} {cell}") not in ("USD", "EUR", "GBP", "CHF", ""):
        return
    known = _of_clouds(gpu)
    least = max(LEAST_USD, min(known, default=0.0) / _MOST_OF_KNOWN)
    most = min(limits()["price_per_hour"].most, max(known, default=inf) * _MOST_OF_KNOWN)
    if not least <= price <= most:
        expected = f"{column} of one {gpu} for an hour: {least:.2g} to {most:.2g}"
        raise InputError(f"expected {expected}, got {shown(cell)}")
    if number > 1 and price > _MOST_OF_MACHINE * max(known, default=inf):
        raise InputError(
            f"expected {column} of one {gpu} for an hour, got {shown(cell)}, rather that of a machine "
            f"of {number}"
        )


def _currency(heading: str) -> str:
    """Return the currency that a heading names, "" for none."""
    code = _CODE.search(heading.lower())
    named = next((name for sign, name in _CURRENCIES.items() if sign in heading.lower()), "")
    return code[1].upper() if code else named


def _stated_currency(text: str) -> str:
    """Return the currency in a cell of the column of currencies: a code of three letters, or a sign."""
    code = text.upper() if re.fullmatch(r"[a-z]{3}", text, re.IGNORECASE | re.ASCII) else _currency(text)
    if text and not code:
        raise InputError(f"expected a currency such as USD or EUR, got {shown(text)}")
    return code


def _span(dates: set[str]) -> str:
    if not dates:
        return "without dates"
    first, last = min(dates), max(dates)
    return f"of {last}" if first == last else f"of {first} to {last}"


def _number(text: str) -> int:
    if text and not (text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= 65_536):
        raise InputError(f"expected n_gpus as a whole number of at least 1, or empty, got {shown(text)}")
    return int(text) if text else _ANY_NUMBER


def _price(text: str, column: str) -> float:
    plain = re.sub(r"[$€£\s]|USD|EUR", "", text)
    # Prices are small, so a single comma is a decimal one; of a comma and a point the last is.
    thousands, decimal = (",", ".") if plain.rfind(".") > plain.rfind(",") else (".", ",")
    plain = plain.replace(thousands, "" if "," in plain else ".").replace(decimal, ".")
    try:
        price = float(plain)
    except ValueError:
        price = nan
    if not (isfinite(price) and price > 0):
        raise InputError(f"expected {column} as a positive number, got {shown(text)}")
    return price


def _date(text: str) -> str:
    german = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", text, re.ASCII)
    try:
        if german:
            return date(int(german[3]), int(german[2]), int(german[1])).isoformat()
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InputError(f"expected a date such as 2026-09-20, got {shown(text)}") from None
