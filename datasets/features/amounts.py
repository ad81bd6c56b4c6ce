"""The wide space of amounts: what is counted, times the resource that may do it, by rule.

A row of `amounts.csv` counts work of some kinds of layers; a row of `amount_resources.csv` says in which time
a resource does it at data-sheet rates. Each amount has a weight by rule, as those of the law in `work.csv`,
which costs a formula no constant. Formulas with few constants are evolved from both.
"""

from collections.abc import Iterator
from functools import cache

from trainlaw.datasets.features.feature import Feature
from trainlaw.datasets.features.work import EXPECTED_WEIGHTS, Work, cached_sum
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.formulas.features import FeatureSpec


@cache
def wide_amounts() -> tuple[Work, ...]:
    """Return all amounts, in the order of `amounts.csv`.

    >>> next(one.feature.definition for one in wide_amounts() if one.name == "dense_lanes_s")
    '6 * batch_per_gpu * (dense_macs) / comparable_fp32_flop_per_s'
    """
    return tuple(_amounts())


def _amounts() -> Iterator[Work]:
    resources = {row["resource"]: row for row in read_data_rows("amount_resources.csv")}
    for row in read_data_rows("amounts.csv"):
        amount = row["amount"]
        if row["count"] == "sized":
            amount = f"({' + '.join(map(cached_sum, amount.split()))})"
        for name in row["resources"].split():
            resource = resources[name]
            spec = FeatureSpec(
                f"{row['name']}_{name}_s",
                f"{resource['symbol']}_{row['symbol']}",
                SECOND,
                resource["meaning"].replace("{}", row["meaning"]),
                low=0.0,
            )
            feature = Feature(spec, resource["seconds"].replace("{}", amount))
            covers = frozenset(row.get("covers", "").split())
            weight = EXPECTED_WEIGHTS[resource.get("rule", row["count"])]
            yield Work(feature, row["name"], resource["factors"], covers, weight)
