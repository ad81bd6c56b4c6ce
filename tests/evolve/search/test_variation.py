from collections import Counter

import numpy as np
import pytest
from trainlaw.evolve.grammar import Grammar, make_grammar
from trainlaw.evolve.leaves import Leaf, Rule
from trainlaw.evolve.machine.arrays import CONSTANT
from trainlaw.evolve.search import variation
from trainlaw.evolve.search.trees import from_expression, to_expression
from trainlaw.evolve.search.variation import (
    MOVE_WEIGHTS,
    MOVES,
    Individual,
    add_term,
    cross,
    drop_term,
    hoist,
    make_factor,
    make_share_of,
    random_tree,
    replace_subtree,
    shake_constant,
    simpler_trees,
    swap_leaf,
    widen_factor,
    wrap,
)
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import SECOND, FeatureSpec, infer_unit, parse_text, to_text


def is_tree(nodes, ret):
    """Whether the nodes are one whole tree of the type `ret`, every argument of the type of its place."""
    wanted = [ret]
    for node in nodes:
        if not wanted or node.ret is not wanted.pop():
            return False
        wanted += reversed(node.args if node.arity else [])
    return not wanted


def tree_of(text, problem):
    return from_expression(parse_text(text), problem.grammar)


def text_of(tree):
    return to_text(to_expression(tree), 3)


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
@pytest.mark.parametrize("kind", ["typed_problem", "untyped_problem"])
def test_every_mutation_gives_a_tree_of_the_same_type(move, kind, drawing, request):
    grammar = request.getfixturevalue(kind).grammar
    changed = 0
    for _ in range(80):
        tree = random_tree(grammar, 30, drawing)
        before = [(node.token, node.constant) for node in tree]
        after = move(Individual(list(tree)), grammar, drawing)
        assert isinstance(after, Individual)
        assert is_tree(after, grammar.target)
        changed += before != [(node.token, node.constant) for node in after]
    assert changed > 0


@pytest.mark.parametrize("kind", ["typed_problem", "untyped_problem"])
def test_children_have_the_type_and_at_most_the_size(kind, child_of, drawing, request):
    grammar = request.getfixturevalue(kind).grammar
    trees = [random_tree(grammar, 21, drawing) for _ in range(60)]
    for generation in range(4):
        trees = [
            child_of(trees[i], trees[(7 * i + generation) % 60], grammar, 21, drawing) for i in range(60)
        ]
        assert all(is_tree(tree, grammar.target) and len(tree) <= 21 for tree in trees)


def test_parents_stay_as_they_are(typed_problem, child_of, drawing):
    first, second = (random_tree(typed_problem.grammar, 30, drawing) for _ in range(2))
    kept = list(first), list(second)
    for _ in range(50):
        child_of(first, second, typed_problem.grammar, 60, drawing)
    assert (list(first), list(second)) == kept


def test_a_child_that_is_too_large_is_the_first_parent(typed_problem, child_of, drawing):
    first = tree_of("compute_s + memory_s + launch_s", typed_problem)
    children = [child_of(first, first, typed_problem.grammar, len(first), drawing) for _ in range(100)]
    assert all(len(child) <= len(first) for child in children)
    assert any(list(child) == list(first) and child is not first for child in children)


def test_crossover_takes_a_subtree_of_the_same_type_from_the_other(typed_problem, drawing):
    first = tree_of("2 * compute_s + compute_s", typed_problem)
    other = tree_of("max(3 * memory_s, launch_s) + launch_s", typed_problem)
    found = {
        text_of(cross(Individual(list(first)), other, typed_problem.grammar, drawing)) for _ in range(60)
    }
    assert "2 * compute_s + 3 * memory_s" in found
    assert "max(3 * memory_s, launch_s) + compute_s" in found
    # Never the whole of either.
    assert all(text != text_of(other) for text in found)


def test_a_term_is_added_and_dropped(typed_problem, drawing):
    tree = tree_of("compute_s + memory_s", typed_problem)
    assert all(len(add_term(Individual(list(tree)), typed_problem.grammar, drawing)) >= 5 for _ in range(20))
    dropped = {text_of(drop_term(Individual(list(tree)), typed_problem.grammar, drawing)) for _ in range(20)}
    assert dropped == {"compute_s", "memory_s"}


def test_only_the_side_with_the_type_of_the_whole_is_kept(typed_problem, drawing):
    tree = tree_of("compute_s * ratio", typed_problem)
    dropped = {text_of(drop_term(Individual(list(tree)), typed_problem.grammar, drawing)) for _ in range(20)}
    assert dropped == {"compute_s"}


def test_a_leaf_alone_cannot_be_reduced(typed_problem, drawing):
    tree = tree_of("compute_s", typed_problem)
    for move in (drop_term, hoist, widen_factor):
        assert list(move(Individual(list(tree)), typed_problem.grammar, drawing)) == list(tree)


def test_hoisting_keeps_a_part_of_the_target_s_type(typed_problem, drawing):
    tree = tree_of("compute_s * ratio + memory_s", typed_problem)
    found = {text_of(hoist(Individual(list(tree)), typed_problem.grammar, drawing)) for _ in range(40)}
    assert found == {"compute_s * ratio", "compute_s", "memory_s"}


def test_a_factor_comes_to_one_more_term(typed_problem, drawing):
    tree = tree_of("compute_s * ratio + memory_s", typed_problem)
    assert text_of(widen_factor(tree, typed_problem.grammar, drawing)) == "(compute_s + memory_s) * ratio"
    tree = tree_of("memory_s + compute_s / ratio", typed_problem)
    assert text_of(widen_factor(tree, typed_problem.grammar, drawing)) == "(compute_s + memory_s) / ratio"


def test_wrapping_multiplies_by_a_pure_number(typed_problem, drawing, specs):
    units = {spec.name: spec.unit for spec in specs.features}
    for _ in range(60):
        tree = wrap(tree_of("compute_s", typed_problem), typed_problem.grammar, drawing)
        assert tree[0].name == "mul"
        assert infer_unit(to_expression(tree), units) in (specs.target.unit, None)


def test_swapped_leaves_are_of_the_same_type(typed_problem, drawing):
    tree = tree_of("compute_s * ratio", typed_problem)
    found = {text_of(swap_leaf(Individual(list(tree)), typed_problem.grammar, drawing)) for _ in range(60)}
    assert len(found) > 10
    assert not any(text.endswith("_s") for text in found)


def test_shaken_constants_move_within_their_bounds(typed_problem, drawing):
    tree = tree_of("2 * compute_s * ratio^(-0.5)", typed_problem)
    for _ in range(100):
        shaken = shake_constant(Individual(list(tree)), typed_problem.grammar, drawing)
        pairs = [
            (old.constant, new) for old, new in zip(tree, shaken, strict=True) if old.constant != new.constant
        ]
        assert len(pairs) == 1
        assert pairs[0][1].rule.lower <= pairs[0][1].constant <= pairs[0][1].rule.upper


def test_factors_are_dimensionless_trees(typed_problem, untyped_problem, drawing):
    for grammar in (typed_problem.grammar, untyped_problem.grammar):
        for _ in range(100):
            assert is_tree(make_factor(grammar, drawing), grammar.number)
    grammar = typed_problem.grammar
    assert all(is_tree(make_share_of(grammar, drawing), grammar.share) for _ in range(20))


def test_a_grouped_constant_is_a_factor(typed_rows, specs, drawing):
    columns, y, _ = typed_rows
    grammar = make_grammar(
        specs.features, specs.target, columns.T, y, SearchSettings(), levels={"harness": ("a", "b")}
    )
    factors = [make_factor(grammar, drawing) for _ in range(100)]
    share = np.mean([len(factor) == 1 and isinstance(factor[0].constant, tuple) for factor in factors])
    assert share == pytest.approx(0.3, abs=0.12)


def test_random_trees_are_no_larger_than_allowed(typed_problem, untyped_problem, drawing):
    for problem in (typed_problem, untyped_problem):
        for limit in (1, 3, 9):
            trees = [random_tree(problem.grammar, limit, drawing) for _ in range(60)]
            assert all(len(tree) <= limit and is_tree(tree, problem.grammar.target) for tree in trees)


def test_a_new_tree_has_no_results_yet(typed_problem):
    tree = tree_of("compute_s + memory_s", typed_problem)
    assert (tree.loss, tree.score, tree.complexity, tree.affine) == (
        float("inf"),
        float("inf"),
        0,
        (0.0, 1.0),
    )
    assert tree.untidy and tree.cases is None


def test_every_mutation_has_a_frequency():
    assert len(MOVES) == len(MOVE_WEIGHTS)
    assert min(MOVE_WEIGHTS) > 0


def test_simpler_neighbours_are_smaller_or_have_one_weight_less(typed_problem, drawing):
    for _ in range(30):
        tree = random_tree(typed_problem.grammar, 25, drawing)
        constants = sum(node.constant is not None for node in tree)
        for simpler in simpler_trees(tree, typed_problem.grammar):
            assert is_tree(simpler, typed_problem.grammar.target)
            fewer = sum(node.constant is not None for node in simpler) == constants - 1
            assert len(simpler) < len(tree) or fewer


def test_simpler_neighbours_are_all_of_them(typed_problem):
    tree = tree_of("(2 * compute_s + memory_s) * (3 * ratio)", typed_problem)
    neighbours = [text_of(simpler) for simpler in simpler_trees(tree, typed_problem.grammar)]
    for expected in (
        "2 * compute_s + memory_s",
        "2 * compute_s * (3 * ratio)",
        "memory_s * (3 * ratio)",
        "(2 * compute_s + memory_s) * ratio",
    ):
        assert expected in neighbours


def test_a_shaken_constant_moves_by_about_one_logarithm(typed_problem, drawing):
    leaf = Leaf(CONSTANT, int, None, "number", constant=3.0, rule=Rule(0.0, np.inf), start=1.0)
    moved = [
        shake_constant(Individual([leaf]), typed_problem.grammar, drawing)[0].constant for _ in range(2000)
    ]
    logs = np.log(np.array(moved) / 3.0)
    assert (np.mean(logs), np.std(logs)) == pytest.approx((0.0, 1.0), abs=0.1)


DRAWS = 4000


def shares(kinds):
    counts = Counter(kinds)
    return pytest.approx({kind: count / counts.total() for kind, count in counts.items()}, abs=0.03)


@pytest.fixture
def depths(monkeypatch):
    """The depths asked for, where the grammar grows a leaf for whatever it is asked."""
    asked = []

    def grow(grammar, ret, depth, random):
        asked.append(depth)
        return [grammar.leaves(ret)[0]]

    monkeypatch.setattr(Grammar, "grow", grow)
    return asked


def test_children_come_from_crossover_or_from_one_or_two_mutations(
    typed_problem, child_of, monkeypatch, drawing
):
    made = []
    monkeypatch.setattr(variation, "cross", lambda tree, other, grammar, random: made.append("cross") or tree)
    monkeypatch.setattr(variation, "MOVES", [lambda tree, grammar, random: made.append("move") or tree])
    monkeypatch.setattr(variation, "MOVE_WEIGHTS", [1])
    leaf = tree_of("compute_s", typed_problem)

    def ways(*sizes):
        for _ in range(DRAWS):
            made.clear()
            child_of(*(Individual(list(leaf) * size) for size in sizes), typed_problem.grammar, 9, drawing)
            yield tuple(made)

    both = {("cross",): 0.4, ("move",): 0.45, ("move", "move"): 0.15}
    assert both == shares(ways(2, 2))
    for sizes in ((1, 2), (2, 1)):
        assert {("move",): 0.75, ("move", "move"): 0.25} == shares(ways(*sizes))


def test_new_parts_have_the_sizes_that_are_asked_for(typed_problem, depths, drawing):
    grammar, tree = typed_problem.grammar, tree_of("compute_s + memory_s", typed_problem)
    for _ in range(DRAWS):
        add_term(Individual(list(tree)), grammar, drawing)
    assert {1: 0.7, 3: 0.3} == shares(depths)
    depths.clear()
    for _ in range(DRAWS):
        replace_subtree(Individual(list(tree)), grammar, drawing)
    assert dict.fromkeys((1, 2, 3), 1 / 3) == shares(depths)


@pytest.mark.parametrize(("limit", "most"), [(60, 4), (5, 3), (4, 2), (1, 1)])
def test_the_first_generation_is_mostly_sums(typed_problem, depths, limit, most, drawing):
    count = 3 * DRAWS
    sizes = [(len(random_tree(typed_problem.grammar, limit, drawing)) + 1) // 2 for _ in range(count)]
    assert dict.fromkeys((1, 2, 3, 4, 5), 0.2) == shares(depths)
    assert len(depths) / count == pytest.approx(0.3, abs=0.03)
    of_sums = {terms: 0.7 / most for terms in range(1, most + 1)}
    assert of_sums | {1: of_sums[1] + 0.3} == shares(sizes)


def test_sums_of_the_first_generation_have_at_most_ten_terms(specs, drawing):
    features = tuple(FeatureSpec(f"part{i}_s", f"p{i}", SECOND, "a time") for i in range(14))
    grammar = make_grammar(features, specs.target, np.ones((14, 9)), np.ones(9), SearchSettings())
    trees = [random_tree(grammar, 60, drawing) for _ in range(300)]
    sums = [len(tree) // 2 + 1 for tree in trees if {node.name for node in tree if node.arity} == {"add"}]
    assert max(sums) == 10


def kind_of_factor(nodes):
    return nodes[0].name if len(nodes) > 1 else "grown"


@pytest.mark.usefixtures("depths")
def test_factors_of_each_kind_are_as_frequent_as_stated(typed_problem, drawing):
    """Of the two features one is positive: a share of it, a power, an exponential, or anything."""
    factors = [make_factor(typed_problem.grammar, drawing) for _ in range(DRAWS)]
    kinds = {"div": 0.125, "pow": 0.225, "exp": 0.39, "grown": 0.26}
    assert kinds == shares(map(kind_of_factor, factors))
    for kind, spread in (("pow", 0.3), ("exp", 0.1)):
        values = [nodes[-1].constant for nodes in factors if nodes[0].name == kind]
        assert (np.mean(values), np.std(values) / spread) == pytest.approx((0.0, 1.0), abs=0.08)


@pytest.mark.parametrize("anywhere", [True, False])
def test_shifts_of_shares_are_positive_or_above_the_pole(typed_problem, depths, anywhere, drawing):
    grammar = typed_problem.grammar
    share = grammar.shares["ratio"]
    if anywhere:
        made = [
            nodes for nodes in (make_factor(grammar, drawing) for _ in range(4 * DRAWS)) if len(nodes) == 5
        ]
        least = share.near_amount.rule.lower
    else:
        made = [make_share_of(grammar, drawing) for _ in range(DRAWS)]
        least = share.amount.rule.lower
    shifts = np.array([nodes[3].constant for nodes in made])
    logs = np.log(shifts[shifts > 0] / share.whole.start)
    assert (np.mean(shifts > 0), np.mean(logs), np.std(logs)) == pytest.approx((0.6, -1.5, 1.0), abs=0.1)
    below = shifts[shifts < 0] / least
    assert below.max() <= 1.0
    assert (np.mean(below), np.std(below)) == pytest.approx((0.5, 12**-0.5), abs=0.04)


def test_a_fifth_of_the_wrapped_terms_get_a_share(typed_problem, drawing):
    share = typed_problem.grammar.share
    wrapped = [
        wrap(tree_of("compute_s", typed_problem), typed_problem.grammar, drawing) for _ in range(DRAWS)
    ]
    assert {True: 0.2, False: 0.8} == shares(tree[0].args[1] is share for tree in wrapped)


def test_a_shaken_constant_of_either_sign_also_moves_by_about_one(typed_problem, drawing):
    leaf = Leaf(CONSTANT, int, None, "number", constant=0.0, rule=Rule(), start=1.0)
    moved = [
        shake_constant(Individual([leaf]), typed_problem.grammar, drawing)[0].constant for _ in range(DRAWS)
    ]
    assert (np.mean(moved), np.std(moved)) == pytest.approx((0.0, 1.0), abs=0.06)
