"""Crossover and mutations of trees as arrays, all within a grammar, compiled for many children at once.

A tree is the kinds of its nodes in prefix order, and a number for each: its constant, nan where it has none.
"""

import math
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import NODE_LIMIT
from trainlaw.evolve.machine.evaluation import compiled, entry
from trainlaw.evolve.machine.kernel_calls import Packed
from trainlaw.evolve.machine.kernels import OPERATOR_CODES

# Nodes of the largest tree between two steps: two trees of the machine, and room for the nodes of a step.
MOST_NODES = 4 * NODE_LIMIT
# Probability that a child comes from two parents rather than from a mutation of one.
CROSSOVER = 0.4
# Tries to make a child that the required structure accepts.
MOST_ATTEMPTS = 8
# Probability of a second mutation of the same child.
SECOND_MUTATION = 0.25
# Probability that a term is multiplied by a share rather than by another factor, where there are shares.
SHARE_OF_SHARES = 0.2
# Share of subtrees that end early: most of the trees stay small, as formulas are.
SHARE_OF_LEAVES = 0.3
# Mutations with their relative frequencies, summed up.
MOVES = (
    "replace_subtree",
    "replace_node",
    "shrink",
    "hoist",
    "add_term",
    "drop_term",
    "swap_leaf",
    "shake_constant",
    "wrap",
    "widen_factor",
)
MOVE_WEIGHTS = tuple(accumulate((15, 5, 5, 2, 20, 12, 15, 3, 15, 5)))
# Operations of `vary_trees` besides the moves by their number: cross with another tree, mutate, or one of the
# two as in a search.
CROSS, MUTATE, AS_SEARCH = range(len(MOVES), len(MOVES) + 3)
_ADD, _MUL, _DIV = (OPERATOR_CODES[name] for name in ("add", "mul", "div"))


class GrammarTables(Packed):
    """A grammar as numbers, made by `tables_of`: nodes and types are indices, -1 stands for none.

    Per node (n_nodes,): token, of the machine; arity; ret, first, second, types of result and arguments;
    holds, whether it has a constant; start, its usual value; lower, upper, its bounds; bare, the pure number
    of the same feature without a weight; inside, the leaf of the feature within an exponential; of_feature,
    whether it has one; share, of the feature; positive, whether the feature is.
    Per type: operations, leaves, as lists one after another that begin at `..._start` (n_types + 1,); depth,
    of the smallest tree; sum, product and with_share, the operations that add two, multiply by a factor and
    by a share. numbers, exponents : leaves of features and of exponents from
    which factors are made. anywhere, after : nodes of each share (5 n_shares,), as a number and after an
    amount.
    """


#: A tree that changes, a record of `make_trees`.
Tree = np.record
# kinds, values : (MOST_NODES,), of its nodes. length : (1,). state : (1,), of the random numbers. places,
# rooms : (MOST_NODES,), scratch.
_TREE_TYPE = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("kinds", np.int64, (MOST_NODES,)),
                ("values", np.float64, (MOST_NODES,)),
                ("length", np.int64, (1,)),
                ("state", np.uint64, (1,)),
                ("places", np.int64, (MOST_NODES,)),
                ("rooms", np.int64, (MOST_NODES,)),
            ],
            align=True,
        ),
    )
)


def make_trees() -> NDArray[Any]:
    """Return three empty trees, records (3,): the one that changes, its partner, and a part of either."""
    return np.empty(3, _TREE_TYPE)


@compiled
def mix(key: np.uint64) -> np.uint64:
    """Scramble 64 bits. Source: splitmix64, Steele, Lea and Flood, 2014."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@compiled
def uniform(tree: Tree) -> float:
    """Return the tree's next random number, from 0 to below 1."""
    tree.state[0] += np.uint64(0x9E3779B97F4A7C15)
    return float(mix(tree.state[0]) >> np.uint64(11)) * 2.0**-53


@compiled
def below(tree: Tree, count: int) -> int:
    """Return a random whole number from 0 to `count` - 1."""
    return int(uniform(tree) * count)


@compiled
def normal(tree: Tree) -> float:
    """Return a number of the standard normal distribution. Source: Box and Muller, 1958."""
    return math.sqrt(-2.0 * math.log(1.0 - uniform(tree))) * math.cos(2.0 * math.pi * uniform(tree))


@compiled
def end_of(tree: Tree, begin: int, tables: GrammarTables) -> int:
    """Return the place after the subtree that begins at `begin`."""
    wanted, end = 1, begin
    while wanted:
        wanted += tables.arity[tree.kinds[end]] - 1
        end += 1
    return end


@compiled
def put(tree: Tree, begin: int, end: int, source: Tree, first: int, last: int) -> None:
    """Replace the nodes from `begin` to `end` by those of another tree, where there is room."""
    size, moved = tree.length[0], last - first - (end - begin)
    if size + moved > MOST_NODES:
        return
    if moved < 0:
        for i in range(end, size):
            tree.kinds[i + moved], tree.values[i + moved] = tree.kinds[i], tree.values[i]
    elif moved > 0:
        for i in range(size - 1, end - 1, -1):
            tree.kinds[i + moved], tree.values[i + moved] = tree.kinds[i], tree.values[i]
    for i in range(last - first):
        tree.kinds[begin + i], tree.values[begin + i] = source.kinds[first + i], source.values[first + i]
    tree.length[0] = size + moved


@compiled
def keep(tree: Tree, begin: int, end: int, first: int, last: int) -> None:
    """Replace the nodes from `begin` to `end` by some of them."""
    for i in range(last - first):
        tree.kinds[begin + i], tree.values[begin + i] = tree.kinds[first + i], tree.values[first + i]
    put(tree, begin + last - first, end, tree, 0, 0)


@compiled
def append(part: Tree, kind: int, value: float) -> None:
    """Add a node at the end, where there is room."""
    size = part.length[0]
    if size < MOST_NODES:
        part.kinds[size], part.values[size] = kind, value
        part.length[0] = size + 1


@compiled
def draw_value(kind: int, tables: GrammarTables, tree: Tree) -> float:
    """Return a starting value of a leaf's constant: around its usual one, nan where it has none."""
    if not tables.holds[kind]:
        return math.nan
    spread, start = 0.5 * normal(tree), tables.start[kind]
    value = start * math.exp(spread) if tables.lower[kind] >= 0.0 else start + 2.0 * spread
    drawn: float = min(max(value, tables.lower[kind]), tables.upper[kind])
    return drawn


@compiled
def draw_leaf(ret: int, tables: GrammarTables, tree: Tree) -> int:
    """Return a random leaf of one type."""
    begin, end = tables.leaves_start[ret], tables.leaves_start[ret + 1]
    return int(tables.leaves[begin + below(tree, end - begin)])


@compiled
def draw_operation(ret: int, room: int, tables: GrammarTables, tree: Tree) -> int:
    """Return a random operation of one type whose arguments fit into a depth below `room`, -1 for none."""
    found = 0
    for place in range(tables.operations_start[ret], tables.operations_start[ret + 1]):
        kind = tables.operations[place]
        second = tables.second[kind]
        if tables.depth[tables.first[kind]] < room and (second < 0 or tables.depth[second] < room):
            tree.places[found] = kind
            found += 1
    return int(tree.places[below(tree, found)]) if found else -1


@compiled
def grow(ret: int, depth: int, part: Tree, tables: GrammarTables, tree: Tree) -> None:
    """Add a random tree of one type to `part`, at most `depth` deep if the type allows it.

    tree : whose random numbers are taken.
    """
    part.places[0], part.rooms[0] = ret, depth
    waiting = 1
    while waiting:
        waiting -= 1
        ret = part.places[waiting]
        room = max(part.rooms[waiting], tables.depth[ret])
        has_leaves = tables.leaves_start[ret + 1] > tables.leaves_start[ret]
        operation = draw_operation(ret, room, tables, tree)
        if has_leaves and (room <= 1 or operation < 0 or uniform(tree) < SHARE_OF_LEAVES):
            leaf = draw_leaf(ret, tables, tree)
            append(part, leaf, draw_value(leaf, tables, tree))
            continue
        append(part, operation, math.nan)
        if tables.second[operation] >= 0:
            part.places[waiting], part.rooms[waiting] = tables.second[operation], room - 1
            waiting += 1
        part.places[waiting], part.rooms[waiting] = tables.first[operation], room - 1
        waiting += 1


@compiled
def one_of(tree: Tree, found: int) -> int:
    """Return one of the first `found` of the tree's places, -1 where there is none."""
    return int(tree.places[below(tree, found)]) if found else -1


@compiled
def draw_place(tree: Tree, other: Tree, begin: int, row: np.ndarray, wanted: int) -> int:
    """Return a random place of another tree, from `begin` on, whose kind has a value in a row of the tables.

    -1 where there is none. other : may be the tree itself, whose random numbers are taken.
    """
    found = 0
    for i in range(begin, other.length[0]):
        if row[other.kinds[i]] == wanted:
            tree.places[found] = i
            found += 1
    return one_of(tree, found)


@compiled
def draw_argument(tree: Tree, row: np.ndarray, tables: GrammarTables) -> int:
    """Return a random place whose type has an operation in a row of the tables, -1 where there is none."""
    found = 0
    for i in range(tree.length[0]):
        if row[tables.ret[tree.kinds[i]]] >= 0:
            tree.places[found] = i
            found += 1
    return one_of(tree, found)


@compiled
def cross(tree: Tree, other: Tree, tables: GrammarTables) -> None:
    """Replace a proper subtree by one of the same type from `other`. Source: Koza, 1992."""
    begin = 1 + below(tree, tree.length[0] - 1)
    ret = tables.ret[tree.kinds[begin]]
    taken = draw_place(tree, other, 1, tables.ret, ret)
    if taken >= 0:
        put(tree, begin, end_of(tree, begin, tables), other, taken, end_of(other, taken, tables))


@compiled
def replace_subtree(tree: Tree, part: Tree, tables: GrammarTables) -> None:
    """Replace a subtree by a small random one (DEAP's uniform mutation)."""
    begin = below(tree, tree.length[0])
    ret = tables.ret[tree.kinds[begin]]
    part.length[0] = 0
    grow(ret, 1 + below(tree, 3), part, tables, tree)
    put(tree, begin, end_of(tree, begin, tables), part, 0, part.length[0])


@compiled
def put_leaf(tree: Tree, place: int, tables: GrammarTables) -> None:
    """Replace a leaf by another of the same type."""
    leaf = draw_leaf(tables.ret[tree.kinds[place]], tables, tree)
    tree.kinds[place], tree.values[place] = leaf, draw_value(leaf, tables, tree)


@compiled
def replace_node(tree: Tree, tables: GrammarTables) -> None:
    """Replace a node by another of the same signature (DEAP's node replacement)."""
    if tree.length[0] < 2:
        return
    i = 1 + below(tree, tree.length[0] - 1)
    kind = tree.kinds[i]
    if tables.arity[kind] == 0:
        put_leaf(tree, i, tables)
        return
    found, ret = 0, tables.ret[kind]
    for place in range(tables.operations_start[ret], tables.operations_start[ret + 1]):
        other = tables.operations[place]
        if tables.first[other] == tables.first[kind] and tables.second[other] == tables.second[kind]:
            tree.places[found] = other
            found += 1
    tree.kinds[i] = one_of(tree, found)


@compiled
def keep_argument(tree: Tree, least: int, tables: GrammarTables) -> None:
    """Replace an operation of at least `least` arguments by one of these that has the same type."""
    found = 0
    for i in range(tree.length[0]):
        kind = tree.kinds[i]
        ret = tables.ret[kind]
        same = ret == tables.first[kind] or ret == tables.second[kind]
        # With a single argument enough, the whole tree stays.
        if tables.arity[kind] >= least and same and (i or least == 2):
            tree.places[found] = i
            found += 1
    i = one_of(tree, found)
    if i < 0:
        return
    kind, end = tree.kinds[i], end_of(tree, i, tables)
    left = end_of(tree, i + 1, tables)
    is_left, is_right = tables.first[kind] == tables.ret[kind], tables.second[kind] == tables.ret[kind]
    if is_left and (not is_right or uniform(tree) < 0.5):
        keep(tree, i, end, i + 1, left)
    else:
        keep(tree, i, end, left, end)


@compiled
def hoist(tree: Tree, tables: GrammarTables) -> None:
    """Replace the whole tree by a subtree of the target's type."""
    i = draw_place(tree, tree, 1, tables.ret, tables.target)
    if i >= 0:
        keep(tree, 0, tree.length[0], i, end_of(tree, i, tables))


@compiled
def surround(tree: Tree, i: int, operation: int, part: Tree, tables: GrammarTables) -> None:
    """Make the subtree at `i` the first argument of an operation, and `part` the second."""
    if tree.length[0] + part.length[0] >= MOST_NODES:
        return
    end = end_of(tree, i, tables)
    put(tree, end, end, part, 0, part.length[0])
    part.kinds[0], part.values[0] = operation, math.nan
    put(tree, i, i, part, 0, 1)


@compiled
def add_term(tree: Tree, part: Tree, tables: GrammarTables) -> None:
    """Add a term to a random node of a type that can be added."""
    i = draw_argument(tree, tables.sum, tables)
    if i < 0:
        return
    ret = tables.ret[tree.kinds[i]]
    part.length[0] = 0
    grow(ret, 1 if uniform(tree) < 0.7 else 3, part, tables, tree)
    surround(tree, i, tables.sum[ret], part, tables)


@compiled
def swap_leaf(tree: Tree, tables: GrammarTables) -> None:
    """Replace a leaf by another of the same type."""
    put_leaf(tree, draw_place(tree, tree, 0, tables.arity, 0), tables)


@compiled
def shake_constant(tree: Tree, tables: GrammarTables) -> None:
    """Move one fitted constant to another starting value."""
    i = draw_place(tree, tree, 0, tables.holds, 1)
    if i < 0:
        return
    kind = tree.kinds[i]
    moved = tree.values[i] * math.exp(normal(tree))
    if tables.lower[kind] < 0.0:
        moved += normal(tree)
    tree.values[i] = min(max(moved, tables.lower[kind]), tables.upper[kind])


@compiled
def append_share(part: Tree, nodes: np.ndarray, share: int, tables: GrammarTables, tree: Tree) -> None:
    """Add (x + c) / x of a positive dimensionless feature x; nodes : of all shares, as in `GrammarTables`."""
    amount, whole = nodes[5 * share + 3], nodes[5 * share + 4]
    value = tables.start[whole] * math.exp(normal(tree) - 1.5)
    if uniform(tree) >= 0.6:
        value = tables.lower[amount] * uniform(tree)
    for i in range(5):
        append(part, nodes[5 * share + i], value if i == 3 else math.nan)


@compiled
def append_factor(part: Tree, tables: GrammarTables, tree: Tree) -> None:
    """Add a dimensionless factor: a power of a positive feature, an exponential, or any number."""
    if tables.number_count:
        leaf = tables.numbers[below(tree, tables.number_count)]
        if tables.share[leaf] >= 0 and uniform(tree) < 0.25:
            append_share(part, tables.anywhere, tables.share[leaf], tables, tree)
            return
        if tables.power >= 0 and tables.positive[leaf] and uniform(tree) < 0.6:
            append(part, tables.power, math.nan)
            append(part, tables.bare[leaf], math.nan)
            exponent = tables.exponents[below(tree, tables.exponent_count)]
            append(part, exponent, 0.3 * normal(tree))
            return
        if tables.exponential >= 0 and tables.inside[leaf] >= 0 and uniform(tree) < 0.6:
            append(part, tables.exponential, math.nan)
            append(part, tables.inside[leaf], 0.1 * normal(tree))
            return
    grow(tables.number, 3, part, tables, tree)


@compiled
def wrap(tree: Tree, part: Tree, tables: GrammarTables) -> None:
    """Multiply a random node by a dimensionless factor that starts near one, or by a share."""
    i = draw_argument(tree, tables.product, tables)
    if i < 0:
        return
    ret = tables.ret[tree.kinds[i]]
    operation = tables.product[ret]
    part.length[0] = 0
    if tables.with_share[ret] >= 0 and uniform(tree) < SHARE_OF_SHARES:
        operation = tables.with_share[ret]
        append_share(part, tables.after, below(tree, tables.share_count), tables, tree)
    else:
        append_factor(part, tables, tree)
    surround(tree, i, operation, part, tables)


@compiled
def append_nodes(part: Tree, tree: Tree, first: int, last: int) -> None:
    """Add some nodes of a tree to a part."""
    for i in range(first, last):
        append(part, tree.kinds[i], tree.values[i])


@compiled
def widen_factor(tree: Tree, part: Tree, tables: GrammarTables) -> None:
    """Extend a factor to one more term: a * F + b becomes (a + b) * F."""
    i = draw_place(tree, tree, 0, tables.token, _ADD)
    if i < 0:
        return
    left, end = end_of(tree, i + 1, tables), end_of(tree, i, tables)
    order = below(tree, 2)
    for side in range(2):
        inner, last, other, other_end = i + 1, left, left, end
        if (side + order) % 2:
            inner, last, other, other_end = left, end, i + 1, left
        product = tree.kinds[inner]
        code = tables.token[product]
        if (code == _MUL or code == _DIV) and tables.first[product] == tables.ret[product]:
            body = end_of(tree, inner + 1, tables)
            part.length[0] = 0
            append(part, product, math.nan)
            append(part, tree.kinds[i], math.nan)
            append_nodes(part, tree, inner + 1, body)
            append_nodes(part, tree, other, other_end)
            append_nodes(part, tree, body, last)
            put(tree, i, end, part, 0, part.length[0])
            return


@compiled
def move(number: int, tree: Tree, part: Tree, tables: GrammarTables) -> None:
    """Change a tree by one of `MOVES`."""
    if number == 0:
        replace_subtree(tree, part, tables)
    elif number == 1:
        replace_node(tree, tables)
    elif number == 2 or number == 5:
        keep_argument(tree, 1 + int(number == 5), tables)
    elif number == 3:
        hoist(tree, tables)
    elif number == 4:
        add_term(tree, part, tables)
    elif number == 6:
        swap_leaf(tree, tables)
    elif number == 7:
        shake_constant(tree, tables)
    elif number == 8:
        wrap(tree, part, tables)
    elif number == 9:
        widen_factor(tree, part, tables)


@compiled
def draw_move(tree: Tree) -> int:
    """Return the number of one of `MOVES`."""
    drawn, number = below(tree, MOVE_WEIGHTS[-1]), 0
    while MOVE_WEIGHTS[number] <= drawn:
        number += 1
    return number


@compiled
def load(tree: Tree, kinds: np.ndarray, values: np.ndarray, begin: int, end: int) -> None:
    """Set a tree to some of many nodes."""
    tree.length[0] = end - begin
    for i in range(begin, end):
        tree.kinds[i - begin], tree.values[i - begin] = kinds[i], values[i]


@entry
def vary_trees(
    kinds: np.ndarray,
    values: np.ndarray,
    offsets: np.ndarray,
    pairs: np.ndarray,
    seeds: np.ndarray,
    operation: int,
    limit: int,
    tables: GrammarTables,
    scratch: np.ndarray,
    made_kinds: np.ndarray,
    made_values: np.ndarray,
    sizes: np.ndarray,
) -> int:
    """Fill in the children of some parents, one after another; return how many nodes they have.

    kinds, values : of all parents' nodes, one parent after another from `offsets` on. pairs : (n, 2), first
    and second parent of each child. seeds : uint64 (n,). operation : number of a move, CROSS, MUTATE or
    AS_SEARCH. limit : nodes of a child; a larger one becomes the first parent. scratch : of `make_trees`.
    sizes : (n,), of the children.
    """
    tree, other, part = scratch[0], scratch[1], scratch[2]
    total = 0
    for child in range(sizes.size):
        first, second = pairs[child]
        tree.state[0] = seeds[child]
        load(other, kinds, values, offsets[second], offsets[second + 1])
        load(tree, kinds, values, offsets[first], offsets[first + 1])
        crosses = tree.length[0] > 1 and other.length[0] > 1
        chosen = operation
        if chosen == AS_SEARCH:
            chosen = CROSS if crosses and uniform(tree) < CROSSOVER else MUTATE
        if chosen == CROSS and crosses:
            cross(tree, other, tables)
        elif chosen == MUTATE:
            move(draw_move(tree), tree, part, tables)
            if uniform(tree) < SECOND_MUTATION:
                move(draw_move(tree), tree, part, tables)
        elif chosen < CROSS:
            move(chosen, tree, part, tables)
        if tree.length[0] > limit:
            load(tree, kinds, values, offsets[first], offsets[first + 1])
        for i in range(tree.length[0]):
            made_kinds[total + i], made_values[total + i] = tree.kinds[i], tree.values[i]
        sizes[child] = tree.length[0]
        total += tree.length[0]
    return total


@entry
def grow_tree(ret: int, depth: int, seed: int, tables: GrammarTables, scratch: np.ndarray) -> None:
    """Set the third of the trees to a random one, at most `depth` deep if its type allows it."""
    scratch[0].state[0] = seed
    scratch[2].length[0] = 0
    grow(ret, depth, scratch[2], tables, scratch[0])
