"""The leaves of a grammar: features and constants, how each is fitted, and where its search begins."""

import math
import random
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from deap import gp
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import CONSTANT, GROUPED, VARIABLE, WEIGHTED
from trainlaw.evolve.machine.machine_kernels import OPERATOR_CODES
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec, Unit

# Pull of a weight towards zero, relative to where its search begins: only what no row determines feels it.
WEIGHT_PULL = 1e-7
# A grouped constant multiplies by at most e to this power.
MOST_LOG_EFFECT = 3.0


class Rule(NamedTuple):
    """How a leaf's constant is fitted: its bounds, whether the target is proportional to it, and the weight
    of its square.
    """

    lower: float = -np.inf
    upper: float = np.inf
    scaling: bool = False
    pull: float = 0.0


class Leaf(gp.Terminal):
    """A terminal: a feature, a feature with a fitted weight, a fitted constant, or a grouped one.

    token : what the machine reads. constant : the fitted number, the numbers of a grouped constant, or None.
    rule : how it is fitted. start : where its search begins; of a bare feature its median. feature : name or
    None.
    """

    __slots__ = ("constant", "feature", "rule", "start", "token")
    # DEAP's fields for printing, of every leaf alike, are not written again with each fitted number.
    conv_fct = str
    value = property(lambda self: self.name)

    def __init__(
        self,
        token: int,
        ret: type,
        feature: str | None,
        label: str,
        constant: float | tuple[float, ...] | None = None,
        rule: Rule = Rule(),
        start: float = 1.0,
    ) -> None:
        self.token, self.ret, self.feature, self.name = token, ret, feature, label
        self.constant, self.rule, self.start = constant, rule, start

    def holding(self, constant: float | tuple[float, ...]) -> "Leaf":
        """The same leaf with another fitted number."""
        leaf = Leaf.__new__(Leaf)
        leaf.token, leaf.ret, leaf.feature, leaf.name = self.token, self.ret, self.feature, self.name
        leaf.constant, leaf.rule, leaf.start = constant, self.rule, self.start
        return leaf


class Operation(gp.Primitive):
    """A primitive with the machine's token beside DEAP's fields."""

    __slots__ = ("constant", "token")

    def __init__(self, operator: str, arguments: list[type], ret: type) -> None:
        super().__init__(operator, arguments, ret)
        self.token = OPERATOR_CODES[operator]
        self.constant = None


Node = Leaf | Operation


class Share(NamedTuple):
    """(x + c) / x of a positive pure number x, where c may be negative as long as x + c is not.

    Where all else is a sum of positive terms, this is how (n - 1) / n comes about, and an efficiency that
    rises with a size. Amounts are multiplied by it, never divided: so it brings no pole. As a number of any
    use, x + c keeps half of the smallest x: a pole lies that far outside.
    """

    division: Operation
    addition: Operation
    shifted: Leaf
    amount: Leaf
    whole: Leaf
    near: Operation
    near_amount: Leaf

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What the primitive set needs beside the leaves."""
        return self.division, self.addition, self.near

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Its leaves: the feature above, the constants, the feature below."""
        return self.shifted, self.amount, self.whole, self.near_amount


def draw(leaf: Leaf) -> Leaf:
    """A fresh copy of a leaf, its constant drawn around where its search begins."""
    if leaf.constant is None or isinstance(leaf.constant, tuple):
        return leaf
    spread = random.gauss(0.0, 0.5)
    value = leaf.start * math.exp(spread) if leaf.rule.lower >= 0.0 else leaf.start + 2.0 * spread
    return leaf.holding(min(max(value, leaf.rule.lower), leaf.rule.upper))


def feature_leaves(
    features: tuple[FeatureSpec, ...],
    units: list[Unit],
    goal: Unit,
    types: dict[Unit, type],
    logarithm: type,
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    allowed: list[int],
    settings: SearchSettings,
) -> list[Leaf]:
    """Of `columns` (n_features, n_observations): amounts with a weight, rates without, dimensionless features
    both ways.
    """
    least = 0.0 if settings.nonnegative else -np.inf
    leaves = []
    for i in allowed:
        name, unit = features[i].name, units[i]
        plain = Leaf(VARIABLE + 256 * i, types[unit], name, name, start=float(np.median(columns[i])))

        def weighted(ret: type, rule: Rule, start: float, i: int = i, name: str = name) -> Leaf:
            return Leaf(WEIGHTED + 256 * i, ret, name, "weighted_" + name, 1.0, rule, start)

        if unit.is_dimensionless:
            pull = settings.shrinkage if settings.typed else 0.0
            # Sums of positive numbers have no poles: a held-out GPU cannot come upon one.
            rule = Rule(least if settings.typed else -np.inf, pull=pull)
            leaves += [plain, weighted(types[unit], rule, 1.0)]
            if settings.typed:
                leaves.append(weighted(logarithm, Rule(pull=pull), 0.0))
        elif unit.exponents[0] < 0:
            leaves.append(plain)
        else:
            start = _typical_ratio(y, columns[i]) if unit == goal else 1.0
            rule = Rule(least, scaling=True, pull=WEIGHT_PULL / start**2)
            leaves.append(weighted(types[unit], rule, start))
    return leaves


def constant_leaves(
    types: dict[Unit, type], goal: Unit, exponent: type, y: NDArray[np.float64], settings: SearchSettings
) -> list[Leaf]:
    """A free dimensionless number, a bounded exponent, and a number in the target's unit."""
    least = 0.0 if settings.nonnegative else -np.inf
    pull = settings.shrinkage if settings.typed else 0.0
    number = Rule(least if settings.typed else -np.inf, pull=pull)
    power = Rule(-settings.exponent_limit, settings.exponent_limit, pull=pull)
    leaves = [
        Leaf(CONSTANT, types[DIMENSIONLESS], None, "number", 1.0, number),
        Leaf(CONSTANT, exponent, None, "exponent", 1.0, power),
    ]
    if not goal.is_dimensionless:
        start = 0.1 * _typical_ratio(y, np.ones_like(y))
        rule = Rule(least, scaling=True, pull=WEIGHT_PULL / start**2)
        leaves.append(Leaf(CONSTANT, types[goal], None, "overhead", 1.0, rule, start))
    return leaves


def make_share(name: str, index: int, column: NDArray[np.float64], share: type, number: type) -> Share:
    """The share of the dimensionless feature `name`, column `index`, values (n_rows,), as type `share`."""
    above, amount, whole, below, near = (
        type(f"{name} {part}", (), {}) for part in ("above", "shift", "shifted", "below", "near shift")
    )
    least = -float(column.min())
    rule = Rule(lower=least, pull=WEIGHT_PULL / float(np.median(column)) ** 2)
    token = VARIABLE + 256 * index
    return Share(
        Operation("div", [whole, below], share),
        Operation("add", [above, amount], whole),
        Leaf(token, above, name, name),
        Leaf(CONSTANT, amount, None, "shift", 0.0, rule, 0.0),
        Leaf(token, below, name, name, start=float(np.median(column))),
        Operation("add", [above, near], number),
        Leaf(CONSTANT, near, None, "near shift", 0.0, rule._replace(lower=0.5 * least), 0.0),
    )


def grouped_leaves(
    levels: Mapping[str, tuple[str, ...]], first_column: int, number: type, settings: SearchSettings
) -> list[Leaf]:
    """One leaf per label: a factor per level, as its logarithm; the columns of labels follow the features."""
    rule = Rule(-MOST_LOG_EFFECT, MOST_LOG_EFFECT, pull=settings.group_shrinkage)
    return [
        Leaf(GROUPED + 256 * (first_column + i), number, name, f"C[{name}]", (0.0,) * len(values), rule)
        for i, (name, values) in enumerate(levels.items())
    ]


def within(leaf: Leaf, ranges: Mapping[str, tuple[float, float]]) -> Leaf:
    """The leaf, its constant kept in the range that the user gives for its feature or its kind."""
    name = leaf.feature or leaf.name
    if leaf.constant is None or isinstance(leaf.constant, tuple) or name not in ranges:
        return leaf
    low, high = ranges[name]
    leaf.rule = leaf.rule._replace(lower=max(low, leaf.rule.lower), upper=min(high, leaf.rule.upper))
    leaf.start = min(max(leaf.start, leaf.rule.lower), leaf.rule.upper)
    return leaf


def _typical_ratio(y: NDArray[np.float64], column: NDArray[np.float64]) -> float:
    """Median of y / column over rows where both are positive; 1 where there are none."""
    usable = (y > 0.0) & (column > 0.0)
    return float(np.median(y[usable] / column[usable])) if usable.any() else 1.0
