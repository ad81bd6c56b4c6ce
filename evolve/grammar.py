"""The typed grammar: a DEAP primitive set whose types are units, made from the features.

Every unit is a type, so that only expressions in the target's unit exist: a sum or a maximum of times, a
time multiplied by anything dimensionless, a quotient of work by rate. MAC and FLOP, element and byte, and
counts of samples differ by constants that a fit finds, so they are one type each (and samples are counts).
A leaf of an amount (not a rate) has a fitted weight: a sum of ten times has 19 nodes instead of 39.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from deap import gp
from numpy.typing import NDArray
from trainlaw.evolve.leaves import (
    Leaf,
    Node,
    Offered,
    Operation,
    Rule,
    Share,
    constant_leaves,
    feature_leaves,
    make_share,
    within,
)
from trainlaw.evolve.machine.moves import GrammarTables, grow_tree, make_trees
from trainlaw.evolve.settings import TYPED_OPERATORS, SearchSettings
from trainlaw.formulas import DIMENSIONLESS, OPERATORS, FeatureSpec, InputError, Unit
from trainlaw.formulas.algebra.units import BASES

# Intermediate units beyond those of the features: more would slow the search down without new formulas.
MOST_UNITS = 24
# The first unit is replaced by the second (None: by a count): a fit finds the constant between them.
SAME_TYPE = {"MAC": "FLOP", "element": "B", "sample": None}


def type_unit(unit: Unit) -> Unit:
    """Return the unit that represents `unit` as a type."""
    exponents = dict(zip(BASES, unit.exponents, strict=True))
    for base, stand_in in SAME_TYPE.items():
        moved = exponents[base]
        exponents[base] = Fraction(0)
        if stand_in:
            exponents[stand_in] += moved
    return Unit(tuple(exponents[base] for base in BASES))


@dataclass(frozen=True)
class Grammar:
    """The primitive set, and the types and features that variation asks for.

    target : the type of a whole expression. number : the dimensionless type. exponent : the type of the
    constant exponents. logarithm : the type of an exponential's argument in typed mode, a sum of weighted
    dimensionless features, so that exponentials never nest. least_depth : per type, the depth of its
    smallest tree. only_positive : whether no expression can be negative. positive : features that are
    positive on every row. silent : features that are excluded because they never change, with their value.
    share, shares : the type of a share, and the share of each positive dimensionless feature.
    """

    primitive_set: gp.PrimitiveSetTyped
    target: type
    number: type
    exponent: type
    logarithm: type
    only_positive: bool
    positive: frozenset[str]
    silent: Mapping[str, float]
    share: type
    shares: Mapping[str, Share]

    def leaves(self, ret: type) -> list[Leaf]:
        """Return the leaves of one type."""
        found: list[Leaf] = self.primitive_set.terminals[ret]
        return found

    def operations(self, ret: type) -> list[Operation]:
        """Return the operations that yield one type."""
        found: list[Operation] = self.primitive_set.primitives[ret]
        return found

    def operation(self, name: str, ret: type, *arguments: type) -> Operation | None:
        """Return the operation of this signature, or None where the grammar has none."""
        return self._signatures.get((name, ret, *arguments))

    def free_constant(self, ret: type) -> Leaf | None:
        """Return the leaf of a fitted constant of one type, or None where the grammar has none."""
        return next((leaf for leaf in self.leaves(ret) if leaf.feature is None), None)

    @cached_property
    def _signatures(self) -> dict[tuple[str | type, ...], Operation]:
        nodes = [node for found in self.primitive_set.primitives.values() for node in reversed(found)]
        return {(node.name, node.ret, *node.args): node for node in nodes}

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in the order of their kinds."""
        kinds = (self.primitive_set.primitives, self.primitive_set.terminals)
        found = {node.kind: node for kind in kinds for nodes in kind.values() for node in nodes}
        return tuple(found[number] for number in range(len(found)))

    @cached_property
    def least_depth(self) -> dict[type, float]:
        """The depth of the smallest tree of each type, infinite where there is none."""
        terminals, primitives = self.primitive_set.terminals, self.primitive_set.primitives
        types = dict.fromkeys([*terminals, *primitives])
        depths = {cls: 1.0 if terminals[cls] else np.inf for cls in types}
        for _ in range(len(types) + 1):
            for cls in types:
                for node in primitives[cls]:
                    depths[cls] = min(depths[cls], 1.0 + max(depths[argument] for argument in node.args))
        return depths

    @cached_property
    def type_numbers(self) -> dict[type, int]:
        """The index of each type in the tables."""
        return {ret: place for place, ret in enumerate(self.least_depth)}

    @cached_property
    def tables(self) -> GrammarTables:
        """The grammar as numbers, for compiled code."""
        return tables_of(self)

    @cached_property
    def rules(self) -> NDArray[np.float64]:
        """How the constant of each node is fitted, (n_nodes, 5), fields as in `Rule`."""
        return np.array([getattr(node, "rule", Rule()) for node in self.nodes], np.float64)

    def tree(self, kinds: Iterable[int], values: Iterable[float]) -> list[Node]:
        """Return the nodes of some kinds with these constants."""
        found = ((self.nodes[kind], value) for kind, value in zip(kinds, values, strict=True))
        return [
            node.holding(value) if isinstance(node, Leaf) and node.constant is not None else node
            for node, value in found
        ]

    def grow(self, ret: type, depth: int, random: Random) -> list[Node]:
        """Return a random tree of one type, at most `depth` deep if the type allows it."""
        scratch = make_trees()
        grow_tree(self.type_numbers[ret], depth, random.getrandbits(63), self.tables, scratch)
        grown, size = scratch[2], int(scratch[2].length[0])
        return self.tree(grown.kinds[:size].tolist(), grown.values[:size].tolist())


def make_grammar(
    features: tuple[FeatureSpec, ...],
    target: FeatureSpec,
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    settings: SearchSettings,
) -> Grammar:
    """Return the grammar for `columns` (n_features, n_rows) and `y` (n_rows,), in their units.

    Raises InputError where no expression can have the target's unit.
    """
    allowed, silent = _allowed_features(features, columns, settings)
    by_unit = settings.typed
    units = [type_unit(spec.unit) if by_unit else DIMENSIONLESS for spec in features]
    goal = type_unit(target.unit) if by_unit else DIMENSIONLESS
    types = _make_types({units[i] for i in allowed} | {goal, DIMENSIONLESS}, goal, by_unit)
    number, exponent, share = types[DIMENSIONLESS], type("exponent", (), {}), type("share", (), {})
    logarithm = type("logarithm", (), {}) if by_unit else number
    names = settings.offered
    offered = [Offered(i, features[i].name, units[i], columns[i]) for i in allowed]
    leaves = feature_leaves(offered, goal=goal, types=types, logarithm=logarithm, y=y, settings=settings)
    leaves += constant_leaves(types, goal, exponent, y, settings)
    positive = frozenset(feature.name for feature in offered if np.all(columns[feature.place] > 0.0))
    has_shares = by_unit and {"add", "div", "mul"} <= set(names)
    shares = {
        name: make_share(name, place, columns[place], share, number)
        for place, name, unit, _ in offered
        if has_shares and unit.is_dimensionless and name in positive
    }
    operations = _operations(names, types, exponent, logarithm) + _share_operations(shares, share, types)
    leaves += [leaf for made in shares.values() for leaf in made.leaves]
    primitive_set = _primitive_set(types[goal], operations, leaves, settings)
    only_positive = by_unit and settings.nonnegative and {*names} <= {*TYPED_OPERATORS}
    grammar = Grammar(
        primitive_set,
        types[goal],
        number,
        exponent,
        logarithm,
        only_positive,
        positive,
        silent,
        share,
        shares,
    )
    _check_reachable(grammar, target)
    return grammar


def _check_reachable(grammar: Grammar, target: FeatureSpec) -> None:
    """Raise InputError where no tree of any depth has the target's unit."""
    if not np.isfinite(grammar.least_depth[grammar.target]):
        raise InputError(
            f"expected features from which {target.unit} can be made, got none: add some or set typed=False"
        )


def _share_operations(
    shares: Mapping[str, Share], share: type, types: Mapping[Unit, type]
) -> list[Operation]:
    """Return the operations that make shares, and those that multiply an amount by one."""
    products = [Operation("mul", [cls, share], cls) for unit, cls in types.items() if _is_amount(unit)]
    return [node for made in shares.values() for node in made.operations] + (products if shares else [])


def _is_amount(unit: Unit) -> bool:
    """Return whether a unit is one of times, work or bytes: neither dimensionless nor a rate."""
    return not unit.is_dimensionless and unit.exponents[0] >= 0


def _primitive_set(
    goal: type, operations: Iterable[Operation], leaves: Iterable[Leaf], settings: SearchSettings
) -> gp.PrimitiveSetTyped:
    """Return DEAP's primitive set, with constants within the ranges of the settings."""
    ranges = {name: (low, high) for name, low, high in settings.constant_ranges}
    primitive_set = gp.PrimitiveSetTyped("formula", [], goal)
    # The methods of DEAP take functions and values; nodes are added as they are.
    for operation in operations:
        primitive_set._add(operation)
        operation.kind = primitive_set.prims_count
        primitive_set.prims_count += 1
    for leaf in leaves:
        primitive_set._add(within(leaf, ranges))
        leaf.kind = primitive_set.prims_count + primitive_set.terms_count
        primitive_set.terms_count += 1
    return primitive_set


def _allowed_features(
    features: tuple[FeatureSpec, ...], columns: NDArray[np.float64], settings: SearchSettings
) -> tuple[list[int], dict[str, float]]:
    """Return the indices of the features that may occur, and the silent ones with their value.

    A dimensionless feature that never changes cannot be distinguished from a constant, so it is excluded.
    """
    silent = {
        spec.name: float(column[0])
        for spec, column in zip(features, columns, strict=True)
        if settings.typed and spec.unit.is_dimensionless and np.ptp(column) == 0.0
    }
    return [i for i, spec in enumerate(features) if spec.name not in silent], silent


def _make_types(units: set[Unit], goal: Unit, typed: bool) -> dict[Unit, type]:
    """Return a class per unit: of the features, and of products and quotients of two towards the goal."""
    known = set(units)
    if typed:
        pairs = [(a, b) for a in units for b in units]
        bridges = {c for a, b in pairs for c in (a * b, a / b)} - known
        useful = [c for c in bridges if any(goal in (c * u, c / u, u / c) for u in units)]
        known |= set(sorted(useful, key=lambda unit: (sum(map(abs, unit.exponents)), str(unit)))[:MOST_UNITS])
    return {unit: type(str(unit), (), {}) for unit in sorted(known, key=str)}


def _operations(
    names: Iterable[str], types: dict[Unit, type], exponent: type, logarithm: type
) -> list[Operation]:
    """Return every signature of every operator over the types."""
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
    """Return the signatures of an operator whose unit is a product of powers."""
    if len(exponents) == 1:
        results = [(cls, types.get(unit ** exponents[0])) for unit, cls in types.items()]
        return [Operation(name, [cls], ret) for cls, ret in results if ret is not None]
    found = []
    for first, first_class in types.items():
        for second, second_class in types.items():
            ret = types.get(first ** exponents[0] * second ** exponents[1])
            # Multiplication commutes: one order of number * time suffices.
            mirrored = exponents[0] == exponents[1] and str(first) < str(second)
            if ret is not None and not mirrored:
                found.append(Operation(name, [first_class, second_class], ret))
    return found


def tables_of(grammar: Grammar) -> GrammarTables:
    """Return the tables of a grammar: kinds of nodes and types are indices, -1 stands for none."""
    nodes = grammar.nodes
    types = grammar.type_numbers
    number = grammar.number
    numbers = [leaf for leaf in grammar.leaves(number) if leaf.feature]
    shares = list(grammar.shares.values())
    division = grammar.operation("div", number, number, number)
    anywhere = [
        (division, share.near, share.shifted, share.near_amount, _bare(share.whole.feature, grammar))
        for share in shares
    ]
    after = [(share.division, share.addition, share.shifted, share.amount, share.whole) for share in shares]
    arrays: dict[str, Any] = _of_nodes(nodes, grammar, types) | _of_types(grammar, types)
    return GrammarTables(
        **arrays,
        numbers=_kinds(numbers),
        exponents=_kinds(grammar.leaves(grammar.exponent)),
        anywhere=_kinds(node for share in anywhere for node in share),
        after=_kinds(node for share in after for node in share),
        target=types[grammar.target],
        number=types[number],
        power=_kind(grammar.operation("pow", number, number, grammar.exponent)),
        exponential=_kind(grammar.operation("exp", number, grammar.logarithm)),
        number_count=len(numbers),
        exponent_count=len(grammar.leaves(grammar.exponent)),
        share_count=len(shares),
    )


def _of_nodes(nodes: Sequence[Node], grammar: Grammar, types: dict[type, int]) -> dict[str, NDArray[Any]]:
    """Return the tables with a row per kind of node."""
    arguments = [[types[cls] for cls in node.args] if node.arity else [] for node in nodes]
    shares = {feature: place for place, feature in enumerate(grammar.shares)}
    inside = {
        leaf.feature: leaf
        for leaf in reversed(grammar.leaves(grammar.logarithm))
        if leaf.constant is not None
    }
    return {
        "token": np.array([node.token for node in nodes]),
        "arity": np.array([node.arity for node in nodes]),
        "ret": np.array([types[node.ret] for node in nodes]),
        "first": np.array([taken[0] if taken else -1 for taken in arguments]),
        "second": np.array([taken[1] if len(taken) > 1 else -1 for taken in arguments]),
        "holds": np.array([int(node.constant is not None) for node in nodes]),
        "start": np.array([node.start if isinstance(node, Leaf) else np.nan for node in nodes], np.float64),
        "lower": grammar.rules[:, 0].copy(),
        "upper": grammar.rules[:, 1].copy(),
        "bare": _kinds(_bare(node.feature, grammar) for node in nodes),
        "inside": _kinds(inside.get(node.feature) for node in nodes),
        "of_feature": np.array([int(node.feature is not None) for node in nodes]),
        "share": np.array([shares.get(node.feature or "", -1) for node in nodes]),
        "positive": np.array([int(node.feature in grammar.positive) for node in nodes]),
    }


def _of_types(grammar: Grammar, types: dict[type, int]) -> dict[str, NDArray[Any]]:
    """Return the tables with a row per type, and the lists of its operations and leaves."""
    found = {
        "sum": [grammar.operation("add", ret, ret, ret) for ret in types],
        "product": [grammar.operation("mul", ret, ret, grammar.number) for ret in types],
        "with_share": [
            grammar.operation("mul", ret, ret, grammar.share) if grammar.shares else None for ret in types
        ],
    }
    lists: dict[str, list[Sequence[Node]]] = {
        "operations": [grammar.operations(ret) for ret in types],
        "leaves": [grammar.leaves(ret) for ret in types],
    }
    return (
        {name: _kinds(node for listed in kinds for node in listed) for name, kinds in lists.items()}
        | {f"{name}_start": np.cumsum([0, *map(len, kinds)]) for name, kinds in lists.items()}
        | {name: _kinds(nodes) for name, nodes in found.items()}
        | {
            # A type without any tree is no part of one.
            "depth": np.array([min(depth, 99) for depth in grammar.least_depth.values()], np.int64),
        }
    )


def _bare(feature: str | None, grammar: Grammar) -> Leaf | None:
    """Return the pure number of a feature without a weight, or None where there is none."""
    found = (leaf for leaf in grammar.leaves(grammar.number) if leaf.feature == feature and feature)
    return next((leaf for leaf in found if leaf.constant is None), None)


def _kind(node: Node | None) -> int:
    return -1 if node is None else node.kind


def _kinds(nodes: Iterable[Node | None]) -> NDArray[np.int64]:
    return np.array([_kind(node) for node in nodes], np.int64)
