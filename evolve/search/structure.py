"""The structural requirements of a search: a template with holes, required features, limits of nesting."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from random import Random

import numpy as np
from trainlaw.evolve.brackets import BracketTypes, check_holes
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.machine.acceptance import HOLE_TOKEN, Demands, accept_trees, make_demands
from trainlaw.evolve.machine.moves import make_trees
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.trees import held_constants, nodes_of
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import InputError, variables

# A variable of a template is a hole if its name begins so.
HOLE = "hole"


@dataclass(frozen=True)
class Structure:
    """The structural requirements of one search.

    grammar : of its trees. demands : structure of every tree. template : nodes in prefix order, holes as
    leaves named `hole...`, or empty. brackets : terms and factors of the holes, where these are limited.
    """

    grammar: Grammar
    demands: Demands
    template: tuple[Node, ...] = ()
    brackets: tuple[BracketTypes, ...] = ()

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

    def filled(self, random: Random, most_constants: int) -> Individual:
        """Return the template with a small random tree in each hole."""
        # Each other bracket has a constant at least.
        most = most_constants - max(0, len(self.brackets) - 1)

        def grown(hole: Node) -> list[Node]:
            bracket = self.grammar.brackets.get(hole.name)
            if bracket:
                return bracket.grow(random, most)
            return self.grammar.grow(hole.ret, random.randint(1, 3), random)

        return self._with(grown)

    def whole(self) -> Individual:
        """Return the template with all that its brackets offer, at the expected constants."""
        return self._with(lambda hole: self.grammar.brackets[hole.name].whole())

    def least(self) -> Individual:
        """Return the template with the required terms and factors alone, at the expected constants."""
        return self._with(lambda hole: self.grammar.brackets[hole.name].least())

    def _with(self, fill: Callable[[Node], list[Node]]) -> Individual:
        nodes: list[Node] = []
        for node in self.template:
            nodes += fill(node) if node.token == HOLE_TOKEN else [node]
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
    if settings.brackets:
        check_holes(settings.brackets, holes)
    nodes = nodes_of(settings.template, grammar.target, grammar, partial(_hole, grammar))
    if nodes is None:
        raise InputError(
            "expected a template within the search's operators, features and units: add what it needs"
        )
    demands = _demands(settings, grammar, nodes)
    structure = Structure(grammar, demands, tuple(nodes), tuple(grammar.brackets.values()))
    if settings.brackets:
        held = len(held_constants(structure.least()))
        if held > settings.max_constants:
            raise InputError(
                f"expected max_constants of at least {held}, what the brackets require; "
                f"got {settings.max_constants}"
            )
    return structure


def _demands(settings: SearchSettings, grammar: Grammar, template: Sequence[Node]) -> Demands:
    """Return the demands of the settings, features as columns and operators as tokens."""
    types, brackets = grammar.type_numbers, list(grammar.brackets.values())
    columns = {node.feature: node.token >> 8 for node in grammar.nodes if node.feature}
    tokens = {node.name: node.token for node in grammar.nodes if node.arity}
    places = {bracket.total: place for place, bracket in enumerate(brackets)}
    bracket = [places.get(ret, -1) for ret in types]
    required = frozenset().union(*(bracket.required for bracket in brackets))
    # An operator that the grammar does not have is nowhere inside another.
    limits = [limit for limit in settings.nesting_limits if {*limit[:2]} <= {*tokens}]
    return make_demands(
        template=[node.token for node in template],
        template_types=[types[node.ret] for node in template],
        required=sorted(columns[name] for name in required),
        bracket=bracket,
        overall=[columns[name] for bracket in brackets for name in sorted(bracket.overall)],
        overall_start=[*accumulate((len(bracket.overall) for bracket in brackets), initial=0)],
        outer=[tokens[outer] for outer, _, _ in limits],
        inner=[tokens[inner] for _, inner, _ in limits],
        most=[most for _, _, most in limits],
    )


def _hole(grammar: Grammar, name: str, ret: type) -> Leaf | None:
    """Return the leaf of a hole: the negative token marks it, and no machine reads it."""
    if not name.startswith(HOLE):
        return None
    bracket = grammar.brackets.get(name)
    return Leaf(HOLE_TOKEN, bracket.total if bracket else ret, None, name)
