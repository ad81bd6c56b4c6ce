"""Work x resources: every amount of a formula's skeleton is work of one kind on one resource.

A row of `work.csv` counts the work of an iteration: MACs, elements, bytes, moves, launches. A row of
`resources.csv` says in which time a resource does it at data-sheet rates; `factors.csv` on which pure numbers
its real rate depends. A formula multiplies each amount by a weight, and the weight to expect follows from the
rule of the row; a row that deviates from its rule says why, with a measurement.
"""

import re
from collections.abc import Iterator, Mapping
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
class Work:
    """Work of one kind on one resource: its time at the data-sheet rate, and the weight to expect.

    feature : the time, seconds. work : what is counted. resource : what does it, and whose factors may
    multiply it. expected : the weight by its rule, or that of an exception. covers : kinds of layers whose
    work it contains, of `LAYER_KINDS`.
    """

    feature: Feature
    work: str
    resource: str
    covers: frozenset[str]
    expected: float

    @property
    def name(self) -> str:
        """Name of the feature."""
        return self.feature.spec.name


@cache
def resources() -> Mapping[str, tuple[Mapping[str, str], ...]]:
    """Return the factors of each resource, rows of `factors.csv`, in the order of `resources.csv`.

    A factor is a pure number on which the rate of the resource depends: feature ** c ("power"), or
    exp(c * feature) ("exponential"), c between `low` and `high`, and as `expected` before any run is seen.
    """
    factors = read_data_rows("factors.csv")
    names = [row["resource"] for row in read_data_rows("resources.csv")]
    return MappingProxyType(
        {name: tuple(row for row in factors if row["resource"] == name) for name in names}
    )


@cache
def works() -> tuple[Work, ...]:
    """Return the rows of `work.csv`, in their order.

    >>> next(work.feature.definition for work in works() if work.name == "im2col_simt_s")
    '6 * batch_per_gpu * im2col_elements / comparable_fp32_flop_per_s'
    """
    return tuple(_works())


def _works() -> Iterator[Work]:
    seconds = {row["resource"]: row["seconds"] for row in read_data_rows("resources.csv")}
    for row in read_data_rows("work.csv"):
        name, resource = row["name"], row["resource"]
        spec = FeatureSpec(name, row["symbol"], SECOND, row["meaning"], low=0.0)
        # `cached(x)`: each class of x costs less by what the caches hold of such a layer.
        amount = re.sub(r"cached\((\w+)\)", lambda found: cached_sum(found[1]), row["amount"])
        expected = float(row["weight"]) if "weight" in row else EXPECTED_WEIGHTS[row["rule"]]
        feature = Feature(spec, seconds[resource].replace("{}", amount))
        yield Work(feature, name, resource, frozenset(row.get("covers", "").split()), expected)


def cached_sum(name: str) -> str:
    """Return the sum over classes of sizes of a count, each less what the caches hold of such a layer."""
    shares = (
        f"{name}_{size} * (1 + 5 * {elements:.0f} / ({elements:.0f} + cached_elements))"
        for size, elements in LAYER_SIZES.items()
    )
    return f"({' + '.join(shares)}) / 6"
