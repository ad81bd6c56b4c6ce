"""All trees one step from a tree: the moves that a search draws at random, one after another."""

from collections.abc import Iterator

from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.variation import simpler_trees

# An exponent of a new factor and the share of a new term start here: a fit begins near the tree itself.
FIRST_EXPONENT = FIRST_SHARE = 0.01


def neighbours(tree: Individual, grammar: Grammar) -> Iterator[Individual]:
    """Yield simpler trees, then those with other terms, other factors, or factors of other terms."""
    yield from simpler_trees(tree, grammar)
    for begin, node in enumerate(tree):
        if isinstance(node, Leaf):
            changes = _other_leaves(node, grammar)
        else:
            changes = _other_operations(tree, begin, grammar)
        where = tree.searchSubtree(begin)
        for changed in (*changes, *_multiplied(tree, begin, grammar), *_extended(tree, begin, grammar)):
            yield Individual([*tree[: where.start], *changed, *tree[where.stop :]])


def _other_leaves(leaf: Leaf, grammar: Grammar) -> Iterator[list[Node]]:
    """Yield the other leaves of the same type."""
    for other in grammar.leaves(leaf.ret):
        if other.token != leaf.token:
            yield [other if other.constant is None else other.holding(other.start)]


def _other_operations(tree: Individual, begin: int, grammar: Grammar) -> Iterator[list[Node]]:
    """Yield the subtree with another operation of the same signature, and with its factor moved."""
    node, where = tree[begin], tree.searchSubtree(begin)
    for other in grammar.operations(node.ret):
        if other.args == node.args and other.token != node.token:
            yield [other, *tree[begin + 1 : where.stop]]
    if node.name == "add":
        yield from _widened(tree, begin)
    elif node.name in ("mul", "div") and node.args[0] is node.ret:
        yield from _narrowed(tree, begin, grammar)


def terms(tree: Individual, begin: int) -> list[list[Node]]:
    """Return the terms of the sum at `begin`; of another node, the subtree itself."""
    if tree[begin].name != "add":
        return [tree[tree.searchSubtree(begin)]]
    left = tree.searchSubtree(begin + 1)
    return terms(tree, left.start) + terms(tree, left.stop)


def _summed(parts: list[list[Node]], add: Node) -> list[Node]:
    """Return the sum of the parts."""
    return [add] * (len(parts) - 1) + [node for part in parts for node in part]


def _narrowed(tree: Individual, begin: int, grammar: Grammar) -> Iterator[list[Node]]:
    """Yield (a + b) * F as a + b * F, for each term a of the sum."""
    product, body = tree[begin], tree.searchSubtree(begin + 1)
    add = grammar.operation("add", product.ret, product.ret, product.ret)
    parts = terms(tree, begin + 1)
    factor = tree[tree.searchSubtree(body.stop)]
    if add is None or len(parts) == 1:
        return
    for place, part in enumerate(parts):
        rest = [*parts[:place], *parts[place + 1 :]]
        yield [add, *part, product, *_summed(rest, add), *factor]
        if len(rest) > 1:
            yield [add, *_summed(rest, add), product, *part, *factor]


def _widened(tree: Individual, begin: int) -> Iterator[list[Node]]:
    """Yield a + b * F + c as (a + b) * F + c, for each pair of terms of the sum."""
    add, parts = tree[begin], terms(tree, begin)
    for place, part in enumerate(parts):
        product = part[0]
        if product.name not in ("mul", "div") or product.args[0] is not product.ret:
            continue
        inner = Individual(part)
        body = inner.searchSubtree(1)
        for other, moved in enumerate(parts):
            if other != place:
                rest = [kept for i, kept in enumerate(parts) if i not in (place, other)]
                yield _summed([[product, add, *moved, *part[1 : body.stop], *part[body.stop :]], *rest], add)


def _multiplied(tree: Individual, begin: int, grammar: Grammar) -> Iterator[list[Node]]:
    """Yield the subtree times a power or an exponential of each dimensionless feature."""
    ret, number = tree[begin].ret, grammar.number
    multiply = grammar.operation("mul", ret, ret, number)
    if ret is number or multiply is None:
        return
    whole = tree[tree.searchSubtree(begin)]
    power = grammar.operation("pow", number, number, grammar.exponent)
    exponential = grammar.operation("exp", number, grammar.logarithm)
    exponent = grammar.free_constant(grammar.exponent) if power else None
    for leaf in grammar.leaves(number):
        if power and exponent and leaf.feature in grammar.positive and leaf.constant is None:
            yield [multiply, *whole, power, leaf, exponent.holding(FIRST_EXPONENT)]
    for leaf in grammar.leaves(grammar.logarithm):
        if exponential and leaf.constant is not None and leaf.feature:
            yield [multiply, *whole, exponential, leaf.holding(FIRST_EXPONENT)]


def _extended(tree: Individual, begin: int, grammar: Grammar) -> Iterator[list[Node]]:
    """Yield the subtree plus each leaf of its type, unless it is part of a longer sum."""
    ret = tree[begin].ret
    add = grammar.operation("add", ret, ret, ret)
    if add is None or ret is grammar.number or _is_term(tree, begin):
        return
    whole = tree[tree.searchSubtree(begin)]
    for leaf in grammar.leaves(ret):
        if leaf.constant is not None:
            yield [add, *whole, leaf.holding(FIRST_SHARE * leaf.start)]


def _is_term(tree: Individual, begin: int) -> bool:
    """Return whether the subtree at `begin` is an argument of a sum."""
    return any(
        node.name == "add" and begin in (place + 1, tree.searchSubtree(place + 1).stop)
        for place, node in enumerate(tree[:begin])
    )
