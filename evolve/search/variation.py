"""How new individuals come from old ones: DEAP's operators and moves of the domain, all inside the grammar.

DEAP draws from the interpreter's one random generator; `drawing_from` lends it a state of our own and
gives the interpreter its own back, so that a search depends on nothing but its seed.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from deap import gp
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node, draw

_RANDOM_LOCK = threading.Lock()
# How many of the factors that a term is multiplied by are shares, where there are any.
SHARE_OF_SHARES = 0.2


class Individual(gp.PrimitiveTree):
    """A tree with what is known of it.

    loss : training loss. cases : loss per group. score : what survival compares. complexity : of the
    expression. affine : offset and slope around the tree (0, 1 in typed mode). untidy : whether fitted
    constants leave something to prune.
    """

    def __init__(self, nodes: list[Node]) -> None:
        super().__init__(nodes)
        self.loss = self.score = float("inf")
        self.cases: Any = None
        self.complexity = 0
        self.affine = (0.0, 1.0)
        self.untidy = True

    def __deepcopy__(self, memo: dict[int, Any]) -> "Individual":
        return Individual(list(self))


@contextmanager
def drawing_from(state: Any) -> Iterator[Callable[[], Any]]:
    """Runs a block with the interpreter's random generator in `state`; the yielded function tells the new
    state.
    """
    with _RANDOM_LOCK:
        outside = random.getstate()
        random.setstate(state)
        try:
            yield random.getstate
        finally:
            random.setstate(outside)


def vary(first: Individual, second: Individual, grammar: Grammar, max_nodes: int) -> Individual:
    """One child of two parents: crossover in two of five births, else one or two mutations of the first."""
    child = Individual(list(first))
    if len(first) > 1 and len(second) > 1 and random.random() < 0.4:
        child = cross(child, second)
    else:
        for _ in range(1 if random.random() < 0.75 else 2):
            child = random.choices(MOVES, MOVE_WEIGHTS)[0](child, grammar)
    return child if len(child) <= max_nodes else Individual(list(first))


def cross(tree: Individual, other: Individual) -> Individual:
    """A subtree of `tree`, not the whole, gives way to one of its type from `other`. Source: Koza, 1992."""
    begin = random.randrange(1, len(tree))
    ret = tree[begin].ret
    places = [i for i, node in enumerate(other) if node.ret is ret and i > 0]
    if places:
        tree[tree.searchSubtree(begin)] = other[other.searchSubtree(random.choice(places))]
    return tree


def replace_subtree(tree: Individual, grammar: Grammar) -> Individual:
    """DEAP's uniform mutation with a small new subtree."""
    return gp.mutUniform(
        tree, lambda pset, type_: grammar.grow(type_, random.randint(1, 3)), grammar.primitive_set
    )[0]


def replace_node(tree: Individual, grammar: Grammar) -> Individual:
    """DEAP's node replacement: another operator or leaf of the same signature."""
    changed = gp.mutNodeReplacement(tree, grammar.primitive_set)[0]
    return Individual(
        [draw(node) if node.arity == 0 and _is_prototype(node, grammar) else node for node in changed]
    )


def shrink(tree: Individual, grammar: Grammar) -> Individual:
    """DEAP's shrinking: an operation gives way to one of its arguments of the same type."""
    return gp.mutShrink(tree)[0]


def hoist(tree: Individual, grammar: Grammar) -> Individual:
    """A subtree of the target's type becomes the whole tree."""
    places = [i for i, node in enumerate(tree) if node.ret is grammar.target and i > 0]
    return Individual(tree[tree.searchSubtree(random.choice(places))]) if places else tree


def add_term(tree: Individual, grammar: Grammar) -> Individual:
    """A random place of a type that adds gets one more term."""
    i = _place(tree, lambda node: node.ret in grammar.summable)
    if i is None:
        return tree
    ret = tree[i].ret
    where = tree.searchSubtree(i)
    term = grammar.grow(ret, 1 if random.random() < 0.7 else 3)
    tree[where] = [grammar.operation("add", ret, ret, ret), *tree[where], *term]
    return tree


def drop_term(tree: Individual, grammar: Grammar) -> Individual:
    """A random sum, product, quotient or extremum loses one side, where the other has the type of the
    whole.
    """
    i = _place(tree, lambda node: node.arity == 2 and node.ret in node.args)
    if i is None:
        return tree
    left = tree.searchSubtree(i + 1)
    right = tree.searchSubtree(left.stop)
    kept = [part for part, cls in zip((left, right), tree[i].args, strict=True) if cls is tree[i].ret]
    tree[tree.searchSubtree(i)] = tree[random.choice(kept)]
    return tree


def swap_leaf(tree: Individual, grammar: Grammar) -> Individual:
    """One leaf becomes another of the same type."""
    i = _place(tree, lambda node: node.arity == 0)
    tree[i] = draw(random.choice(grammar.leaves(tree[i].ret)))
    return tree


def shake_constant(tree: Individual, grammar: Grammar) -> Individual:
    """One fitted number starts again from elsewhere."""
    i = _place(tree, lambda node: isinstance(node.constant, float))
    if i is not None:
        leaf = tree[i]
        moved = leaf.constant * random.lognormvariate(0.0, 1.0) + (
            0.0 if leaf.rule.lower >= 0.0 else random.gauss(0.0, 1.0)
        )
        tree[i] = leaf.holding(min(max(moved, leaf.rule.lower), leaf.rule.upper))
    return tree


def wrap(tree: Individual, grammar: Grammar) -> Individual:
    """A random place is multiplied by a dimensionless factor that starts near one, or by a share."""
    i = _place(tree, lambda node: node.ret in grammar.scalable)
    if i is None:
        return tree
    where = tree.searchSubtree(i)
    ret = tree[i].ret
    by_share = grammar.operation("mul", ret, ret, grammar.share) if grammar.shares else None
    if by_share and random.random() < SHARE_OF_SHARES:
        tree[where] = [by_share, *tree[where], *make_share_of(grammar)]
        return tree
    tree[where] = [grammar.operation("mul", ret, ret, grammar.number), *tree[where], *make_factor(grammar)]
    return tree


def widen_factor(tree: Individual, grammar: Grammar) -> Individual:
    """a * F + b becomes (a + b) * F: one more term comes under a factor."""
    i = _place(tree, lambda node: node.name == "add")
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


def make_factor(grammar: Grammar) -> list[Node]:
    """A dimensionless factor: a power of a positive feature, the exponential of a weighted one, or any
    number.
    """
    number = grammar.number
    grouped = [leaf for leaf in grammar.leaves(number) if isinstance(leaf.constant, tuple)]
    if grouped and random.random() < 0.3:
        return [random.choice(grouped)]
    features = [leaf for leaf in grammar.leaves(number) if leaf.feature and leaf not in grouped]
    power = grammar.operation("pow", number, number, grammar.exponent)
    exponential = grammar.operation("exp", number, grammar.logarithm)
    if features:
        leaf = random.choice(features)
        if leaf.feature in grammar.shares and random.random() < 0.25:
            return _shifted(leaf, grammar)
        if power and leaf.feature in grammar.positive and random.random() < 0.6:
            bare = next(
                other for other in features if other.feature == leaf.feature and other.constant is None
            )
            exponent = random.choice(grammar.leaves(grammar.exponent))
            return [power, bare, exponent.holding(random.gauss(0.0, 0.3))]
        if exponential and random.random() < 0.6:
            weighted = next(
                other
                for other in grammar.leaves(grammar.logarithm)
                if other.feature == leaf.feature and other.constant is not None
            )
            return [exponential, weighted.holding(random.gauss(0.0, 0.1))]
    return grammar.grow(number, 3)


def _shifted(leaf: Leaf, grammar: Grammar) -> list[Node]:
    """(x + c) / x of the leaf's feature x as a number that may stand anywhere."""
    share, number = grammar.shares[leaf.feature], grammar.number
    bare = next(
        other for other in grammar.leaves(number) if other.feature == leaf.feature and other.constant is None
    )
    division = grammar.operation("div", number, number, number)
    size = bare.start * random.lognormvariate(-1.5, 1.0)
    amount = size if random.random() < 0.6 else share.near_amount.rule.lower * random.random()
    return [division, share.near, share.shifted, share.near_amount.holding(amount), bare]


def make_share_of(grammar: Grammar) -> list[Node]:
    """(x + c) / x of a random positive pure number x."""
    share = random.choice(list(grammar.shares.values()))
    size = share.whole.start * random.lognormvariate(-1.5, 1.0)
    amount = size if random.random() < 0.6 else share.amount.rule.lower * random.random()
    return [share.division, share.addition, share.shifted, share.amount.holding(amount), share.whole]


def _is_prototype(node: Leaf, grammar: Grammar) -> bool:
    return any(node is leaf for leaf in grammar.leaves(node.ret))


def _place(tree: Individual, fits: Callable[[Any], bool]) -> int | None:
    """A random index of the nodes that fit, or None."""
    places = [i for i, node in enumerate(tree) if fits(node)]
    return random.choice(places) if places else None


def random_tree(grammar: Grammar, max_nodes: int) -> Individual:
    """A first individual: a sum of a few different leaves of the target's type, or a grown tree."""
    leaves = grammar.leaves(grammar.target)
    add = grammar.operation("add", grammar.target, grammar.target, grammar.target)
    if add and len(leaves) > 2 and grammar.typed and random.random() < 0.7:
        most = max(1, min(len(leaves), 10, (max_nodes + 1) // 2))
        chosen = random.sample(leaves, random.randint(1, most))
        return Individual([add] * (len(chosen) - 1) + [draw(leaf) for leaf in chosen])
    tree = Individual(grammar.grow(grammar.target, random.randint(1, 5)))
    return tree if len(tree) <= max_nodes else Individual(grammar.grow(grammar.target, 1))


MOVES = (
    replace_subtree, replace_node, shrink, hoist, add_term, drop_term, swap_leaf, shake_constant, wrap,
    widen_factor,
)  # fmt: skip
MOVE_WEIGHTS = (15, 5, 5, 2, 20, 12, 15, 3, 15, 5)
