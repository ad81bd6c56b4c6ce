"""Whether trees have the structure that a search requires: a template, brackets, limits of nesting."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from trainlaw.evolve.machine.batch import entry
from trainlaw.evolve.machine.evaluation import compiled
from trainlaw.evolve.machine.kernel_calls import Packed
from trainlaw.evolve.machine.kernels import OPERATOR_CODES
from trainlaw.evolve.machine.moves import GrammarTables, Tree, load

# The token of a hole of a template.
HOLE_TOKEN = -1
_MUL = OPERATOR_CODES["mul"]
_LISTS = (
    "template",
    "template_types",
    "required",
    "bracket",
    "overall",
    "overall_start",
    "outer",
    "inner",
    "most",
)


class Demands(Packed):
    """The structure that every tree needs; of each list, the empty one demands nothing.

    template, template_types : int64 (n_template,), tokens of the template, `HOLE_TOKEN` for a hole, and
    types. required : int64, columns of features. bracket : int64 (n_types,), the bracket of which a type is
    the sums, -1 for none. overall : columns of the factors that multiply all of a bracket, one bracket after
    another from `overall_start` on. outer, inner, most : int64 (n_limits,), tokens of operators, and how
    often the inner one may be inside the outer one. is_none : whether every tree is accepted.
    """


def make_demands(**lists: Sequence[int]) -> Demands:
    """Return the demands of some lists, by their names in `Demands`; a list that is left out is empty.

    >>> make_demands(required=[2, 3]).required_count, make_demands().is_none
    (2, 1)
    """
    arrays: dict[str, Any] = {name: np.array(lists.get(name, ()), np.int64) for name in _LISTS}
    template, required, outer = (arrays[name].size for name in ("template", "required", "outer"))
    return Demands(
        **arrays,
        template_count=template,
        required_count=required,
        limit_count=outer,
        is_none=int(not template + required + outer),
    )


@compiled
def feature_of(tree: Tree, place: int, tables: GrammarTables) -> int:
    """Return the column of the feature of a leaf, -1 for an operation or a constant."""
    kind = tree.kinds[place]
    return -1 if tables.arity[kind] or not tables.of_feature[kind] else tables.token[kind] >> 8


@compiled
def factor_at(tree: Tree, place: int, tables: GrammarTables) -> int:
    """Return the column of the feature of the factor whose nodes begin at `place`."""
    while feature_of(tree, place, tables) < 0:
        place += 1
    return feature_of(tree, place, tables)


@compiled
def is_product(tree: Tree, place: int, tables: GrammarTables, demands: Demands) -> bool:
    """Return whether the node multiplies a part of a bracket by a factor."""
    kind = tree.kinds[place]
    return bool(tables.token[kind] == _MUL and demands.bracket[tables.ret[kind]] >= 0)


@compiled
def repeats(tree: Tree, tables: GrammarTables, demands: Demands) -> bool:
    """Return whether a bracket's term occurs twice, or a factor twice on the way to a term.

    Two equal factors would be one with a larger exponent than its bounds allow.
    """
    for i in range(tree.length[0]):
        feature = feature_of(tree, i, tables)
        if feature >= 0 and demands.bracket[tables.ret[tree.kinds[i]]] >= 0:
            for j in range(i):
                is_term = demands.bracket[tables.ret[tree.kinds[j]]] >= 0
                if is_term and feature_of(tree, j, tables) == feature:
                    return True
        elif is_product(tree, i, tables, demands):
            factor = factor_at(tree, tree.rooms[i + 1], tables)
            for j in range(i):
                is_around = tree.rooms[j] > i and is_product(tree, j, tables, demands)
                if is_around and factor_at(tree, tree.rooms[j + 1], tables) == factor:
                    return True
    return False


@compiled
def scales_whole(tree: Tree, place: int, tables: GrammarTables, demands: Demands) -> bool:
    """Return whether the required factors of a bracket multiply all of its sum, which begins at `place`.

    A factor that may move to any part of the sum is placed by chance: 16.9 instead of 16.4 % held-out error.
    """
    bracket = demands.bracket[tables.ret[tree.kinds[place]]]
    for k in range(demands.overall_start[bracket], demands.overall_start[bracket + 1]):
        product = place
        while is_product(tree, product, tables, demands):
            if factor_at(tree, tree.rooms[product + 1], tables) == demands.overall[k]:
                break
            product += 1
        else:
            return False
    return True


@compiled
def follows_template(tree: Tree, tables: GrammarTables, demands: Demands) -> bool:
    """Return whether the tree is the template with its holes filled."""
    place = 0
    for k in range(demands.template_count):
        if place >= tree.length[0] or tables.ret[tree.kinds[place]] != demands.template_types[k]:
            return False
        if demands.template[k] == HOLE_TOKEN:
            if demands.bracket[demands.template_types[k]] >= 0 and not scales_whole(
                tree, place, tables, demands
            ):
                return False
            place = tree.rooms[place]
        elif tables.token[tree.kinds[place]] == demands.template[k]:
            place += 1
        else:
            return False
    return bool(place == tree.length[0])


@compiled
def nests_too_deep(tree: Tree, limit: int, tables: GrammarTables, demands: Demands) -> bool:
    """Return whether an operator is inside another more often than one of the limits allows."""
    for i in range(tree.length[0]):
        inside = 0
        if tables.token[tree.kinds[i]] == demands.outer[limit]:
            for j in range(i + 1, tree.rooms[i]):
                inside += int(tables.token[tree.kinds[j]] == demands.inner[limit])
        if inside > demands.most[limit]:
            return True
    return False


@compiled
def accepts(tree: Tree, tables: GrammarTables, demands: Demands) -> bool:
    """Return whether a tree has the structure that is demanded; its `rooms` become the ends of subtrees."""
    if demands.is_none:
        return True
    for i in range(tree.length[0] - 1, -1, -1):
        end = i + 1
        for _ in range(tables.arity[tree.kinds[i]]):
            end = tree.rooms[end]
        tree.rooms[i] = end
    for k in range(demands.required_count):
        i = 0
        while i < tree.length[0] and feature_of(tree, i, tables) != demands.required[k]:
            i += 1
        if i == tree.length[0]:
            return False
    for limit in range(demands.limit_count):
        if nests_too_deep(tree, limit, tables, demands):
            return False
    if not demands.template_count:
        return True
    return not repeats(tree, tables, demands) and follows_template(tree, tables, demands)


@entry
def accept_trees(
    kinds: np.ndarray,
    values: np.ndarray,
    offsets: np.ndarray,
    tables: GrammarTables,
    demands: Demands,
    scratch: np.ndarray,
    accepted: np.ndarray,
) -> None:
    """Set whether each of many trees is accepted; arguments as of `vary_trees`."""
    for number in range(accepted.size):
        load(scratch[0], kinds, values, offsets[number], offsets[number + 1])
        accepted[number] = accepts(scratch[0], tables, demands)
