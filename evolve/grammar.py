"""Which expressions can be born: a DEAP primitive set whose types are units, made from the features.

Every unit is a type, so that only expressions that mean something in the target's unit exist: a sum or a
maximum of times, a time multiplied by anything dimensionless, a quotient of work by rate. MAC and FLOP,
element and byte, and counts of samples differ by constants that a fit finds, so they are one type each
(and samples are counts). A leaf that carries an amount (not a rate) has a fitted weight of its own: a sum
of ten times is 19 nodes, not 39.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from zlib import crc32

import numpy as np
from deap import gp
from numpy.typing import NDArray
from trainlaw.evolve.arrays import CONSTANT, VARIABLE, WEIGHTED
from trainlaw.evolve.machine_kernels import OPERATOR_CODES
from trainlaw.evolve.settings import TYPED_OPERATORS, UNTYPED_OPERATORS, SearchSettings
from trainlaw.formulas import DIMENSIONLESS, OPERATORS, FeatureSpec, InputError, Unit, unknown_name
from trainlaw.formulas.units import BASES

MOST_UNITS = 24
# Pull of a weight towards zero, relative to where its search begins: only what no row determines feels it.
WEIGHT_PULL = 1e-7
# One of each pair stands for both: the constant between them has a unit, and a fit finds it.
SAME_TYPE = {"MAC": "FLOP", "element": "B", "sample": None}


class UnitType(type):
    """A type of the primitive set whose hash is that of its name.

    DEAP's crossover draws from a set of types; with the usual hash, an address, its order would change
    from run to run.
    """

    def __hash__(cls) -> int:
        """The same number in every run."""
        return crc32(cls.__name__.encode())


class Leaf(gp.Terminal):
    """A terminal: a feature, a feature with a fitted weight, or a fitted constant.

    token : what the machine reads. constant : the fitted number or None. lower, upper : its bounds. scaling :
    whether the target is proportional to it. start : where its search begins. feature : name or None.
    """

    __slots__ = ("constant", "feature", "lower", "pull", "scaling", "start", "token", "upper")

    def __init__(self, token: int, ret: type, feature: str | None, label: str) -> None:
        self.token, self.ret, self.feature, self.name, self.value = token, ret, feature, label, label
        self.conv_fct = str
        self.constant: float | None = None
        self.lower, self.upper, self.scaling, self.start, self.pull = -np.inf, np.inf, False, 1.0, 0.0

    def holding(self, constant: float) -> "Leaf":
        """The same leaf with another fitted number."""
        leaf = Leaf.__new__(Leaf)
        leaf.token, leaf.ret, leaf.feature, leaf.name, leaf.value = (
            self.token,
            self.ret,
            self.feature,
            self.name,
            self.value,
        )
        leaf.conv_fct, leaf.constant = self.conv_fct, constant
        leaf.lower, leaf.upper, leaf.scaling = self.lower, self.upper, self.scaling
        leaf.start, leaf.pull = self.start, self.pull
        return leaf


class Operation(gp.Primitive):
    """A primitive with the machine's token beside DEAP's fields."""

    __slots__ = ("constant", "token")

    def __init__(self, operator: str, arguments: list[type], ret: type) -> None:
        super().__init__(operator, arguments, ret)
        self.token = OPERATOR_CODES[operator]
        self.constant = None


Node = Leaf | Operation


def type_unit(unit: Unit) -> Unit:
    """The unit that stands for `unit` as a type."""
    exponents = dict(zip(BASES, unit.exponents, strict=True))
    for base, stand_in in SAME_TYPE.items():
        moved = exponents[base]
        exponents[base] = Fraction(0)
        if stand_in:
            exponents[stand_in] += moved
    return Unit(tuple(exponents[base] for base in BASES))


@dataclass(frozen=True)
class Grammar:
    """The primitive set and what variation needs to know beyond it.

    target : the type of a whole expression. number : the dimensionless type. exponent : the type of the
    constant exponents. logarithm : the type of what an exponential takes in typed mode, sums of weighted
    pure numbers, so that exponentials never nest. least_depth : per type, the depth of its smallest tree.
    leaves : every leaf by type.
    """

    primitive_set: gp.PrimitiveSetTyped
    target: type
    number: type
    exponent: type
    logarithm: type
    least_depth: dict[type, float]
    typed: bool
    positive: frozenset[str]

    def leaves(self, ret: type) -> list[Leaf]:
        """The leaves of one type."""
        return self.primitive_set.terminals[ret]

    def operations(self, ret: type) -> list[Operation]:
        """The operations that yield one type."""
        return self.primitive_set.primitives[ret]

    def operation(self, name: str, ret: type, *arguments: type) -> Operation | None:
        """The operation of this signature, or None where the grammar has none."""
        for candidate in self.operations(ret):
            if candidate.name == name and tuple(candidate.args) == arguments:
                return candidate
        return None

    def grow(self, ret: type, depth: int) -> list[Node]:
        """A random tree of one type, at most `depth` deep where the type allows it."""
        room = max(depth, int(self.least_depth[ret]))
        operations = [
            node
            for node in self.operations(ret)
            if all(self.least_depth[argument] < room for argument in node.args)
        ]
        leaves = self.leaves(ret)
        if leaves and (room <= 1 or not operations or random.random() < 0.3):
            return [draw(random.choice(leaves))]
        chosen = random.choice(operations)
        tree: list[Node] = [chosen]
        for argument in chosen.args:
            tree += self.grow(argument, room - 1)
        return tree


def draw(leaf: Leaf) -> Leaf:
    """A fresh copy of a leaf, its constant drawn around where its search begins."""
    if leaf.token & 255 == VARIABLE:
        return leaf
    spread = random.gauss(0.0, 0.5)
    value = leaf.start * np.exp(spread) if leaf.lower >= 0.0 else leaf.start + 2.0 * spread
    return leaf.holding(float(min(max(value, leaf.lower), leaf.upper)))


def make_grammar(
    features: tuple[FeatureSpec, ...],
    target: FeatureSpec,
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    settings: SearchSettings,
) -> Grammar:
    """The grammar for `columns` (n_features, n_rows) in the features' units and `y` (n_rows,) in the
    target's.

    Raises InputError where no expression can have the target's unit, UnknownNameError for an unknown
    feature.
    """
    allowed = _allowed_features(features, columns, settings)
    units = [type_unit(spec.unit) if settings.typed else DIMENSIONLESS for spec in features]
    goal = type_unit(target.unit) if settings.typed else DIMENSIONLESS
    types = _make_types({units[i] for i in allowed} | {goal, DIMENSIONLESS}, goal, settings.typed)
    exponent = UnitType("exponent", (), {})
    logarithm = UnitType("logarithm", (), {}) if settings.typed else types[DIMENSIONLESS]
    primitive_set = gp.PrimitiveSetTyped("law", [], types[goal])
    names = settings.operators or (TYPED_OPERATORS if settings.typed else UNTYPED_OPERATORS)
    for operation in _operations(names, types, exponent, logarithm):
        primitive_set._add(operation)
        primitive_set.prims_count += 1
    leaves = _feature_leaves(features, units, goal, types, logarithm, columns, y, allowed, settings)
    for leaf in [*leaves, *_constant_leaves(types, goal, exponent, y, settings)]:
        primitive_set._add(leaf)
        primitive_set.terms_count += 1
    depths = _least_depths(primitive_set, [*types.values(), exponent, logarithm])
    if not np.isfinite(depths[types[goal]]):
        raise InputError(
            f"expected features from which {target.unit} can be made, came none: add some or set typed=False"
        )
    positive = frozenset(features[i].name for i in allowed if np.all(columns[i] > 0.0))
    return Grammar(
        primitive_set,
        types[goal],
        types[DIMENSIONLESS],
        exponent,
        logarithm,
        depths,
        settings.typed,
        positive,
    )


def _allowed_features(
    features: tuple[FeatureSpec, ...], columns: NDArray[np.float64], settings: SearchSettings
) -> list[int]:
    """Indices of the features that may occur; a pure number that never changes tells nothing and is left
    out.
    """
    names = [spec.name for spec in features]
    for name in (*settings.required_features, *settings.forbidden_features):
        if name not in names:
            raise unknown_name("feature", name, names)
    silent = {
        spec.name
        for spec, column in zip(features, columns, strict=True)
        if settings.typed and spec.unit.is_dimensionless and np.ptp(column) == 0.0
    }
    return [
        i for i, name in enumerate(names) if name not in settings.forbidden_features and name not in silent
    ]


def _make_types(units: set[Unit], goal: Unit, typed: bool) -> dict[Unit, type]:
    """One class per unit: those of the features, and products and quotients of two that help to reach the
    goal.
    """
    known = set(units)
    if typed:
        pairs = [(a, b) for a in units for b in units]
        bridges = {c for a, b in pairs for c in (a * b, a / b)} - known
        useful = [c for c in bridges if any(goal in (c * u, c / u, u / c) for u in units)]
        known |= set(sorted(useful, key=lambda unit: (sum(map(abs, unit.exponents)), str(unit)))[:MOST_UNITS])
    return {unit: UnitType(str(unit), (), {}) for unit in sorted(known, key=str)}


def _operations(
    names: Iterable[str], types: dict[Unit, type], exponent: type, logarithm: type
) -> list[Operation]:
    """Every signature of every operator over the types."""
    found = []
    number = types[DIMENSIONLESS]
    for name in names:
        row = OPERATORS[name]
        if row.unit_rule.kind == "same":
            found += [Operation(name, [cls] * row.arity, cls) for cls in types.values()]
        elif row.unit_rule.kind == "product":
            found += _products(name, row.unit_rule.exponents, types)
        elif row.unit_rule.kind == "power":
            found.append(Operation(name, [number, exponent], number))
        elif name == "exp":
            found.append(Operation(name, [logarithm], number))
        else:
            found.append(Operation(name, [number] * row.arity, number))
    if logarithm is not number and "add" in names:
        found.append(Operation("add", [logarithm, logarithm], logarithm))
    return found


def _products(name: str, exponents: tuple[Fraction, ...], types: dict[Unit, type]) -> list[Operation]:
    if len(exponents) == 1:
        results = [(cls, types.get(unit ** exponents[0])) for unit, cls in types.items()]
        return [Operation(name, [cls], ret) for cls, ret in results if ret is not None]
    found = []
    for first, first_class in types.items():
        for second, second_class in types.items():
            ret = types.get(first ** exponents[0] * second ** exponents[1])
            # number * time is time * number: one order suffices.
            mirrored = exponents[0] == exponents[1] and str(first) < str(second)
            if ret is not None and not mirrored:
                found.append(Operation(name, [first_class, second_class], ret))
    return found


def _feature_leaves(
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
    """Amounts with a weight, rates without, dimensionless features both ways."""
    leaves = []
    for i in allowed:
        name, unit = features[i].name, units[i]
        plain = Leaf(VARIABLE + 256 * i, types[unit], name, name)
        weighted = Leaf(WEIGHTED + 256 * i, types[unit], name, "weighted_" + name)
        weighted.constant = 1.0
        if unit.is_dimensionless:
            # Sums of positive numbers have no poles: a held-out GPU cannot come upon one.
            weighted.lower = 0.0 if settings.typed and settings.nonnegative else -np.inf
            weighted.pull = settings.shrinkage if settings.typed else 0.0
            leaves += [plain, weighted]
            if settings.typed:
                linear = Leaf(weighted.token, logarithm, name, "weighted_" + name)
                linear.constant, linear.start, linear.pull = 1.0, 0.0, weighted.pull
                leaves.append(linear)
        elif unit.exponents[0] < 0:
            leaves.append(plain)
        else:
            weighted.lower = 0.0 if settings.nonnegative else -np.inf
            weighted.scaling = True
            weighted.start = _typical_ratio(y, columns[i]) if unit == goal else 1.0
            weighted.pull = WEIGHT_PULL / weighted.start**2
            leaves.append(weighted)
    return leaves


def _constant_leaves(
    types: dict[Unit, type], goal: Unit, exponent: type, y: NDArray[np.float64], settings: SearchSettings
) -> list[Leaf]:
    """A free dimensionless number, a bounded exponent, and a number in the target's unit."""
    number = Leaf(CONSTANT, types[DIMENSIONLESS], None, "number")
    number.constant = 1.0
    number.lower = 0.0 if settings.typed and settings.nonnegative else -np.inf
    power = Leaf(CONSTANT, exponent, None, "exponent")
    power.constant, power.lower, power.upper = 1.0, -settings.exponent_limit, settings.exponent_limit
    number.pull = power.pull = settings.shrinkage if settings.typed else 0.0
    leaves = [number, power]
    if not goal.is_dimensionless:
        overhead = Leaf(CONSTANT, types[goal], None, "overhead")
        overhead.constant, overhead.scaling = 1.0, True
        overhead.lower = 0.0 if settings.nonnegative else -np.inf
        overhead.start = 0.1 * _typical_ratio(y, np.ones_like(y))
        overhead.pull = WEIGHT_PULL / overhead.start**2
        leaves.append(overhead)
    return leaves


def _typical_ratio(y: NDArray[np.float64], column: NDArray[np.float64]) -> float:
    """Median of y / column over rows where both are positive; 1 where there are none."""
    usable = (y > 0.0) & (column > 0.0)
    return float(np.median(y[usable] / column[usable])) if usable.any() else 1.0


def _least_depths(primitive_set: gp.PrimitiveSetTyped, types: list[type]) -> dict[type, float]:
    depths = {cls: 1.0 if primitive_set.terminals[cls] else np.inf for cls in types}
    for _ in range(len(types) + 1):
        for cls in types:
            for node in primitive_set.primitives[cls]:
                depths[cls] = min(depths[cls], 1.0 + max(depths[argument] for argument in node.args))
    return depths


def untyped(settings: SearchSettings) -> SearchSettings:
    """The same settings without types."""
    return replace(settings, typed=False)


def describe(tree: Iterable[Any]) -> str:
    """Prefix text of a tree, for messages and logs."""
    return " ".join(
        node.name if node.constant is None else f"{node.name}={node.constant:.4g}" for node in tree
    )
