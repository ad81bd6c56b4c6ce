"""Genetic operators: crossover, mutations and simplifications, all within the grammar.

Each draws from the generator that it is given. DEAP's own mutations draw from the interpreter's, which any
other code may move, so those that are used are written out here.
"""

import math
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import Any

from deap import base, gp
from numpy.typing import NDArray
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node, Share, draw
from trainlaw.evolve.machine.arrays import VARIABLE

# Probability that a term is multiplied by a share rather than by another factor, where there are shares.
SHARE_OF_SHARES = 0.2
# Probability that a subtree is replaced by a building block rather than by a random one, where there are any.
SHARE_OF_BLOCKS = 0.5
# Probability that a mutation aims at the target, in a search that can.
SHARE_OF_TARGETING = 0.15
# Probability of a second mutation of the same child.
SECOND_MUTATION = 0.25


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
# Of a tree whose loss is behind all that survive.
BEHIND = Fitness()


# DEAP has no types.
class Individual(gp.PrimitiveTree):  # type: ignore[misc]
    """A tree with its `fitness`.

    affine : offset and slope around the tree (0, 1 in typed mode). untidy : whether `prune` has something to
    remove.
    """

    def __init__(
        self,
        nodes: list[Node],
        fitness: Fitness = UNFITTED,
        affine: tuple[float, float] = (0.0, 1.0),
        *,
        untidy: bool = True,
    ) -> None:
        """Make a tree; without a fitness it is not fitted yet."""
        list.__init__(self, nodes)
        self.fitness, self.affine, self.untidy = fitness, affine, untidy

    loss = property(lambda self: self.fitness.loss)
    score = property(lambda self: self.fitness.score)
    cases = property(lambda self: self.fitness.cases)
    complexity = property(lambda self: self.fitness.complexity)


def mate(first: Individual, second: Individual, grammar: Grammar, random: Random) -> tuple[Individual]:
    """Return a child of two parents by crossover; `first` may change."""
    return (cross(first, second, grammar, random),)


def mutate(tree: Individual, grammar: Grammar, random: Random, targeting: Any = None) -> tuple[Individual]:
    """Return the tree after one of `MOVES`, or two; it may change in place.

    targeting : where there is one, a mutation that is drawn instead at times.
    """
    if targeting is not None and random.random() < SHARE_OF_TARGETING:
        return (targeting.aim(tree, grammar, random),)
    for _ in range(2 if random.random() >= 1.0 - SECOND_MUTATION else 1):
        # The same as `random.choices`, in a third of its time.
        tree = MOVES[bisect(MOVE_WEIGHTS, random.random() * MOVE_WEIGHTS[-1])](tree, grammar, random)
    return (tree,)


def cross(tree: Individual, other: Individual, grammar: Grammar, random: Random) -> Individual:
    """Replace a proper subtree by one of the same type from `other`. Source: Koza, 1992."""
    begin = random.randrange(1, len(tree))
    ret = tree[begin].ret
    if ret is grammar.fixed:
        return tree
    places = [i for i, node in enumerate(other) if node.ret is ret and i > 0]
    if places:
        tree[tree.searchSubtree(begin)] = other[other.searchSubtree(random.choice(places))]
    return tree


def replace_subtree(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Replace a subtree by a building block or a small random one (DEAP's uniform mutation)."""
    begin = random.randrange(len(tree))
    if grammar.blocks and tree[begin].ret is grammar.target and random.random() < SHARE_OF_BLOCKS:
        tree[tree.searchSubtree(begin)] = list(random.choice(grammar.blocks))
    elif tree[begin].ret is not grammar.fixed:
        tree[tree.searchSubtree(begin)] = grammar.grow(tree[begin].ret, random.randint(1, 3), random)
    return tree


def replace_node(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Replace a node by another of the same signature (DEAP's node replacement)."""
    if grammar.brackets:
        return swap_leaf(tree, grammar, random)
    if len(tree) < 2:
        return tree
    i = random.randrange(1, len(tree))
    node = tree[i]
    if node.arity == 0:
        tree[i] = grammar.draw_leaf(node.ret, random)
    else:
        tree[i] = random.choice([other for other in grammar.operations(node.ret) if other.args == node.args])
    return tree


def shrink(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Replace an operation by one of its arguments of the same type (DEAP's shrinking)."""
    places = [i for i, node in enumerate(tree) if i > 0 and node.arity and node.ret in node.args]
    if not places:
        return tree
    i = random.choice(places)
    chosen = random.choice([number for number, cls in enumerate(tree[i].args) if cls is tree[i].ret])
    argument = slice(i + 1, i + 1)
    for _ in range(chosen + 1):
        argument = tree.searchSubtree(argument.stop)
    tree[tree.searchSubtree(i)] = tree[argument]
    return tree


def hoist(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Replace the whole tree by a subtree of the target's type."""
    places = [i for i, node in enumerate(tree) if node.ret is grammar.target and i > 0]
    if grammar.brackets:
        return tree
    return Individual(tree[tree.searchSubtree(random.choice(places))]) if places else tree


def add_term(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Add a term to a random node of a type that can be added."""
    summable = grammar.summable
    i = _one_of([i for i, node in enumerate(tree) if node.ret in summable], random)
    if i is None:
        return tree
    ret = tree[i].ret
    where = tree.searchSubtree(i)
    term = grammar.grow(ret, 1 if random.random() < 0.7 else 3, random)
    tree[where] = [grammar.operation("add", ret, ret, ret), *tree[where], *term]
    return tree


def drop_term(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Drop one side of a random sum, product, quotient or extremum whose other side has the same type."""
    fixed = grammar.fixed
    pairs = ((i, node) for i, node in enumerate(tree) if node.arity == 2)
    i = _one_of([i for i, node in pairs if node.ret in node.args and node.ret is not fixed], random)
    if i is None:
        return tree
    left = tree.searchSubtree(i + 1)
    right = tree.searchSubtree(left.stop)
    kept = [side for side, cls in zip((left, right), tree[i].args, strict=True) if cls is tree[i].ret]
    tree[tree.searchSubtree(i)] = tree[random.choice(kept)]
    return tree


def swap_leaf(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Replace a leaf by another of the same type."""
    i = random.choice([i for i, node in enumerate(tree) if node.arity == 0])
    if tree[i].ret is not grammar.fixed:
        tree[i] = grammar.draw_leaf(tree[i].ret, random)
    return tree


def shake_constant(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Move one fitted constant to another starting value."""
    i = _one_of([i for i, node in enumerate(tree) if isinstance(node.constant, float)], random)
    if i is not None:
        leaf = tree[i]
        moved = leaf.constant * random.lognormvariate(0.0, 1.0) + (
            0.0 if leaf.rule.lower >= 0.0 else random.gauss(0.0, 1.0)
        )
        tree[i] = leaf.holding(min(max(moved, leaf.rule.lower), leaf.rule.upper))
    return tree


def wrap(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Multiply a random node by a dimensionless factor that starts near one, or by a share."""
    scalable = grammar.scalable
    i = _one_of([i for i, node in enumerate(tree) if node.ret in scalable], random)
    if i is None:
        return tree
    where = tree.searchSubtree(i)
    ret = tree[i].ret
    by_share = grammar.operation("mul", ret, ret, grammar.share) if grammar.shares else None
    if by_share and random.random() < SHARE_OF_SHARES:
        tree[where] = [by_share, *tree[where], *make_share_of(grammar, random)]
        return tree
    factor = grammar.factor_of(ret)
    body = grammar.grow(factor, 2, random) if grammar.brackets else make_factor(grammar, random)
    tree[where] = [grammar.operation("mul", ret, ret, factor), *tree[where], *body]
    return tree


def widen_factor(tree: Individual, grammar: Grammar, random: Random) -> Individual:
    """Extend a factor to one more term: a * F + b becomes (a + b) * F."""
    i = _one_of([i for i, node in enumerate(tree) if node.name == "add"], random)
    if i is None:
        return tree
    left = tree.searchSubtree(i + 1)
    right = tree.searchSubtree(left.stop)
    for inner, other in random.sample([(left, right), (right, left)], 2):
        product = tree[inner.start]
        if product.name in ("mul", "div") and product.args[0] is product.ret:
            body = tree.searchSubtree(inner.start + 1)
            factor = tree.searchSubtree(body.stop)
            tree[tree.searchSubtree(i)] = [product, tree[i], *tree[body], *tree[other], *tree[factor]]
            return tree
    return tree


def make_factor(grammar: Grammar, random: Random) -> list[Node]:
    """Return a dimensionless factor: a power of a positive feature, an exponential, or any number."""
    number = grammar.number
    grouped = [leaf for leaf in grammar.leaves(number) if isinstance(leaf.constant, tuple)]
    if grouped and random.random() < 0.3:
        return [random.choice(grouped)]
    features = [leaf for leaf in grammar.leaves(number) if leaf.feature and leaf not in grouped]
    power = grammar.operation("pow", number, number, grammar.exponent)
    exponential = grammar.operation("exp", number, grammar.logarithm)
    if features:
        leaf = random.choice(features)
        share = grammar.shares.get(leaf.feature or "")
        if share and random.random() < 0.25:
            return _shifted(leaf, share, grammar, random)
        if power and leaf.feature in grammar.positive and random.random() < 0.6:
            exponent = random.choice(grammar.leaves(grammar.exponent))
            return [power, _bare(leaf, grammar), exponent.holding(random.gauss(0.0, 0.3))]
        if exponential and random.random() < 0.6:
            weighted = next(
                other
                for other in grammar.leaves(grammar.logarithm)
                if other.feature == leaf.feature and other.constant is not None
            )
            return [exponential, weighted.holding(random.gauss(0.0, 0.1))]
    return grammar.grow(number, 3, random)


def _shifted(leaf: Leaf, share: Share, grammar: Grammar, random: Random) -> list[Node]:
    """Return (x + c) / x of the leaf's feature x as a number that may occur anywhere."""
    number = grammar.number
    bare = _bare(leaf, grammar)
    # Shares exist only in grammars with a division.
    division: Any = grammar.operation("div", number, number, number)
    size = bare.start * random.lognormvariate(-1.5, 1.0)
    amount = size if random.random() < 0.6 else share.near_amount.rule.lower * random.random()
    return [division, share.near, share.shifted, share.near_amount.holding(amount), bare]


def make_share_of(grammar: Grammar, random: Random) -> list[Node]:
    """Return (x + c) / x of a random positive dimensionless feature x."""
    share = random.choice(list(grammar.shares.values()))
    size = share.whole.start * random.lognormvariate(-1.5, 1.0)
    amount = size if random.random() < 0.6 else share.amount.rule.lower * random.random()
    return [share.division, share.addition, share.shifted, share.amount.holding(amount), share.whole]


def _bare(leaf: Leaf, grammar: Grammar) -> Leaf:
    """Return the leaf of the same dimensionless feature without a weight."""
    return next(
        other
        for other in grammar.leaves(grammar.number)
        if other.feature == leaf.feature and other.constant is None
    )


def _one_of(places: Sequence[int], random: Random) -> int | None:
    """Return one of the indices, or None where there is none."""
    return random.choice(places) if places else None


def random_tree(grammar: Grammar, max_nodes: int, random: Random) -> Individual:
    """Return a tree of the first generation: a sum of different leaves, or a random tree."""
    leaves = grammar.leaves(grammar.target)
    add = grammar.operation("add", grammar.target, grammar.target, grammar.target)
    if add and len(leaves) > 2 and grammar.typed and random.random() < 0.7:
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
    if leaf.feature is None or not isinstance(leaf.constant, float):
        return None
    same = (other for other in grammar.leaves(leaf.ret) if other.feature == leaf.feature)
    return next((other for other in same if other.token & 255 == VARIABLE), None)


# Mutations with their relative frequencies, summed up.
MOVES = (
    replace_subtree, replace_node, shrink, hoist, add_term, drop_term, swap_leaf, shake_constant, wrap,
    widen_factor,
)  # fmt: skip
MOVE_WEIGHTS = tuple(accumulate((15, 5, 5, 2, 20, 12, 15, 3, 15, 5)))
