"""Children as plain Python makes them."""

import numpy as np
import pytest
from trainlaw.evolve.machine import moves
from trainlaw.evolve.machine.moves import AS_SEARCH, CROSS, MOST_NODES, MOVES, MUTATE, make_trees, vary_trees
from trainlaw.evolve.search import variation
from trainlaw.evolve.search.individuals import forest_of
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.variation import random_tree, vary
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import parse_text

COUNT = 60


@pytest.fixture
def template_problem(typed_rows, specs):
    """A template with two holes, where no exponential is inside another maximum twice."""
    columns, y, groups = typed_rows
    settings = SearchSettings(
        template=parse_text("max(hole_device, launch_s) + hole_copy"), nesting_limits=(("max", "exp", 1),)
    )
    return make_problem(columns, y, specs.features, specs.target, settings, groups=groups)


@pytest.mark.parametrize("operation", [*range(len(MOVES)), CROSS, MUTATE, AS_SEARCH])
@pytest.mark.parametrize("kind", ["typed_problem", "untyped_problem", "template_problem"])
def test_compiled_children_are_those_of_plain_python(kind, operation, drawing, request, monkeypatch):
    problem = request.getfixturevalue(kind)
    grammar, structure = problem.grammar, problem.structure
    trees = [
        structure.filled(drawing) if structure.template else random_tree(grammar, 15, drawing)
        for _ in range(COUNT)
    ]
    parents = forest_of(trees, grammar)
    pairs = np.column_stack([np.arange(COUNT), np.arange(COUNT)[::-1]])
    seeds = np.arange(COUNT, dtype=np.uint64)
    expected = vary(parents, pairs, seeds, operation=operation, most_nodes=40)
    # What was called above is compiled.
    request.getfixturevalue("interpreted")
    monkeypatch.setattr(variation, "vary_trees", vary_trees.py_func)
    with np.errstate(all="ignore"):
        plain = vary(parents, pairs, seeds, operation=operation, most_nodes=40)
    np.testing.assert_array_equal(plain.sizes, expected.sizes)
    np.testing.assert_array_equal(plain.kinds, expected.kinds)
    np.testing.assert_allclose(plain.values, expected.values, rtol=1e-6)


def test_what_does_not_fit_into_the_scratch_is_left_out(interpreted):
    tree, other, _ = make_trees()
    tree.length[0] = other.length[0] = 0
    for _ in range(MOST_NODES + 5):
        moves.append(tree, 1, 0.5)
    moves.append(other, 2, 0.5)
    moves.put(tree, 3, 3, other, 0, 1)
    assert tree.length[0] == MOST_NODES and tree.kinds.tolist() == [1] * MOST_NODES
    moves.put(tree, 3, 5, other, 0, 1)
    assert tree.length[0] == MOST_NODES - 1 and tree.kinds[:5].tolist() == [1, 1, 1, 2, 1]
