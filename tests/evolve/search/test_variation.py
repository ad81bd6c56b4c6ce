from collections import Counter

import numpy as np
import pytest
from trainlaw.evolve.grammar import make_grammar
from trainlaw.evolve.machine.moves import MOVE_WEIGHTS, MOVES
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.trees import to_expression
from trainlaw.evolve.search.variation import mate, move, mutate, random_tree, simpler_trees
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import SECOND, FeatureSpec, to_text

from ...rows import each_row
from ..conftest import tree_of

DRAWS = 4000


def is_tree(nodes, ret):
    """Whether the nodes are one whole tree of the type `ret`, every argument of the type of its place."""
    wanted = [ret]
    for node in nodes:
        if not wanted or node.ret is not wanted.pop():
            return False
        wanted += reversed(node.args if node.arity else [])
    return not wanted


def text_of(tree):
    return to_text(to_expression(tree), 3)


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("kind", ["typed_problem", "untyped_problem"])
def test_every_mutation_gives_a_tree_of_the_same_type(name, kind, drawing, request):
    grammar = request.getfixturevalue(kind).grammar
    changed = 0
    for _ in range(300):
        tree = Individual(grammar.grow(grammar.target, 4, drawing))
        before = [(node.token, node.constant) for node in tree]
        after = move(name, tree, grammar, drawing)
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
    found = {text_of(mate(first, other, typed_problem.grammar, drawing)[0]) for _ in range(60)}
    assert "2 * compute_s + 3 * memory_s" in found
    assert "max(3 * memory_s, launch_s) + compute_s" in found
    # Never the whole of either.
    assert all(text != text_of(other) for text in found)


@each_row(
    ("name", "text", "found"),
    [
        ("drop_term", "compute_s + memory_s", {"compute_s", "memory_s"}),
        # Only the side with the type of the whole is kept.
        ("drop_term", "compute_s * ratio", {"compute_s"}),
        ("hoist", "compute_s * ratio + memory_s", {"compute_s * ratio", "compute_s", "memory_s"}),
        # A factor comes to one more term.
        ("widen_factor", "compute_s * ratio + memory_s", {"(compute_s + memory_s) * ratio"}),
        ("widen_factor", "memory_s + compute_s / ratio", {"(compute_s + memory_s) / ratio"}),
    ],
)
def test_a_move_makes_these_trees_and_no_others(name, text, found, typed_problem, drawing):
    tree = tree_of(text, typed_problem)
    assert {text_of(move(name, tree, typed_problem.grammar, drawing)) for _ in range(40)} == found


def test_a_leaf_alone_cannot_be_reduced(typed_problem, drawing):
    tree = tree_of("compute_s", typed_problem)
    for name in ("drop_term", "hoist", "widen_factor", "shrink"):
        (same,) = move(name, tree, typed_problem.grammar, drawing)
        assert same.kind == tree[0].kind


def test_shaken_constants_move_within_their_bounds(typed_problem, drawing):
    tree = tree_of("2 * compute_s * ratio^(-0.5)", typed_problem)
    for _ in range(100):
        shaken = move("shake_constant", tree, typed_problem.grammar, drawing)
        pairs = [
            (old.constant, new) for old, new in zip(tree, shaken, strict=True) if old.constant != new.constant
        ]
        assert len(pairs) == 1
        assert pairs[0][1].rule.lower <= pairs[0][1].constant <= pairs[0][1].rule.upper


def factors_of(grammar, drawing, count):
    """The factors by which a single time is multiplied."""
    time = Individual([next(leaf for leaf in grammar.leaves(grammar.target) if leaf.feature)])
    return [move("wrap", time, grammar, drawing)[2:] for _ in range(count)]


def test_random_trees_are_no_larger_than_allowed(typed_problem, untyped_problem, drawing):
    for problem in (typed_problem, untyped_problem):
        for limit in (1, 3, 9):
            trees = [random_tree(problem.grammar, limit, drawing) for _ in range(60)]
            assert all(len(tree) <= limit and is_tree(tree, problem.grammar.target) for tree in trees)


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


def test_a_shaken_constant_moves_by_about_one_logarithm_or_by_one(typed_problem, untyped_problem, drawing):
    def moved(leaf, grammar):
        return np.array([move("shake_constant", leaf, grammar, drawing)[0].constant for _ in range(DRAWS)])

    logs = np.log(moved(tree_of("3 * compute_s", typed_problem), typed_problem.grammar) / 3.0)
    assert (np.mean(logs), np.std(logs)) == pytest.approx((0.0, 1.0), abs=0.1)
    grammar = untyped_problem.grammar
    signed = moved(Individual([grammar.free_constant(grammar.target).holding(0.0)]), grammar)
    assert (np.mean(signed), np.std(signed)) == pytest.approx((0.0, 1.0), abs=0.06)


def shares(kinds):
    counts = Counter(kinds)
    return pytest.approx({kind: count / counts.total() for kind, count in counts.items()}, abs=0.03)


def test_children_come_from_crossover_or_from_one_or_two_mutations(typed_problem, child_of, drawing):
    """Of a sum of two terms and a power, crossover alone brings the power in; a leaf is never crossed."""
    first = tree_of("2 * compute_s + memory_s", typed_problem)
    other = tree_of("launch_s * ratio^1.75 + launch_s * ratio^1.75", typed_problem)
    leaf = tree_of("compute_s", typed_problem)

    def share_with_power(*parents):
        children = [child_of(*parents, typed_problem.grammar, 99, drawing) for _ in range(DRAWS)]
        return np.mean([any(node.constant == 1.75 for node in child) for child in children])

    # The subtrees of a time's type, of which two have no power.
    times = [place for place, node in enumerate(other) if place and node.ret is other[0].ret]
    with_power = np.mean([other[place].arity > 0 for place in times])
    assert share_with_power(first, other) == pytest.approx(0.4 * with_power, abs=0.03)
    assert share_with_power(leaf, other) == share_with_power(first, leaf) == 0.0


def test_one_mutation_in_four_is_followed_by_another(typed_problem, drawing):
    """A leaf becomes a sum of four terms by two of the moves alone."""
    grammar, leaf = typed_problem.grammar, tree_of("compute_s", typed_problem)
    weights = np.diff([0, *MOVE_WEIGHTS])
    moves = dict(zip(MOVES, weights / weights.sum(), strict=True))
    unchanged = [mutate(leaf, grammar, drawing)[0] for _ in range(DRAWS)]
    share = np.mean([len(tree) == 1 and tree[0].constant == 1.0 for tree in unchanged])
    idle = sum(moves[name] for name in ("replace_node", "shrink", "hoist", "drop_term", "widen_factor"))
    assert share == pytest.approx(idle * (0.75 + 0.25 * idle), abs=0.03)


def test_new_terms_are_as_deep_as_asked(typed_problem, drawing):
    grammar, tree = typed_problem.grammar, tree_of("compute_s + memory_s", typed_problem)
    added = [len(move("add_term", tree, grammar, drawing)) - len(tree) - 1 for _ in range(DRAWS)]
    assert set(added) <= {1, 2, 3, 4, 5, 6, 7}
    # Seven in ten are a leaf; so are three in ten of the others.
    times = [grammar.grow(grammar.target, 3, drawing) for _ in range(DRAWS)]
    numbers = [grammar.grow(grammar.number, 3, drawing) for _ in range(DRAWS)]
    leaves = [np.mean([len(nodes) == 1 for nodes in grown]) for grown in (times, numbers)]
    assert 0.7 + 0.3 * min(leaves) - 0.03 < np.mean(np.array(added) == 1) < 0.7 + 0.3 * max(leaves) + 0.03


@pytest.mark.parametrize(("limit", "most"), [(60, 4), (5, 3), (4, 2), (1, 1)])
def test_the_first_generation_is_mostly_sums(typed_problem, limit, most, drawing):
    count = 3 * DRAWS
    trees = [random_tree(typed_problem.grammar, limit, drawing) for _ in range(count)]
    is_sum = [
        all(node.name == "add" for node in tree if node.arity)
        and len({node.name for node in tree if not node.arity}) == (len(tree) + 1) // 2
        for tree in trees
    ]
    sizes = Counter((len(tree) + 1) // 2 for tree, chosen in zip(trees, is_sum, strict=True) if chosen)
    # Grown trees may be small sums as well.
    assert 0.7 <= np.mean(is_sum) + 0.02
    assert max(sizes) == most
    for terms in range(2, most + 1):
        assert sizes[terms] / count == pytest.approx(0.7 / most, abs=0.03)


def test_sums_of_the_first_generation_have_at_most_ten_terms(specs, drawing):
    features = tuple(FeatureSpec(f"part{i}_s", f"p{i}", SECOND, "a time") for i in range(14))
    grammar = make_grammar(features, specs.target, np.ones((14, 9)), np.ones(9), SearchSettings())
    trees = [random_tree(grammar, 60, drawing) for _ in range(300)]
    sums = [len(tree) // 2 + 1 for tree in trees if {node.name for node in tree if node.arity} == {"add"}]
    assert max(sums) == 10


def test_factors_of_each_kind_are_as_frequent_as_stated(typed_problem, drawing):
    """Of the two features one is positive: a share of it, a power, an exponential, or anything."""
    grammar = typed_problem.grammar
    made = factors_of(grammar, drawing, DRAWS)
    factors = [nodes for nodes in made if nodes[0].ret is grammar.number]
    counts = Counter(nodes[0].name for nodes in factors if len(nodes) > 1)
    # What is grown may be one as well.
    for kind, share in {"div": 0.125, "pow": 0.225, "exp": 0.39}.items():
        assert share - 0.03 < counts[kind] / len(factors) < share + 0.07
    exponents = [nodes[2].constant for nodes in factors if nodes[0].name == "pow" and len(nodes) == 3]
    weights = [nodes[1].constant for nodes in factors if nodes[0].name == "exp" and len(nodes) == 2]
    for values, spread in ((exponents, 0.3), (weights, 0.1)):
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        assert (middle, (high - low) / 1.349 / spread) == pytest.approx((0.0, 1.0), abs=0.15)


@pytest.mark.parametrize("anywhere", [True, False])
def test_shifts_of_shares_are_positive_or_above_the_pole(typed_problem, anywhere, drawing):
    grammar = typed_problem.grammar
    share = grammar.shares["ratio"]
    amount = share.near_amount if anywhere else share.amount
    made = factors_of(grammar, drawing, 4 * DRAWS)
    shifts = np.array([nodes[3].constant for nodes in made if nodes[3:4] and nodes[3].kind == amount.kind])
    logs = np.log(shifts[shifts > 0] / share.whole.start)
    assert (np.mean(shifts > 0), np.mean(logs), np.std(logs)) == pytest.approx((0.6, -1.5, 1.0), abs=0.1)
    below = shifts[shifts < 0] / amount.rule.lower
    assert below.max() <= 1.0
    assert (np.mean(below), np.std(below)) == pytest.approx((0.5, 12**-0.5), abs=0.04)


def test_a_fifth_of_the_wrapped_terms_get_a_share(typed_problem, drawing):
    share = typed_problem.grammar.share
    wrapped = [
        move("wrap", tree_of("compute_s", typed_problem), typed_problem.grammar, drawing)
        for _ in range(DRAWS)
    ]
    assert {True: 0.2, False: 0.8} == shares(tree[0].args[1] is share for tree in wrapped)
