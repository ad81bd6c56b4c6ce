"""Properties proved of a formula wherever it may be used: on all known GPUs and CNNs, batch 1 to 4,096.

The deployment box holds every combination of specifications and counts between the lowest and the highest
that are known, so also GPUs and CNNs that do not exist. Counts of work are split into amounts that do not
overlap, and each amount grows alone: more pixels, more channels or more layers are sums of such steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.app.models.scopes import handling
from trainlaw.datasets import built_in_gpus, cnn_table
from trainlaw.datasets.cnns.counts import explain
from trainlaw.datasets.cnns.zoo import timm_table
from trainlaw.datasets.features.feature import Feature
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.formulas import Constant, Expression, Formula, Variable, parse_text, substitute, variables
from trainlaw.formulas.files.toml_tables import toml_table
from trainlaw.formulas.proofs.elasticities import Elasticities

Ends = tuple[float, float]
LARGEST_BATCH = 4096
_TABLE = toml_table(__file__, "deployment.toml")
#: Work that the counts name more than once, as a sum of amounts that are counted once.
PARTS: Mapping[str, str] = MappingProxyType(_TABLE["parts"])
#: Features that are independent amounts: a mean falls when a layer below it is added; any GPU has any host.
AMOUNTS = ("mean_layer_elements", "host_launch_s")
_PEAKS = tuple(dict.fromkeys(row.peak_column for row in PRECISIONS.values()))


@dataclass(frozen=True)
class Change:
    """One way in which a run can differ: what grows together, and the direction in which time may go.

    fixed : flags that have one value, where only such runs can differ like that.
    """

    name: str
    together: Mapping[str, float]
    direction: int
    fixed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Property:
    """A statement about a formula over the deployment box; `blame` says which terms leave it open."""

    statement: str
    proved: bool
    blame: tuple[str, ...] = ()


def _alone(name: str, direction: int) -> Change:
    return Change(name, {name: 1.0}, direction)


def _machine_change(name: str, direction: int, rates: Sequence[str], *flags: str) -> Change:
    """Return a row of the table as a change; "peaks" are the peak rates of all precisions, -NAME falls."""
    written_out = [each for rate in rates or [name] for each in (_PEAKS if rate == "peaks" else [rate])]
    together = {rate.removeprefix("-"): -1.0 if rate.startswith("-") else 1.0 for rate in written_out}
    return Change(name, together, direction, dict.fromkeys(flags, 1.0))


#: What may differ between machines. Any change of rates on a data sheet is made of these: in fp32 the peak
#: rate is the fp32 rate.
HARDWARE = tuple(_machine_change(*row) for row in _TABLE["hardware"])


def deployment_box() -> dict[str, Ends]:
    """Return the lowest and highest value of every base column and amount of work, in its unit."""
    sizes = [row.bytes_per_element for row in PRECISIONS.values()]
    run: dict[str, Ends] = {name: (low, high) for name, (low, high) in _TABLE["run"].items()}
    run |= {"batch_per_gpu": (1.0, float(LARGEST_BATCH)), "bytes_per_element": (min(sizes), max(sizes))}
    return {**_cnn_box(), **_gpu_box(), **run}


@cache
def _gpu_box() -> Mapping[str, Ends]:
    known = [gpu for gpu in built_in_gpus().gpus if gpu.device == "GPU"]
    numbers = {name: np.array([gpu.number(name) for gpu in known]) for name in NUMBER_COLUMNS}
    box = {name: (float(np.nanmin(column)), float(np.nanmax(column))) for name, column in numbers.items()}
    peaks = [box[name] for name in _PEAKS]
    return box | {"peak_flop_per_s": (min(low for low, _ in peaks), max(high for _, high in peaks))}


@cache
def _cnn_box() -> Mapping[str, Ends]:
    """Return the range of each count: from 0, but from the lowest for numbers of layers and the like."""
    table = pd.concat([cnn_table(), timm_table()])
    counts = {name: (0.0, float(table[name].max())) for name, _, _ in explain() if name in table}
    for name in ("n_layers", "depth", "depth_all_layers", "graph_width"):
        counts[name] = float(table[name].min()), counts[name][1]
    means = table["activation_elements"] / table["n_layers"]
    return counts | {
        "conv_other_macs": counts["conv_macs"],
        "simple_elementwise_elements": counts["elementwise_elements"],
        "other_params": counts["params"],
        "mean_layer_elements": (0.0, float(means.max())),
    }


def over_amounts(formula: Formula) -> Expression:
    """Return the formula over base columns and the amounts of `PARTS` and `AMOUNTS`."""
    features = handling(formula).features
    whole = formula.ungrouped
    return substitute(whole, {name: _written_out(features, name) for name in variables(whole)})


def _written_out(features: Mapping[str, Feature], name: str) -> Expression:
    if name in PARTS:
        return parse_text(PARTS[name])
    feature = features.get(name)
    if feature is None or feature.is_base or name in AMOUNTS:
        return Variable(name)
    parts = variables(feature.expression)
    return substitute(feature.expression, {part: _written_out(features, part) for part in parts})


def proved_properties(formula: Formula) -> list[Property]:
    """Return what a time has to satisfy over the deployment box, each statement proved or with what is open.

    That the time is never negative; that it never falls with the batch or any amount of work; that it never
    rises with a rate, cache, clock or link. Quantities that the formula, one of whole runs, lacks are left
    out. UnknownNameError if a feature has no range in the box, as one of the user's own.
    """
    expression = over_amounts(formula)
    box = deployment_box()
    names = set(variables(expression))
    flags = {name: (0.0, 1.0) for name in names if name.startswith(("is_", "has_"))}

    @cache
    def where(*fixed: tuple[str, float]) -> Elasticities:
        case = substitute(expression, {name: Constant(value) for name, value in fixed})
        return Elasticities(case, {**box, **flags}, tuple(flags))

    found = [Property("the time is never negative", where().nonnegative)]
    work = sorted(names & {"batch_per_gpu", "single_gpu_time_s", *_cnn_box()})
    for change in (*(_alone(name, 1) for name in work), *HARDWARE):
        if names.intersection(change.together):
            fixed = [flag for flag in change.fixed.items() if flag[0] in names]
            proof = where(*fixed).monotone(change.together, change.direction)
            word = "falls" if change.direction > 0 else "rises"
            found.append(Property(f"the time never {word} with {change.name}", proof.proved, proof.blame))
    return found
