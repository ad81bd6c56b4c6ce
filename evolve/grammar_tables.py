"""A grammar as numbers, for compiled variation."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.leaves import Leaf, Node, Operation
from trainlaw.evolve.machine.moves import GrammarTables

# The grammar itself, whose file knows this one.
Grammar = Any


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
        "start": _numbers(node.start if isinstance(node, Leaf) else np.nan for node in nodes),
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
    operations: list[list[Operation]] = [grammar.operations(ret) for ret in types]
    leaves = [grammar.leaves(ret) for ret in types]
    found = {
        "sum": [grammar.operation("add", ret, ret, ret) for ret in types],
        "product": [grammar.operation("mul", ret, ret, grammar.number) for ret in types],
        "with_share": [
            grammar.operation("mul", ret, ret, grammar.share) if grammar.shares else None for ret in types
        ],
    }
    lists = {"operations": operations, "leaves": leaves}
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


def _numbers(values: Iterable[float]) -> NDArray[np.float64]:
    return np.array([*values], np.float64)
