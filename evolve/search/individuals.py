"""Individuals of a population, and many trees as arrays, from which compiled code makes and fits others."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from deap import base, gp
from numpy.typing import NDArray
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.grammar_tables import constant_of
from trainlaw.evolve.leaves import Node


# DEAP has no types.
class Fitness(base.Fitness):  # type: ignore[misc]
    """What a fit found for a tree; `values` are score and complexity, both to be minimised.

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

    affine : offset and slope around the tree (0, 1 in typed mode). untidy : whether `prune` has something to
    remove. arrays : kinds and constants of the nodes, as in `Forest`, where these are at hand.
    """

    def __init__(
        self,
        nodes: list[Node],
        fitness: Fitness = UNFITTED,
        affine: tuple[float, float] = (0.0, 1.0),
        *,
        untidy: bool = True,
        arrays: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None,
    ) -> None:
        """Make a tree; without a fitness it is not fitted yet."""
        list.__init__(self, nodes)
        self.fitness, self.affine, self.untidy, self.arrays = fitness, affine, untidy, arrays

    loss = property(lambda self: self.fitness.loss)
    score = property(lambda self: self.fitness.score)
    cases = property(lambda self: self.fitness.cases)
    complexity = property(lambda self: self.fitness.complexity)


# Instead of a tree whose loss is behind all that survive, and of one that no fit reached in time.
BEHIND, UNREACHED = Individual([]), Individual([])


class Forest(NamedTuple):
    """Many trees, one after another in prefix order.

    kinds : int64 (n_nodes,), index of each node in the grammar. values : float64 (n_nodes,), its constant,
    nan where it has none; of a label, the place of its constants in `grouped`, -1 for those it begins with.
    sizes : int64 (n_trees,), nodes of each. affine : (n_trees, 2), offset and slope around each.
    """

    grammar: Grammar
    kinds: NDArray[np.int64]
    values: NDArray[np.float64]
    sizes: NDArray[np.int64]
    affine: NDArray[np.float64]
    grouped: tuple[tuple[float, ...], ...] = ()

    @property
    def amount(self) -> int:
        """Number of trees."""
        return self.sizes.size

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each tree begins, (n_trees + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def holds(self) -> NDArray[np.int64]:
        """Sort of each node's constant, (n_nodes,), as in `GrammarTables`."""
        found: NDArray[np.int64] = self.grammar.tables.holds[self.kinds]
        return found

    def of(self, places: NDArray[np.int64]) -> "Forest":
        """Return some of the trees, in the order of their places."""
        sizes = self.sizes[places]
        ends = np.cumsum(sizes)
        moved = np.arange(ends[-1] if ends.size else 0) + np.repeat(
            self.offsets[:-1][places] - ends + sizes, sizes
        )
        return self._replace(
            kinds=self.kinds[moved], values=self.values[moved], sizes=sizes, affine=self.affine[places]
        )

    def per_tree(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the sums over each tree of whole numbers or truths (n_nodes,) of its nodes."""
        counted = numbers.astype(np.int64)
        found: NDArray[np.int64] = np.add.reduceat(counted, self.offsets[:-1]) if self.amount else counted
        return found

    def constants(self) -> list[tuple[float, ...]]:
        """Return the constants of each node that has some, in order."""
        places = np.flatnonzero(self.holds)
        nodes = map(self.grammar.nodes.__getitem__, self.kinds[places].tolist())
        pairs = zip(nodes, self.values[places].tolist(), strict=True)
        found: list[Any] = [self._holding(*pair).constant for pair in pairs]
        return [constant if isinstance(constant, tuple) else (constant,) for constant in found]

    def nodes(self) -> Iterator[list[Node]]:
        """Yield the nodes of each tree, constants at what they begin with."""
        nodes = [*map(self.grammar.nodes.__getitem__, self.kinds.tolist())]
        for begin, end in pairwise(self.offsets.tolist()):
            yield nodes[begin:end]

    def trees(self) -> list[Individual]:
        """Return all trees, not fitted."""
        nodes: list[Node] = [*map(self.grammar.nodes.__getitem__, self.kinds.tolist())]
        held = np.flatnonzero(self.holds)
        for place, value in zip(held.tolist(), self.values[held].tolist(), strict=True):
            nodes[place] = self._holding(nodes[place], value)
        found = []
        for (begin, end), affine in zip(pairwise(self.offsets.tolist()), self.affine.tolist(), strict=True):
            arrays = self.kinds[begin:end].copy(), self.values[begin:end].copy()
            known = None if self.grammar.levels else arrays
            found.append(Individual(nodes[begin:end], affine=tuple(affine), arrays=known))
        return found

    def _holding(self, node: Any, value: float) -> Any:
        if isinstance(node.constant, float):
            return node.holding(value)
        return node.holding(self.grouped[int(value)]) if value >= 0.0 else node


def forest_of(trees: Sequence[Individual], grammar: Grammar) -> Forest:
    """Return the trees of a grammar as arrays."""
    grouped: list[tuple[float, ...]] = []
    known = [tree.arrays or _arrays_of(tree, grouped) for tree in trees]
    nothing = np.zeros(0, np.int64), np.zeros(0)
    kinds, values = zip(nothing, *known, strict=True)
    sizes = np.fromiter(map(len, trees), np.int64, len(trees))
    affine = np.array([tree.affine for tree in trees]).reshape(-1, 2)
    return Forest(grammar, np.concatenate(kinds), np.concatenate(values), sizes, affine, tuple(grouped))


def _arrays_of(
    tree: Individual, grouped: list[tuple[float, ...]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return kinds and values of a tree's nodes, as in `Forest`, and add constants of labels to `grouped`."""
    values = np.array([constant_of(node) for node in tree])
    for place, node in enumerate(tree):
        if isinstance(node.constant, tuple):
            values[place] = len(grouped)
            grouped.append(node.constant)
    arrays = np.array([node.kind for node in tree]), values
    if not grouped:
        tree.arrays = arrays
    return arrays
