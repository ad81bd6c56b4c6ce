"""Children of many parents, compiled: a generation of a search."""

import numpy as np
from trainlaw.evolve.machine.batch import entry
from trainlaw.evolve.machine.moves import (
    AS_SEARCH,
    CROSS,
    CROSSOVER,
    MUTATE,
    SECOND_MUTATION,
    GrammarTables,
    cross,
    draw_move,
    grow,
    load,
    move,
    uniform,
)


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
