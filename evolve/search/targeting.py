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
from numpy.typing import NDArray
from trainlaw.evolve.equations.library import Quantity
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.search.trees import nodes_of
from trainlaw.evolve.search.variation import Individual
from trainlaw.formulas import OPERATORS

# Numbers this close to the simplest are that; what keeps regressions on alike expressions solvable.
NEAR, RIDGE = 1e-6, 1e-12
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


@dataclass(frozen=True, eq=False)
class Targeting:
    """What the mutation compares with.

    columns : of each feature by name, and target, (n_rows,) each. trees : the library, as nodes. values :
    theirs, (n_expressions, n_rows), each of root mean square 1, and squares : their squares, both with few
    digits, which suffice to compare. sizes : those root mean squares.
    """

    columns: Mapping[str, Values]
    target: Values
    trees: tuple[tuple[Node, ...], ...]
    values: Values
    squares: Values
    sizes: Values

    @classmethod
    def of(
        cls, library: Sequence[Quantity], target: Values, columns: Mapping[str, Values], grammar: Grammar
    ) -> "Targeting":
        """Return the mutation's data; library : expressions with their values (n_rows,)."""
        known = [(nodes_of(item.expression, grammar.target, grammar), item.values) for item in library]
        usable = [(tuple(nodes), values) for nodes, values in known if nodes]
        values = np.array([values for _, values in usable]).reshape(len(usable), target.size)
        sizes = np.sqrt(np.mean(values**2, axis=1))
        values = (values / sizes[:, None]).astype(np.float32)
        return cls(columns, target, tuple(nodes for nodes, _ in usable), values, values**2, sizes)

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

    def _values_of(self, tree: Individual) -> list[Any]:
        """The values of each node, a number or (n_rows,)."""
        found: list[Any] = [None] * len(tree)
        stack: list[int] = []
        for i in range(len(tree) - 1, -1, -1):
            node = tree[i]
            if isinstance(node, Leaf):
                number = 1.0 if node.constant is None else node.constant
                found[i] = number if node.feature is None else number * self.columns[node.feature]
            else:
                arguments = [found[stack.pop()] for _ in range(node.arity)]
                found[i] = OPERATORS[node.name].function(*map(np.asarray, arguments))
            stack.append(i)
        return found

    def _wanted(
        self, tree: Individual, place: int, affine: tuple[float, float]
    ) -> tuple[Values | None, Values, set[str]]:
        """The wanted values at a node, None where unknown, the slope there, and the operators above."""
        values = self._values_of(tree)
        offset, factor = affine
        wanted, slope = (self.target - offset) / factor, np.full(self.target.shape, factor)
        path: set[str] = set()
        i = 0
        while i != place:
            node, arguments = tree[i], [tree.searchSubtree(i + 1)]
            if node.arity == 2:
                arguments.append(tree.searchSubtree(arguments[0].stop))
            number = int(place >= arguments[0].stop)
            inverse = INVERSES.get((node.name, number))
            if inverse is None:
                return None, slope, path
            a, b = values[arguments[0].start], values[arguments[-1].start]
            wanted, step = inverse(wanted, a, b)
            slope, i = slope * step, arguments[number].start
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
        terms: list[int] = []
        left = wanted - weight @ wanted
        for _ in range(2 if random.random() < SECOND_TERM else 1):
            shares = self._shares(left, weight)
            rank = min(random.randrange(CLOSEST) if random.random() < 0.5 else 0, shares.size - 1)
            terms.append(int(np.argpartition(-shares, rank)[rank]))
            design = np.vstack([np.ones_like(wanted), self.values[terms]])
            heavy = design * weight
            found = np.linalg.solve(heavy @ design.T + RIDGE * np.eye(design.shape[0]), heavy @ wanted)
            left = wanted - found @ design
            if weight @ (left * left) < NEAR**2 * (weight @ (wanted * wanted)):
                break
        numbers = [float(found[0]), *(found[1:] / self.sizes[terms]).tolist()]
        if path <= {"add", "sub"} or abs(numbers[0]) < NEAR * math.sqrt(weight @ (wanted * wanted)):
            numbers[0] = 0.0
        if path <= {"mul", "div"}:
            numbers = [number / numbers[1] for number in numbers]
        return self._written(numbers, terms, grammar)

    def _shares(self, left: Values, weight: Values) -> Values:
        """The share of the weighted squares of `left`, of mean 0, that each expression explains."""
        weight, left = weight.astype(np.float32), (weight * left).astype(np.float32)
        means = np.einsum("kn,n->k", self.values, weight)
        products = np.einsum("kn,n->k", self.values, left)
        squares = np.einsum("kn,n->k", self.squares, weight) - means**2
        return np.where(squares > 1e-6, products**2 / squares, 0.0)

    def _written(self, numbers: Sequence[float], terms: Sequence[int], grammar: Grammar) -> list[Node] | None:
        """The nodes of the offset `numbers[0]` plus the terms times the other numbers."""
        ret = grammar.target
        add, mul = (grammar.operation(name, ret, ret, ret) for name in ("add", "mul"))
        leaf = grammar.free_constant(ret)
        if add is None or mul is None or leaf is None or not np.all(np.isfinite(numbers)):
            return None
        body: list[Node] = [leaf.holding(numbers[0])] if numbers[0] else []
        for number, term in zip(numbers[1:], terms, strict=True):
            tree = self.trees[term]
            part = list(tree) if abs(number - 1.0) < NEAR else [mul, leaf.holding(number), *tree]
            body = [add, *body, *part] if body else part
        return body
