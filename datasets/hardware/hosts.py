"""Hosts by name, with the time in which they launch the kernels of one layer, and the usual host of a GPU."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from types import MappingProxyType

from trainlaw.datasets.files.storage import read_data_rows


@dataclass(frozen=True)
class Host:
    """A kind of host: time `launch_s` in s to launch the kernels of one layer.

    gpus : pattern of the GPUs that usually have it from `since_year` on, or earlier in one of its
    `generations`; "" where only its name selects it.
    """

    host: str
    launch_s: float
    gpus: str
    since_year: float
    generations: str

    def has(self, gpu: str, year: float, generation: str) -> bool:
        """Return whether a GPU of a name, year (nan: unknown) and generation usually has this host."""
        if not self.gpus or not re.fullmatch(self.gpus, gpu):
            return False
        is_later = year >= self.since_year or self.since_year == -inf
        return is_later or bool(generation and re.fullmatch(self.generations, generation))


@cache
def hosts() -> Mapping[str, Host]:
    """Return the hosts by name, in the order of `hosts.csv`.

    >>> hosts()["wsl2"].launch_s
    7e-05
    """
    found = {}
    for row in read_data_rows("hosts.csv"):
        year = float(row.get("since_year", -inf))
        gpus, generations = row.get("gpus", ""), row.get("generations", "")
        found[row["host"]] = Host(row["host"], float(row["launch_s"]), gpus, year, generations)
    return MappingProxyType(found)


def usual_host(gpu: str, year: float, generation: str) -> Host:
    """Return the usual host of a GPU: the first row of the table that has it.

    >>> usual_host("RTX 5000 Ada Laptop", 2023, "Ada Lovelace").host, usual_host("T4", 2018, "Turing").host
    ('laptop', 'usual')
    >>> [usual_host(gpu, year, "Blackwell").launch_s for gpu, year in (("B200", 2024), ("B300", 2025))]
    [4e-05, 4e-05]
    """
    return next(host for host in hosts().values() if host.has(gpu, year, generation))
