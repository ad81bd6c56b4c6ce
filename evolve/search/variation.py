"""Genetic operators, all within the grammar: those of DEAP's interface, and of many children at once.

Each draws from the generator that it is given. The mutations of DEAP draw from the interpreter's, which any
other code may move, so those that are used are written in `machine.moves`.
"""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, draw
from trainlaw.evolve.machine.arrays import NODE_LIMIT, VARIABLE
from trainlaw.evolve.machine.moves import AS_SEARCH, CROSS, MOVES, MUTATE, make_trees, vary_trees
from trainlaw.evolve.search.individuals import Forest, Individual, forest_of


def mate(first: Individual, second: Individual, grammar: Grammar, random: Random) -> tuple[Individual]:
    """Return a child of two parents by crossover."""
    return (_varied([first, second], CROSS, grammar, random),)


def mutate(tree: Individual, grammar: Grammar, random: Random) -> tuple[Individual]:
    """Return the tree after one of `MOVES`, or two."""
    return (_varied([tree], MUTATE, grammar, random),)


def move(name: str, tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Return the tree after the mutation of this name, one of `MOVES`."""
    return _varied([tree], MOVES.index(name), grammar, random)


def _varied(parents: Sequence[Individual], operation: int, grammar: Grammar, random: Random) -> Individual:
    pairs, seeds = np.array([[0, len(parents) - 1]]), np.array([random.getrandbits(63)], np.uint64)
    return vary(forest_of(parents, grammar), pairs, seeds, operation=operation).trees()[0]


def vary(
    parents: Forest,
    pairs: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    *,
    operation: int = AS_SEARCH,
    most_nodes: int = NODE_LIMIT,
) -> Forest:
    """Return a child of each pair of parents.

    pairs : (n, 2), places of first and second. seeds : (n,). operation : CROSS, MUTATE, AS_SEARCH or the
    number of one of `MOVES`. most_nodes : of a child; a larger one becomes its first parent.
    """
    count = len(pairs)
    room = count * max(most_nodes, int(parents.sizes.max(initial=0)))
    kinds, values, sizes = np.empty(room, np.int64), np.empty(room), np.empty(count, np.int64)
    total = vary_trees(
        parents.kinds,
        parents.values,
        parents.offsets,
        pairs,
        seeds,
        operation,
        most_nodes,
        parents.grammar.tables,
        make_trees(),
        kinds,
        values,
        sizes,
    )
    return parents._replace(kinds=kinds[:total].copy(), values=values[:total].copy(), sizes=sizes)


def random_tree(grammar: Grammar, max_nodes: int, random: Random) -> Individual:
    """Return a tree of the first generation: a sum of different leaves, or a random tree."""
    leaves = grammar.leaves(grammar.target)
    add = grammar.operation("add", grammar.target, grammar.target, grammar.target)
    if add and len(leaves) > 2 and random.random() < 0.7:
        most = max(1, min(len(leaves), 10, (max_nodes + 1) // 2))
        chosen = random.sample(leaves, random.randint(1, most))
        return Individual([add] * (len(chosen) - 1) + [draw(leaf, random) for leaf in chosen])
    tree = Individual(grammar.grow(grammar.target, random.randint(1, 5), random))
    return tree if len(tree) <= max_nodes else Individual(grammar.grow(grammar.target, 1, random))


def simpler_trees(tree: Individual, grammar: Grammar) -> Iterator[Individual]:
    """Yield all trees with an operation replaced by an argument, a subtree by a number, or a weight by one.

    They are the candidates of backward elimination.
    """
    for begin, node in enumerate(tree):
        if isinstance(node, Leaf):
            bare = _without_weight(node, grammar)
            if bare is not None:
                yield Individual([*tree[:begin], bare, *tree[begin + 1 :]])
            continue
        where = tree.searchSubtree(begin)
        following = begin + 1
        for argument in node.args:
            part = tree.searchSubtree(following)
            following = part.stop
            if argument is node.ret:
                yield Individual([*tree[:begin], *tree[part], *tree[where.stop :]])
        number = grammar.free_constant(node.ret)
        if number is not None:
            yield Individual([*tree[:begin], number.holding(number.start), *tree[where.stop :]])


def _without_weight(leaf: Leaf, grammar: Grammar) -> Leaf | None:
    """Return the leaf of the same feature and type without a weight, or None where there is none."""
    if leaf.feature is None or leaf.constant is None:
        return None
    same = (other for other in grammar.leaves(leaf.ret) if other.feature == leaf.feature)
    return next((other for other in same if other.token & 255 == VARIABLE), None)
