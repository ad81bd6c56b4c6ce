"""The structural requirements of a search: a template with holes, required features, limits of nesting."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.machine.acceptance import HOLE_TOKEN, Demands, accept_trees, make_demands
from trainlaw.evolve.machine.moves import make_trees
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.trees import nodes_of
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import InputError, variables

# A variable of a template is a hole if its name begins so.
HOLE = "hole"


@dataclass(frozen=True)
class Structure:
    """The structural requirements of one search.

    grammar : of its trees. demands : structure of every tree. template : nodes in prefix order, holes as
    leaves named `hole...`, or empty.
    """

    grammar: Grammar
    demands: Demands
    template: tuple[Node, ...] = ()

    def accepts(self, tree: Sequence[Node]) -> bool:
        """Return whether the tree is the template with its holes filled, and nests no deeper than allowed."""
        if self.demands.is_none:
            return True
        kinds, accepted = np.array([node.kind for node in tree]), np.zeros(1, np.bool_)
        accept_trees(
            kinds,
            np.zeros(kinds.size),
            np.array([0, kinds.size]),
            self.grammar.tables,
            self.demands,
            make_trees(),
            accepted,
        )
        return bool(accepted[0])

    def filled(self, random: Random) -> Individual:
        """Return the template with a small random tree in each hole."""
        nodes: list[Node] = []
        for node in self.template:
            is_hole = node.token == HOLE_TOKEN
            nodes += self.grammar.grow(node.ret, random.randint(1, 3), random) if is_hole else [node]
        return Individual(nodes)


def make_structure(settings: SearchSettings, grammar: Grammar) -> Structure:
    """Return the structure that the settings require.

    Raises InputError for a template outside the grammar, or one without a hole.
    """
    if settings.template is None:
        return Structure(grammar, _demands(settings, grammar, ()))
    holes = [name for name in variables(settings.template) if name.startswith(HOLE)]
    if not holes:
        raise InputError("expected a template with a hole, got none: name a variable 'hole'")
    nodes = nodes_of(settings.template, grammar.target, grammar, _hole)
    if nodes is None:
        raise InputError(
            "expected a template within the search's operators, features and units: add what it needs"
        )
    return Structure(grammar, _demands(settings, grammar, nodes), tuple(nodes))


def _demands(settings: SearchSettings, grammar: Grammar, template: Sequence[Node]) -> Demands:
    """Return the demands of the settings, operators as tokens."""
    types = grammar.type_numbers
    tokens = {node.name: node.token for node in grammar.nodes if node.arity}
    # An operator that the grammar does not have is nowhere inside another.
    limits = [limit for limit in settings.nesting_limits if {*limit[:2]} <= {*tokens}]
    return make_demands(
        template=[node.token for node in template],
        template_types=[types[node.ret] for node in template],
        outer=[tokens[outer] for outer, _, _ in limits],
        inner=[tokens[inner] for _, inner, _ in limits],
        most=[most for _, _, most in limits],
    )


def _hole(name: str, ret: type) -> Leaf | None:
    """Return the leaf of a hole: the negative token marks it, and no machine reads it."""
    return Leaf(HOLE_TOKEN, ret, None, name) if name.startswith(HOLE) else None
