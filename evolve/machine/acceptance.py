"""Whether trees have the structure that a search requires: a template, limits of nesting."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from trainlaw.evolve.machine.batch import entry
from trainlaw.evolve.machine.evaluation import compiled
from trainlaw.evolve.machine.kernel_calls import Packed
from trainlaw.evolve.machine.moves import GrammarTables, Tree, load

# The token of a hole of a template.
HOLE_TOKEN = -1
_LISTS = (
    "template",
    "template_types",
    "outer",
    "inner",
    "most",
)


class Demands(Packed):
    """The structure that every tree needs; of each list, the empty one demands nothing.

    template, template_types : int64 (n_template,), tokens of the template, `HOLE_TOKEN` for a hole, and
    types. outer, inner, most : int64 (n_limits,), tokens of operators, and how
    often the inner one may be inside the outer one. is_none : whether every tree is accepted.
    """


def make_demands(**lists: Sequence[int]) -> Demands:
    """Return the demands of some lists, by their names in `Demands`; a list that is left out is empty.

    >>> make_demands(template=[-1], template_types=[0]).is_none, make_demands().is_none
    (0, 1)
    """
    arrays: dict[str, Any] = {name: np.array(lists.get(name, ()), np.int64) for name in _LISTS}
    template, outer = (arrays[name].size for name in ("template", "outer"))
    return Demands(
        **arrays,
        template_count=template,
        limit_count=outer,
        is_none=int(not template + outer),
    )


@compiled
def follows_template(tree: Tree, tables: GrammarTables, demands: Demands) -> bool:
    """Return whether the tree is the template with its holes filled."""
    place = 0
    for k in range(demands.template_count):
        if place >= tree.length[0] or tables.ret[tree.kinds[place]] != demands.template_types[k]:
            return False
        if demands.template[k] == HOLE_TOKEN:
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
    for limit in range(demands.limit_count):
        if nests_too_deep(tree, limit, tables, demands):
            return False
    return not demands.template_count or follows_template(tree, tables, demands)


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
