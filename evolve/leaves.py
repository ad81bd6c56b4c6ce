"""The leaves of a grammar: features and constants, how each is fitted, and its starting value."""

import math
from collections.abc import Iterable, Mapping
from random import Random
from typing import NamedTuple

import numpy as np
from deap import gp
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import CONSTANT, VARIABLE, WEIGHTED
from trainlaw.evolve.machine.kernels import OPERATOR_CODES
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import DIMENSIONLESS, Unit

# Pull of a weight towards zero, relative to its starting value: so small that it matters only for a constant
# that no row determines.
WEIGHT_PULL = 1e-7
# Pull of exponents and of dimensionless constants towards zero, where units are types.
SHRINKAGE = 1e-3
# Largest absolute value of a fitted exponent: laws of time have none beyond 2.
EXPONENT_LIMIT = 2.0


class Rule(NamedTuple):
    """How a leaf's constant is fitted.

    lower, upper : bounds. scaling : whether the target is proportional to it. pull : weight of its squared
    distance from `centre`.
    """

    lower: float = -np.inf
    upper: float = np.inf
    scaling: bool = False
    pull: float = 0.0
    centre: float = 0.0


FREE = Rule()


# DEAP has no types.
class Leaf(gp.Terminal):  # type: ignore[misc]
    """A terminal: a feature, a feature with a fitted weight, or a fitted constant.

    token : code of the machine. constant : the fitted number, or None. rule : how it is fitted. start :
    starting value; for a bare feature its median. feature : name or None. kind : index in the grammar, -1
    outside one.
    """

    __slots__ = ("constant", "feature", "kind", "rule", "start", "token")
    # DEAP's fields for printing are the same for every leaf: as class attributes they cost nothing per leaf.
    conv_fct = str
    # DEAP computes it as a property.
    arity = 0
    value = property(lambda self: self.name)

    def __init__(
        self,
        token: int,
        ret: type,
        feature: str | None,
        label: str,
        *,
        constant: float | None = None,
        rule: Rule = FREE,
        start: float = 1.0,
    ) -> None:
        """Store the fields; DEAP's constructor would compute others."""
        # `ret` and `name` are slots of DEAP's class.
        self.ret, self.name = ret, label  # type: ignore[misc]
        self.token, self.feature, self.constant = token, feature, constant
        self.rule, self.start, self.kind = rule, start, -1

    def __deepcopy__(self, known: object) -> "Leaf":
        """Return the leaf itself, which nothing changes: DEAP's hall of fame copies its trees."""
        return self

    def holding(self, constant: float) -> "Leaf":
        """Return the same leaf with another fitted number."""
        leaf = Leaf.__new__(Leaf)
        leaf.ret, leaf.name = self.ret, self.name  # type: ignore[misc]
        leaf.token, leaf.feature, leaf.constant = self.token, self.feature, constant
        leaf.rule, leaf.start, leaf.kind = self.rule, self.start, self.kind
        return leaf


# DEAP has no types.
class Operation(gp.Primitive):  # type: ignore[misc]
    """A primitive with the machine's token, and its index in the grammar, in addition to DEAP's fields."""

    __slots__ = ("constant", "kind", "token")
    feature = None

    def __init__(self, operator: str, arguments: list[type], ret: type) -> None:
        """Make the primitive of an operator over arguments of these types."""
        super().__init__(operator, arguments, ret)
        self.token = OPERATOR_CODES[operator]
        self.constant, self.kind = None, -1


Node = Leaf | Operation


class Share(NamedTuple):
    """The nodes of (x + c) / x, for a positive dimensionless feature x; c may be negative while x + c is not.

    In a grammar of sums of positive terms, this is the way to (n - 1) / n and to an efficiency that rises
    with a size. Amounts are only multiplied by it, so that it has no pole. Where it may occur anywhere, x +
    c keeps at least half of the smallest x, so that a pole lies that far outside the training range.
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
        """The operations that the primitive set needs in addition to the leaves."""
        return self.division, self.addition, self.near

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves: the feature in the numerator, the constants, the feature in the denominator."""
        return self.shifted, self.amount, self.whole, self.near_amount


def draw(leaf: Leaf, random: Random) -> Leaf:
    """Return a copy of a leaf, its constant drawn around the starting value."""
    if leaf.constant is None:
        return leaf
    spread = random.gauss(0.0, 0.5)
    value = leaf.start * math.exp(spread) if leaf.rule.lower >= 0.0 else leaf.start + 2.0 * spread
    return leaf.holding(min(max(value, leaf.rule.lower), leaf.rule.upper))


class Offered(NamedTuple):
    """A feature that may occur: its column, name, unit as a type, and values (n_observations,)."""

    place: int
    name: str
    unit: Unit
    values: NDArray[np.float64]


def feature_leaves(
    features: Iterable[Offered],
    *,
    goal: Unit,
    types: Mapping[Unit, type],
    logarithm: type,
    y: NDArray[np.float64],
    settings: SearchSettings,
) -> list[Leaf]:
    """Return the leaves of the features: amounts with a weight, rates without, dimensionless ones both ways.

    y : target, (n_observations,).
    """
    least = 0.0 if settings.nonnegative else -np.inf
    leaves = []
    for i, name, unit, values in features:
        plain = Leaf(VARIABLE + 256 * i, types[unit], name, name, start=float(np.median(values)))

        def weighted(ret: type, rule: Rule, start: float, i: int = i, name: str = name) -> Leaf:
            return Leaf(
                WEIGHTED + 256 * i, ret, name, "weighted_" + name, constant=1.0, rule=rule, start=start
            )

        if unit.is_dimensionless:
            pull = SHRINKAGE if settings.typed else 0.0
            # Sums of positive numbers have no poles, so that an unseen GPU cannot hit one.
            rule = Rule(least if settings.typed else -np.inf, pull=pull)
            leaves += [plain, weighted(types[unit], rule, 1.0)]
            if settings.typed:
                leaves.append(weighted(logarithm, Rule(pull=pull), 0.0))
        elif unit.exponents[0] < 0:
            leaves.append(plain)
        else:
            start = _typical_ratio(y, values) if unit == goal else 1.0
            rule = Rule(least, scaling=True, pull=WEIGHT_PULL / start**2)
            leaves.append(weighted(types[unit], rule, start))
    return leaves


def constant_leaves(
    types: dict[Unit, type], goal: Unit, exponent: type, y: NDArray[np.float64], settings: SearchSettings
) -> list[Leaf]:
    """Return a free dimensionless number, a bounded exponent, and a number in the target's unit."""
    least = 0.0 if settings.nonnegative else -np.inf
    pull = SHRINKAGE if settings.typed else 0.0
    number = Rule(least if settings.typed else -np.inf, pull=pull)
    power = Rule(-EXPONENT_LIMIT, EXPONENT_LIMIT, pull=pull)
    leaves = [
        Leaf(CONSTANT, types[DIMENSIONLESS], None, "number", constant=1.0, rule=number),
        Leaf(CONSTANT, exponent, None, "exponent", constant=1.0, rule=power),
    ]
    if not goal.is_dimensionless:
        start = 0.1 * _typical_ratio(y, np.ones_like(y))
        rule = Rule(least, scaling=True, pull=WEIGHT_PULL / start**2)
        leaves.append(Leaf(CONSTANT, types[goal], None, "overhead", constant=1.0, rule=rule, start=start))
    return leaves


def make_share(name: str, index: int, column: NDArray[np.float64], share: type, number: type) -> Share:
    """Return the share of the dimensionless feature `name`, in column `index` with values (n_rows,)."""
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
        Leaf(CONSTANT, amount, None, "shift", constant=0.0, rule=rule, start=0.0),
        Leaf(token, below, name, name, start=float(np.median(column))),
        Operation("add", [above, near], number),
        Leaf(
            CONSTANT, near, None, "near shift", constant=0.0, rule=rule._replace(lower=0.5 * least), start=0.0
        ),
    )


def within(leaf: Leaf, ranges: Mapping[str, tuple[float, float]]) -> Leaf:
    """Return the leaf with its constant limited to the user's range for its feature or its kind."""
    name = leaf.feature or leaf.name
    if leaf.constant is None or name not in ranges:
        return leaf
    low, high = ranges[name]
    leaf.rule = leaf.rule._replace(lower=max(low, leaf.rule.lower), upper=min(high, leaf.rule.upper))
    leaf.start = min(max(leaf.start, leaf.rule.lower), leaf.rule.upper)
    return leaf


def _typical_ratio(y: NDArray[np.float64], column: NDArray[np.float64]) -> float:
    """Return the median of y / column over rows where both are positive; 1 if there are none."""
    usable = (y > 0.0) & (column > 0.0)
    return float(np.median(y[usable] / column[usable])) if usable.any() else 1.0
