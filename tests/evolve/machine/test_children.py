"""Children as plain Python makes them, and the values by which mutations aim."""

import numpy as np
import pytest
from trainlaw.evolve.machine import aiming, moves
from trainlaw.evolve.machine.batch import Machine
from trainlaw.evolve.machine.children import vary_trees
from trainlaw.evolve.machine.moves import (
    AIM,
    AS_SEARCH,
    CROSS,
    MOST_NODES,
    MOVES,
    MUTATE,
    make_trees,
)
from trainlaw.evolve.search.individuals import Individual, forest_of
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.targeting import NOT_AIMED
from trainlaw.evolve.search.trees import encode
from trainlaw.evolve.search.variation import random_tree, vary
from trainlaw.evolve.settings import EXPONENTIAL, Bracket, Factor, SearchSettings
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec, parse_text

COUNT = 60


@pytest.fixture
def aiming_problem():
    X = np.random.default_rng(3).uniform(1.0, 2.0, (200, 3))
    features = tuple(FeatureSpec(name, name, DIMENSIONLESS, name) for name in "abc")
    target = FeatureSpec("y", "y", DIMENSIONLESS, "y")
    settings = SearchSettings(typed=False, operators=("add", "mul", "div", "sqrt"), screening=0)
    return make_problem(X, X[:, 0] / (X[:, 1] + X[:, 2]), features, target, settings)


@pytest.fixture
def bracket_problem(typed_rows, specs):
    """A template whose first part is scaled by a required power and, at most once, by an exponential."""
    columns, y, groups = typed_rows
    factors = (Factor("ratio", -2.0, 2.0, 0.5), Factor("wide", -2.0, 2.0, 0.5, EXPONENTIAL))
    settings = SearchSettings(
        template=parse_text("max(hole_device, launch_s) + hole_copy"),
        brackets=(
            Bracket("hole_device", (("compute_s", 1.0), ("memory_s", 1.0)), factors, ("compute_s", "ratio")),
            Bracket("hole_copy", (("launch_s", 1.0),)),
        ),
        nesting_limits=(("max", "exp", 1),),
    )
    return make_problem(columns, y, specs.features, specs.target, settings, groups=groups)


@pytest.mark.parametrize("operation", [*range(len(MOVES)), CROSS, MUTATE, AIM, AS_SEARCH])
@pytest.mark.parametrize("kind", ["typed_problem", "aiming_problem", "bracket_problem"])
def test_compiled_children_are_those_of_plain_python(kind, operation, drawing, request):
    problem = request.getfixturevalue(kind)
    if operation == AIM and problem.targeting is NOT_AIMED:
        pytest.skip("a typed search does not aim")
    grammar, structure = problem.grammar, problem.structure
    trees = [
        structure.filled(drawing, 24) if structure.template else random_tree(grammar, 15, drawing)
        for _ in range(COUNT)
    ]
    parents = forest_of(trees, grammar)
    pairs = np.column_stack([np.arange(COUNT), np.arange(COUNT)[::-1]])
    seeds = np.arange(COUNT, dtype=np.uint64)
    expected = vary(
        parents, pairs, seeds, operation=operation, most_nodes=40, targeting=problem.targeting,
        demands=structure.demands,
    )  # fmt: skip
    kinds, values, sizes = np.empty(COUNT * 40, np.int64), np.empty(COUNT * 40), np.empty(COUNT, np.int64)
    # What was called above is compiled.
    request.getfixturevalue("interpreted")
    with np.errstate(all="ignore"):
        total = vary_trees.py_func(
            parents.kinds, parents.values, parents.offsets, parents.affine, pairs, seeds, operation, 40,
            grammar.tables, structure.demands, problem.targeting.aims, problem.targeting.values,
            make_trees(), kinds, values, sizes,
        )  # fmt: skip
    np.testing.assert_array_equal(sizes, expected.sizes)
    np.testing.assert_array_equal(kinds[:total], expected.kinds)
    np.testing.assert_allclose(values[:total], expected.values, rtol=1e-6)


def test_every_node_has_the_values_of_its_subtree(aiming_problem, drawing, request):
    grammar, aims = aiming_problem.grammar, aiming_problem.targeting.aims
    trees = [Individual(grammar.grow(grammar.target, 5, drawing)) for _ in range(20)]
    # What is called here is compiled, and can be called below.
    Machine().values(encode(forest_of(trees, grammar), affine=False), aims.columns.reshape(3, -1))
    request.getfixturevalue("interpreted")
    for tree in trees:
        scratch = make_trees()
        scratch[0].length[0] = len(tree)
        forest = forest_of([tree], grammar)
        scratch[0].kinds[: len(tree)], scratch[0].values[: len(tree)] = forest.kinds, forest.values
        parts = [Individual(tree[tree.searchSubtree(i)]) for i in range(len(tree))]
        expected = Machine().values(
            encode(forest_of(parts, grammar), affine=False), aims.columns.reshape(3, -1)
        )
        found = aiming.node_values(scratch[0], scratch[2], grammar.tables, aims)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


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
