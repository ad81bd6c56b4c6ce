"""Simpler neighbours of a tree, for backward elimination, and round constants of an exact law."""

from collections.abc import Callable, Iterator

from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf
from trainlaw.evolve.machine.arrays import VARIABLE
from trainlaw.evolve.search.variation import Individual
from trainlaw.formulas import Expression, constants
from trainlaw.formulas.expression import with_constants

# Rounding tries these numbers of significant digits, fewest first.
ROUND_DIGITS = (1, 2, 3)


def simpler_trees(tree: Individual, grammar: Grammar) -> Iterator[Individual]:
    """All trees with one operation replaced by an argument of its type, one subtree by a number, one
    weight by one.
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
        number = next((leaf for leaf in grammar.leaves(node.ret) if leaf.feature is None), None)
        if number is not None:
            yield Individual([*tree[:begin], number.holding(number.start), *tree[where.stop :]])


def _without_weight(leaf: Leaf, grammar: Grammar) -> Leaf | None:
    if leaf.feature is None or not isinstance(leaf.constant, float):
        return None
    same = (other for other in grammar.leaves(leaf.ret) if other.feature == leaf.feature)
    return next((other for other in same if other.token & 255 == VARIABLE), None)


def round_exact(
    expression: Expression, loss_of: Callable[[Expression], float], tolerance: float
) -> tuple[Expression, float]:
    """The expression with as many constants rounded as the loss allows, and its loss.

    A rounding stays when the loss is at most `tolerance` above the first one, relative, or below 1e-20:
    the square of what float64 leaves of an exact law.
    """
    values = list(constants(expression))
    first = loss_of(expression)
    allowed = max(first * (1.0 + tolerance), 1e-20)
    for position, value in enumerate(values):
        for digits in (0, *ROUND_DIGITS):
            rounded = 0.0 if digits == 0 else float(f"{value:.{digits - 1}e}")
            trial = with_constants(expression, [*values[:position], rounded, *values[position + 1 :]])
            if loss_of(trial) <= allowed:
                values[position] = rounded
                expression = trial
                break
    return expression, loss_of(expression)
