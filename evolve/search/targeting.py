"""A mutation that knows what a subtree should be worth: the target, carried down the tree to it.

The functions above a node are inverted one by one, so that the node's wanted values are known on every row.
What comes closest to them, of a library of small expressions times a factor plus an offset, replaces the
subtree. Source: random desired operators, Pawlak, Wieloch and Krawiec, 2015; rows are weighted here by the
slope of the formula at the node, so that what hardly matters does not count.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from trainlaw.evolve.equations.library import Quantity
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Node
from trainlaw.evolve.machine.batch import node_values
from trainlaw.evolve.machine.compiler_cache import CACHED
from trainlaw.evolve.search.trees import held_constants, nodes_of
from trainlaw.evolve.search.individuals import Individual

# Numbers this close to the simplest are that; the least weighted variance of an expression of mean square 1.
NEAR, LEAST_SQUARE = 1e-6, 1e-6
# Probability that the tree is to be the target itself, not with the offset and slope around it.
SHARE_OF_PLAIN = 0.5
# Probability that a second expression is added, for what the first leaves.
SECOND_TERM = 0.5
# One of the closest few is taken; always the closest would make all children alike.
CLOSEST = 4
# A node's values are wanted on at least this share of the rows.
LEAST_KNOWN = 0.9
Values = NDArray[np.float64]
#: Wanted values of an argument, and the slope there, from those of the result (t), and both arguments.
Inverse = Callable[[Values, Values, Values], tuple[Values, Any]]

# By operator and place of the argument; the signs of slopes do not matter.
INVERSES: Mapping[tuple[str, int], Inverse] = {
    ("add", 0): lambda t, a, b: (t - b, 1.0),
    ("add", 1): lambda t, a, b: (t - a, 1.0),
    ("sub", 0): lambda t, a, b: (t + b, 1.0),
    ("sub", 1): lambda t, a, b: (a - t, 1.0),
    ("mul", 0): lambda t, a, b: (t / b, b),
    ("mul", 1): lambda t, a, b: (t / a, a),
    ("div", 0): lambda t, a, b: (t * b, 1.0 / b),
    ("div", 1): lambda t, a, b: (a / t, t * t / a),
    ("square", 0): lambda t, a, b: (np.copysign(np.sqrt(t), a), 2.0 * np.sqrt(t)),
    ("sqrt", 0): lambda t, a, b: (np.where(t > 0.0, t * t, np.nan), 0.5 / t),
    ("exp", 0): lambda t, a, b: (np.log(t), t),
    ("log", 0): lambda t, a, b: (np.exp(t), np.exp(-t)),
    ("sin", 0): lambda t, a, b: (a + (t - np.sin(a)) / np.cos(a), np.cos(a)),
    ("cos", 0): lambda t, a, b: (a + (np.cos(a) - t) / np.sin(a), np.sin(a)),
}


@njit(cache=CACHED, nogil=True, error_model="numpy")
def _best(values: np.ndarray, left: np.ndarray, weight: np.ndarray, rank: int) -> int:
    """Return which of the `values` (n_rows, n_expressions) explains most of `left`, of weighted mean 0.

    left, weight : (n_rows,), the weights of sum 1. rank : how many better ones are passed over.
    """
    count = values.shape[1]
    means, squares, shares = np.zeros((3, count), np.float32)
    for row in range(left.size):
        of_row, product = np.float32(weight[row]), np.float32(weight[row] * left[row])
        for k in range(count):
            value = values[row, k]
            weighted = of_row * value
            means[k] += weighted
            squares[k] += weighted * value
            shares[k] += product * value
    for k in range(count):
        square = squares[k] - means[k] * means[k]
        shares[k] = shares[k] * shares[k] / square if square > LEAST_SQUARE else 0.0
    best = np.argmax(shares)
    for _ in range(min(rank, count - 1)):
        shares[best] = -1.0
        best = np.argmax(shares)
    return int(best)


@njit(cache=CACHED, nogil=True, error_model="numpy")
def _regress(
    values: np.ndarray, wanted: np.ndarray, weight: np.ndarray, ranks: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Return an offset and the factors of one or two expressions that come closest to `wanted`.

    values : (n_rows, n_expressions). wanted, weight : (n_rows,). ranks : of the expressions, (1,) or (2,).
    terms : which they are, to be filled. A second one is not needed, and its factor 0, where one is exact.
    """
    numbers = np.zeros(1 + ranks.size)
    numbers[0] = np.sum(weight * wanted)
    left = wanted - numbers[0]
    exact = NEAR**2 * np.sum(weight * wanted * wanted)
    first, size, center, shared = left, 1.0, 0.0, 0.0
    for k in range(ranks.size):
        terms[k] = _best(values, left, weight, ranks[k])
        term = values[:, terms[k]].astype(np.float64)
        mean = np.sum(weight * term)
        term = term - mean
        if k == 1:
            shared = np.sum(weight * first * term) / size
            term = term - shared * first
        square = np.sum(weight * term * term)
        if not square > LEAST_SQUARE:
            break
        numbers[1 + k] = np.sum(weight * term * left) / square
        left = left - numbers[1 + k] * term
        numbers[0] -= numbers[1 + k] * mean
        if k == 1:
            numbers[1] -= numbers[2] * shared
            numbers[0] += numbers[2] * shared * center
        first, size, center = term, square, mean
        if np.sum(weight * left * left) < exact:
            break
    return numbers


@dataclass(frozen=True, eq=False)
class Targeting:
    """What the mutation compares with.

    columns : of the features, (n_features, n_rows). target : (n_rows,). trees : the library, as nodes.
    values : theirs, (n_rows, n_expressions), each of root mean square 1, with few digits, which suffice to
    compare. sizes : those root mean squares.
    """

    columns: Values
    target: Values
    trees: tuple[tuple[Node, ...], ...]
    values: Values
    sizes: Values

    @classmethod
    def of(
        cls, library: Sequence[Quantity], target: Values, columns: Values, grammar: Grammar
    ) -> "Targeting":
        """Return the mutation's data; library : expressions with their values (n_rows,)."""
        known = [(nodes_of(item.expression, grammar.target, grammar), item.values) for item in library]
        usable = [(tuple(nodes), values) for nodes, values in known if nodes]
        values = np.array([values for _, values in usable]).reshape(len(usable), target.size)
        sizes = np.sqrt(np.mean(values**2, axis=1))
        values = np.ascontiguousarray((values / sizes[:, None]).T.astype(np.float32))
        return cls(columns, target, tuple(nodes for nodes, _ in usable), values, sizes)

    def aim(self, tree: Individual, grammar: Grammar, random: Random) -> Individual:
        """Return the tree with a random subtree replaced by what is closest to its wanted values.

        tree : with the offset and slope around it; it may change in place.
        """
        place = random.choice([i for i, node in enumerate(tree) if node.ret is grammar.target])
        with np.errstate(all="ignore"):
            affine = (0.0, 1.0) if random.random() < SHARE_OF_PLAIN else tree.affine
            wanted, slope, path = self._wanted(tree, place, affine)
            body = None if wanted is None else self._closest(wanted, slope, path, grammar, random)
        if body is not None:
            tree[tree.searchSubtree(place)] = body
        return tree

    def _wanted(
        self, tree: Individual, place: int, affine: tuple[float, float]
    ) -> tuple[Values | None, Values, set[str]]:
        """The wanted values at a node, None where unknown, the slope there, and the operators above."""
        tokens = np.array([node.token for node in tree])
        held = np.array([node.constant for node in held_constants(tree)])
        values = node_values(tokens, held, self.columns)
        offset, factor = affine
        wanted, slope = (self.target - offset) / factor, np.full(self.target.shape, factor)
        path: set[str] = set()
        i = 0
        while i != place:
            node, first = tree[i], tree.searchSubtree(i + 1)
            second = tree.searchSubtree(first.stop) if node.arity == 2 else first
            number = int(place >= first.stop)
            inverse = INVERSES.get((node.name, number))
            if inverse is None:
                return None, slope, path
            wanted, step = inverse(wanted, values[first.start], values[second.start])
            slope, i = slope * step, (first, second)[number].start
            path.add(node.name)
        return wanted, slope, path

    def _closest(
        self, wanted: Values, slope: Values, path: set[str], grammar: Grammar, random: Random
    ) -> list[Node] | None:
        """The nodes of an expression of the library, times a factor plus an offset, or of two of them."""
        weight = slope * slope
        known = np.isfinite(wanted) & np.isfinite(weight)
        if np.count_nonzero(known) < LEAST_KNOWN * known.size or not weight[known].sum() > 0.0:
            return None
        weight = np.where(known, weight, 0.0)
        weight = weight / weight.sum()
        wanted = np.where(known, wanted, 0.0)
        count = 2 if random.random() < SECOND_TERM else 1
        ranks = [random.randrange(CLOSEST) if random.random() < 0.5 else 0 for _ in range(count)]
        terms = np.zeros(count, np.int64)
        numbers = _regress(self.values, wanted, weight, np.array(ranks), terms)
        numbers[1:] /= self.sizes[terms]
        if path <= {"add", "sub"} or abs(numbers[0]) < NEAR * math.sqrt(weight @ (wanted * wanted)):
            numbers[0] = 0.0
        if path <= {"mul", "div"}:
            numbers /= numbers[1]
        return self._written(numbers.tolist(), terms.tolist(), grammar)

    def _written(self, numbers: Sequence[float], terms: Sequence[int], grammar: Grammar) -> list[Node] | None:
        """The nodes of the offset `numbers[0]` plus the terms times the other numbers, without zeros."""
        ret = grammar.target
        add, mul = (grammar.operation(name, ret, ret, ret) for name in ("add", "mul"))
        leaf = grammar.free_constant(ret)
        if add is None or mul is None or leaf is None or not np.all(np.isfinite(numbers)):
            return None
        body: list[Node] = [leaf.holding(numbers[0])] if numbers[0] else []
        for number, term in zip(numbers[1:], terms, strict=True):
            if not number:
                continue
            tree = self.trees[term]
            part = list(tree) if abs(number - 1.0) < NEAR else [mul, leaf.holding(number), *tree]
            body = [add, *body, *part] if body else part
        return body or None
