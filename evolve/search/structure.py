"""The form that the user requires of every formula: a template with holes, and limits of nesting."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.search.trees import nodes_of
from trainlaw.evolve.search.variation import Individual
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import InputError, variables

# A variable of a template is a hole if its name begins so.
HOLE = "hole"


@dataclass(frozen=True)
class Structure:
    """The structural requirements of one search.

    template : nodes in prefix order, holes as leaves named `hole...`, or empty. nesting : triples (outer,
    inner, most), as in `SearchSettings.nesting_limits`.
    """

    template: tuple[Node, ...]
    nesting: tuple[tuple[str, str, int], ...]

    def accepts(self, tree: Sequence[Node]) -> bool:
        """Return whether the tree is the template with its holes filled, and nests no deeper than allowed."""
        if self.template and not _follows(tree, self.template):
            return False
        return all(_nests_at_most(tree, *limit) for limit in self.nesting)

    def filled(self, grammar: Grammar) -> Individual:
        """Return the template with a small random tree in each hole."""
        nodes: list[Node] = []
        for node in self.template:
            nodes += grammar.grow(node.ret, random.randint(1, 3)) if _is_hole(node) else [node]
        return Individual(nodes)


def make_structure(settings: SearchSettings, grammar: Grammar) -> Structure:
    """Return the structure that the settings require.

    Raises InputError for a template outside the grammar, or one without a hole.
    """
    if settings.template is None:
        return Structure((), settings.nesting_limits)
    if not any(name.startswith(HOLE) for name in variables(settings.template)):
        raise InputError("expected a template with a hole, got none: name a variable 'hole'")
    nodes = nodes_of(settings.template, grammar.target, grammar, _hole)
    if nodes is None:
        raise InputError(
            "expected a template within the search's operators, features and units: add what it needs"
        )
    return Structure(tuple(nodes), settings.nesting_limits)


def _hole(name: str, ret: type) -> Leaf | None:
    """Return the leaf of a hole: the negative token marks it, and no machine reads it."""
    return Leaf(-1, ret, None, name) if name.startswith(HOLE) else None


def _is_hole(node: Node) -> bool:
    return node.token < 0


def _follows(tree: Sequence[Node], template: Sequence[Node]) -> bool:
    """Return whether the tree equals the template outside the holes."""
    position = 0
    for node in template:
        if position >= len(tree) or tree[position].ret is not node.ret:
            return False
        if _is_hole(node):
            position = subtree_end(tree, position)
        elif tree[position].token != node.token:
            return False
        else:
            position += 1
    return position == len(tree)


def subtree_end(tree: Sequence[Node], begin: int) -> int:
    """Return the index after the subtree that begins at `begin`."""
    open_arguments = 1
    end = begin
    while open_arguments:
        open_arguments += tree[end].arity - 1
        end += 1
    return end


def _nests_at_most(tree: Sequence[Node], outer: str, inner: str, most: int) -> bool:
    for begin, node in enumerate(tree):
        if node.name == outer and node.arity:
            inside = tree[begin + 1 : subtree_end(tree, begin)]
            if sum(other.name == inner and other.arity > 0 for other in inside) > most:
                return False
    return True
