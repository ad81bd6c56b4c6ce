"""Work x resources: every amount of a formula's skeleton is work of one kind on one resource.

A row of `work.csv` counts the work of an iteration: MACs, elements, bytes, moves, launches. A row of
`resources.csv` says in which time a resource does it at data-sheet rates; `factors.csv` on which pure numbers
its real rate depends. A formula multiplies each amount by a weight, and the weight to expect follows from the
rule of the row; a row that deviates from its rule says why, with a measurement.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from trainlaw.datasets.cnns.counts import LAYER_SIZES
from trainlaw.datasets.features.feature import Feature
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.formulas.features import FeatureSpec

#: The weight that each kind of count is expected to have, as round figures.
EXPECTED_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "MAC": 1.0,  # three passes, and each multiplies once
        "element": 10.0,  # some ten operations on lanes for address, load, transformation and store
        "byte": 5.0,  # of three passes: each reads or writes a tensor, some of them twice
        "move": 1.0,  # counted exactly
        "launch": 2.0,  # forward and backward
        "iteration": 1.0,  # a round figure, as the count is
        "transfer": 4.0,  # pageable memory reaches a quarter of the link's rate
    }
)

#: Kinds of layers that an amount may cover: p ungrouped convolutions, d dense, g grouped and w depthwise
#: convolutions, l layers without MACs.
LAYER_KINDS = frozenset("pdgwl")


@dataclass(frozen=True)
class ResourceFactor:
    """A pure number on which the rate of a resource depends: feature ** c, or exp(c * feature).

    low, high : bounds of c. expected : c before any run is seen.
    kind : "power" or "exponential".
    """

    feature: str
    kind: str
    low: float
    high: float
    expected: float


@dataclass(frozen=True)
class Resource:
    """What does work in an iteration, at a data-sheet rate.

    seconds : text in which `{}` stands for an amount of work. factors : on which its real rate depends.
    """

    name: str
    seconds: str
    factors: tuple[ResourceFactor, ...]


@dataclass(frozen=True)
class Work:
    """Work of one kind on one resource: its time at the data-sheet rate, and the weight to expect.

    feature : the time, seconds. expected : the weight by its rule, or that of an exception. covers : kinds of
    layers whose work it contains, of `LAYER_KINDS`.
    """

    resource: str
    rule: str
    feature: Feature
    expected: float
    covers: frozenset[str]

    @property
    def name(self) -> str:
        """Name of the feature."""
        return self.feature.spec.name


@cache
def resources() -> Mapping[str, Resource]:
    """Return the resources by name, in the order of `resources.csv`."""
    factors: dict[str, list[ResourceFactor]] = {}
    for row in read_data_rows("factors.csv"):
        low, high, expected = (float(row[name]) for name in ("low", "high", "expected"))
        found = ResourceFactor(row["feature"], row["kind"], low, high, expected)
        factors.setdefault(row["resource"], []).append(found)
    return MappingProxyType(
        {
            row["resource"]: Resource(
                row["resource"], row["seconds"], tuple(factors.get(row["resource"], ()))
            )
            for row in read_data_rows("resources.csv")
        }
    )


@cache
def works() -> tuple[Work, ...]:
    """Return the rows of `work.csv`, in their order.

    >>> next(work.feature.definition for work in works() if work.name == "im2col_simt_s")
    '6 * batch_per_gpu * im2col_elements / comparable_fp32_flop_per_s'
    """
    return tuple(map(_work, read_data_rows("work.csv")))


def _work(row: Mapping[str, str]) -> Work:
    definition = resources()[row["resource"]].seconds.replace("{}", _written_out(row["amount"]))
    spec = FeatureSpec(row["name"], row["symbol"], SECOND, row["meaning"], low=0.0)
    expected = float(row["weight"]) if "weight" in row else EXPECTED_WEIGHTS[row["rule"]]
    covers = frozenset(row.get("covers", "").split())
    return Work(row["resource"], row["rule"], Feature(spec, definition), expected, covers)


def _written_out(amount: str) -> str:
    """Write `cached(x)` out: each class of x costs less by what the caches hold of such a layer."""
    return re.sub(r"cached\((\w+)\)", lambda found: cached_sum(found[1]), amount)


def cached_sum(name: str) -> str:
    """Return the sum over classes of sizes of a count, each less what the caches hold of such a layer."""
    shares = (
        f"{name}_{size} * (1 + 5 * {elements:.0f} / ({elements:.0f} + cached_elements))"
        for size, elements in LAYER_SIZES.items()
    )
    return f"({' + '.join(shares)}) / 6"
