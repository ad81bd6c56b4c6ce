"""The structural requirements of a search: a template with holes, required features, limits of nesting."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.trees import nodes_of
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import InputError, variables

# A variable of a template is a hole if its name begins so.
HOLE = "hole"
# The token of a hole, which no machine reads.
HOLE_TOKEN = -1


class Nesting(NamedTuple):
    """How often an operator may be inside another one; operators as tokens."""

    outer: int
    inner: int
    most: int


@dataclass(frozen=True)
class Structure:
    """The structural requirements of one search.

    grammar : of its trees. template : nodes in prefix order, holes as leaves named `hole...`, or empty.
    nesting : limits of every tree.
    """

    grammar: Grammar
    template: tuple[Node, ...] = ()
    nesting: tuple[Nesting, ...] = ()

    @property
    def demands_any(self) -> bool:
        """Whether there is a tree that is not accepted."""
        return bool(self.template or self.nesting)

    def accepts(self, tree: Sequence[Node]) -> bool:
        """Return whether the tree is the template with its holes filled, and nests no deeper than allowed."""
        if not self.demands_any:
            return True
        ends = _ends(tree)
        return not any(_is_too_deep(tree, ends, limit) for limit in self.nesting) and (
            not self.template or self._is_filled_template(tree, ends)
        )

    def _is_filled_template(self, tree: Sequence[Node], ends: Sequence[int]) -> bool:
        place = 0
        for node in self.template:
            if place >= len(tree) or tree[place].ret is not node.ret:
                return False
            is_hole = node.token == HOLE_TOKEN
            if not is_hole and tree[place].token != node.token:
                return False
            place = ends[place] if is_hole else place + 1
        return place == len(tree)

    def filled(self, random: Random) -> Individual:
        """Return the template with a small random tree in each hole."""
        nodes: list[Node] = []
        for node in self.template:
            is_hole = node.token == HOLE_TOKEN
            nodes += self.grammar.grow(node.ret, random.randint(1, 3), random) if is_hole else [node]
        return Individual(nodes)


def _ends(tree: Sequence[Node]) -> list[int]:
    """Return the place after the subtree of each node."""
    ends = [0] * len(tree)
    for place in range(len(tree) - 1, -1, -1):
        end = place + 1
        for _ in range(tree[place].arity):
            end = ends[end]
        ends[place] = end
    return ends


def _is_too_deep(tree: Sequence[Node], ends: Sequence[int], limit: Nesting) -> bool:
    """Return whether an operator is inside another more often than a limit allows."""
    return any(
        sum(inner.token == limit.inner for inner in tree[place + 1 : ends[place]]) > limit.most
        for place, node in enumerate(tree)
        if node.token == limit.outer
    )


def make_structure(settings: SearchSettings, grammar: Grammar) -> Structure:
    """Return the structure that the settings require.

    Raises InputError for a template outside the grammar, or one without a hole.
    """
    tokens = {node.name: node.token for node in grammar.nodes if node.arity}
    # An operator that the grammar does not have is nowhere inside another.
    nesting = tuple(
        Nesting(tokens[outer], tokens[inner], most)
        for outer, inner, most in settings.nesting_limits
        if {outer, inner} <= {*tokens}
    )
    if settings.template is None:
        return Structure(grammar, nesting=nesting)
    holes = [name for name in variables(settings.template) if name.startswith(HOLE)]
    if not holes:
        raise InputError("expected a template with a hole, got none: name a variable 'hole'")
    nodes = nodes_of(
        settings.template,
        grammar.target,
        grammar,
        lambda name, ret: Leaf(HOLE_TOKEN, ret, None, name) if name.startswith(HOLE) else None,
    )
    if nodes is None:
        raise InputError(
            "expected a template within the search's operators, features and units: add what it needs"
        )
    return Structure(grammar, tuple(nodes), nesting)
