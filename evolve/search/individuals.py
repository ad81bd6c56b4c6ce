"""Individuals of a population, and many trees as arrays, from which compiled code makes and fits others."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from deap import base, gp
from numpy.typing import NDArray
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Node


# DEAP has no types.
class Fitness(base.Fitness):  # type: ignore[misc]
    """The result of a fit; `values` are score and complexity, both to be minimised.

    loss : training loss. cases : loss per group, (n_cases,), or None before the fit. score : the loss that
    selection compares. complexity : of the expression.
    """

    weights = (-1.0, -1.0)

    def __init__(
        self,
        loss: float = math.inf,
        cases: NDArray[Any] | None = None,
        score: float = math.inf,
        complexity: int = 0,
    ) -> None:
        """Store the results; DEAP's constructor would check the weights again."""
        self.loss, self.cases, self.score, self.complexity = loss, cases, score, complexity
        self.wvalues = () if cases is None else (-score, -complexity)


UNFITTED = Fitness()


# DEAP has no types.
class Individual(gp.PrimitiveTree):  # type: ignore[misc]
    """A tree with its `fitness`.

    untidy : whether `prune` has something to remove. arrays : kinds and constants of the nodes, as in
    `Forest`, where these are at hand.
    """

    def __init__(
        self,
        nodes: list[Node],
        fitness: Fitness = UNFITTED,
        arrays: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None,
    ) -> None:
        """Make a tree; without a fitness it is not fitted yet."""
        list.__init__(self, nodes)
        self.fitness, self.untidy, self.arrays = fitness, True, arrays

    loss = property(lambda self: self.fitness.loss)
    score = property(lambda self: self.fitness.score)
    cases = property(lambda self: self.fitness.cases)
    complexity = property(lambda self: self.fitness.complexity)


# Instead of a tree whose loss is behind all that survive, and of one that no fit reached in time.
BEHIND, UNREACHED = Individual([]), Individual([])


class Forest(NamedTuple):
    """Many trees, one after another in prefix order.

    kinds : int64 (n_nodes,), index of each node in the grammar. values : float64 (n_nodes,), its constant,
    nan where it has none. sizes : int64 (n_trees,), nodes of each.
    """

    grammar: Grammar
    kinds: NDArray[np.int64]
    values: NDArray[np.float64]
    sizes: NDArray[np.int64]

    @property
    def amount(self) -> int:
        """Number of trees."""
        return self.sizes.size

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each tree begins, (n_trees + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def holds(self) -> NDArray[np.bool_]:
        """Whether each node has a constant, (n_nodes,)."""
        return np.asarray(self.grammar.tables.holds[self.kinds] != 0)

    def of(self, places: NDArray[np.int64]) -> "Forest":
        """Return some of the trees, in the order of their places."""
        sizes = self.sizes[places]
        ends = np.cumsum(sizes)
        moved = np.arange(ends[-1] if ends.size else 0) + np.repeat(
            self.offsets[:-1][places] - ends + sizes, sizes
        )
        return self._replace(kinds=self.kinds[moved], values=self.values[moved], sizes=sizes)

    def per_tree(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the sums over each tree of whole numbers or truths (n_nodes,) of its nodes."""
        counted = numbers.astype(np.int64)
        found: NDArray[np.int64] = np.add.reduceat(counted, self.offsets[:-1]) if self.amount else counted
        return found

    def trees(self) -> list[Individual]:
        """Return all trees, not fitted."""
        nodes: list[Any] = [*map(self.grammar.nodes.__getitem__, self.kinds.tolist())]
        held = np.flatnonzero(self.holds)
        for place, value in zip(held.tolist(), self.values[held].tolist(), strict=True):
            nodes[place] = nodes[place].holding(value)
        return [
            Individual(nodes[begin:end], arrays=(self.kinds[begin:end].copy(), self.values[begin:end].copy()))
            for begin, end in pairwise(self.offsets.tolist())
        ]


def forest_of(trees: Sequence[Individual], grammar: Grammar) -> Forest:
    """Return the trees of a grammar as arrays."""
    nothing = np.zeros(0, np.int64), np.zeros(0)
    kinds, values = zip(nothing, *map(_arrays_of, trees), strict=True)
    sizes = np.fromiter(map(len, trees), np.int64, len(trees))
    return Forest(grammar, np.concatenate(kinds), np.concatenate(values), sizes)


def _arrays_of(tree: Individual) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return kinds and constants of a tree's nodes, as in `Forest`, and keep them with the tree."""
    if tree.arrays is None:
        constants = [math.nan if node.constant is None else node.constant for node in tree]
        tree.arrays = np.array([node.kind for node in tree], np.int64), np.array(constants)
    return tree.arrays
