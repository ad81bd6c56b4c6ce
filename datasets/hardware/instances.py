"""Instances of clouds by name: which GPUs they have, how many, how they are connected, and their price."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import nan
from types import MappingProxyType

from trainlaw.datasets.files.storage import read_data_rows

_PREFIX = re.compile(r"^(?:standard|ml)[\s._-]")


@dataclass(frozen=True)
class Instance:
    """An instance: `gpus_per_node` GPUs, their `link` and `fabric` ("": those of usual servers).

    price_usd_per_hour : of the whole instance on the date, nan where it is not known; on 1 January the source
    states the year only.
    """

    instance: str
    provider: str
    gpu: str
    gpus_per_node: int
    link: str
    fabric: str
    price_usd_per_hour: float
    date: str
    source: str


def find_instance(text: str) -> Instance | None:
    """Return the instance that a text names in any spelling, None where none has that name.

    >>> find_instance("Standard_NC6s_v3").gpu, find_instance("T4")
    ('V100-PCIE-16GB', None)
    """
    return _by_key().get(_key(text))


def family_of(text: str) -> list[str]:
    """Return the instances of a family, none for another text.

    >>> family_of("p4d"), family_of("T4")
    (['p4d.24xlarge'], [])
    """
    family = text.strip().lower()
    return [one.instance for one in instances() if one.instance.partition(".")[0].lower() == family]


def instances() -> tuple[Instance, ...]:
    """Return the shipped instances, in the order of the table."""
    return tuple(_by_key().values())


def _key(text: str) -> str:
    """Return a name without case, separators and the provider's prefix."""
    return re.sub(r"[\s._-]", "", _PREFIX.sub("", text.strip().lower()))


@cache
def _by_key() -> Mapping[str, Instance]:
    return MappingProxyType(
        {_key(row["instance"]): _instance(row) for row in read_data_rows("instances.csv")}
    )


def _instance(row: Mapping[str, str]) -> Instance:
    price = float(row.get("price_usd_per_hour", nan))
    cells = {"link": "", "fabric": "", "date": "", "source": "", **row, "price_usd_per_hour": price}
    return Instance(**cells | {"gpus_per_node": int(row["gpus_per_node"])})  # type: ignore[arg-type]
