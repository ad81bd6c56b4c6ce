"""Instances of clouds by name: which GPUs they have, how many, how they are connected, and their price."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import nan
from types import MappingProxyType

from trainlaw.datasets.files.storage import read_data_rows


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


@cache
def instances_by_name() -> Mapping[str, Instance]:
    """Return the shipped instances by name, in the order of the table."""
    rows = map(_instance, read_data_rows("instances.csv"))
    return MappingProxyType({row.instance: row for row in rows})


def instances() -> tuple[Instance, ...]:
    """Return the shipped instances, in the order of the table."""
    return tuple(instances_by_name().values())


def _instance(row: Mapping[str, str]) -> Instance:
    price = float(row.get("price_usd_per_hour", nan))
    cells = {"link": "", "fabric": "", "date": "", "source": "", **row, "price_usd_per_hour": price}
    return Instance(**cells | {"gpus_per_node": int(row["gpus_per_node"])})  # type: ignore[arg-type]
