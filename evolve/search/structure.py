"""The structural requirements of a search: a template with holes, required features, limits of nesting."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from random import Random

from trainlaw.evolve.brackets import (
    BracketTypes,
    check_holes,
    repeats_factor,
    repeats_term,
    scales_whole,
    subtree_ends,
)
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.trees import held_constants, nodes_of
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import InputError, variables

# A variable of a template is a hole if its name begins so.
HOLE = "hole"
_FEATURE = attrgetter("feature")


@dataclass(frozen=True)
class Structure:
    """The structural requirements of one search.

    template : nodes in prefix order, holes as leaves named `hole...`, or empty. nesting : triples (outer,
    inner, most), as in `SearchSettings.nesting_limits`. required : features that every tree keeps.
    brackets : what the holes may hold, where that is limited.
    """

    template: tuple[Node, ...]
    nesting: tuple[tuple[str, str, int], ...]
    required: frozenset[str] = frozenset()
    brackets: tuple[BracketTypes, ...] = ()

    @cached_property
    def by_total(self) -> dict[type, BracketTypes]:
        """The brackets by the types of their sums."""
        return {own.total: own for own in self.brackets}

    @property
    def is_free(self) -> bool:
        """Whether every tree is accepted."""
        return not (self.template or self.nesting or self.required)

    def accepts(self, tree: Sequence[Node]) -> bool:
        """Return whether the tree is the template with its holes filled, and nests no deeper than allowed."""
        if self.is_free:
            return True
        if not self.required.issubset(map(_FEATURE, tree)) or repeats_term(tree, self.by_total):
            return False
        ends = subtree_ends(tree) if self.template else []
        holes = _places_of_holes(tree, self.template, ends) if self.template else []
        if holes is None or (self.brackets and repeats_factor(tree, self.by_total, ends)):
            return False
        for place in holes if self.brackets else ():
            if not scales_whole(tree, self.by_total[tree[place].ret], ends, place):
                return False
        return all(_nests_at_most(tree, *limit) for limit in self.nesting)

    def filled(self, grammar: Grammar, random: Random, most_constants: int) -> Individual:
        """Return the template with a small random tree in each hole."""
        # Each other bracket has a constant at least.
        most = most_constants - max(0, len(self.brackets) - 1)
        return self._with(lambda hole: _grown(hole, grammar, random, most))

    def whole(self, grammar: Grammar) -> Individual:
        """Return the template with all that its brackets offer, at the expected constants."""
        return self._with(lambda hole: grammar.brackets[hole.name].whole())

    def least(self, grammar: Grammar) -> Individual:
        """Return the template with only what its brackets require, at the expected constants."""
        return self._with(lambda hole: grammar.brackets[hole.name].least())

    def _with(self, fill: Callable[[Node], list[Node]]) -> Individual:
        nodes: list[Node] = []
        for node in self.template:
            nodes += fill(node) if _is_hole(node) else [node]
        return Individual(nodes)


def _grown(hole: Node, grammar: Grammar, random: Random, most: int) -> list[Node]:
    """Return a random tree for a hole; most : constants that its bracket may have."""
    bracket = grammar.brackets.get(hole.name)
    return bracket.grow(random, most) if bracket else grammar.grow(hole.ret, random.randint(1, 3), random)


def make_structure(settings: SearchSettings, grammar: Grammar) -> Structure:
    """Return the structure that the settings require.

    Raises InputError for a template outside the grammar, or one without a hole.
    """
    if settings.template is None:
        return Structure((), settings.nesting_limits)
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
    brackets = tuple(grammar.brackets.values())
    required = frozenset().union(*(bracket.required for bracket in brackets))
    structure = Structure(tuple(nodes), settings.nesting_limits, required, brackets)
    if brackets:
        held = len(held_constants(structure.least(grammar)))
        if held > settings.max_constants:
            raise InputError(
                f"expected max_constants of at least {held}, what the brackets require; "
                f"got {settings.max_constants}"
            )
    return structure


def _hole(grammar: Grammar, name: str, ret: type) -> Leaf | None:
    """Return the leaf of a hole: the negative token marks it, and no machine reads it."""
    if not name.startswith(HOLE):
        return None
    bracket = grammar.brackets.get(name)
    return Leaf(-1, bracket.total if bracket else ret, None, name)


def _is_hole(node: Node) -> bool:
    return node.token < 0


def _places_of_holes(tree: Sequence[Node], template: Sequence[Node], ends: Sequence[int]) -> list[int] | None:
    """Return where the template's holes begin in the tree, None where it differs outside them.

    ends : of the tree's subtrees.
    """
    position, holes = 0, []
    for node in template:
        if position >= len(tree) or tree[position].ret is not node.ret:
            return None
        if _is_hole(node):
            holes.append(position)
            position = ends[position]
        elif tree[position].token != node.token:
            return None
        else:
            position += 1
    return holes if position == len(tree) else None


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
