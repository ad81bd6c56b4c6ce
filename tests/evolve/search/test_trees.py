import numpy as np
import pytest
from trainlaw.evolve.grammar import make_grammar
from trainlaw.evolve.search.individuals import forest_of
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.trees import (
    complexities,
    encode,
    from_expression,
    prune,
    structure_keys,
    to_expression,
    untidy,
    with_fitted,
)
from trainlaw.evolve.search.variation import random_tree
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import (
    DIMENSIONLESS,
    FeatureSpec,
    InputError,
    complexity,
    constants,
    evaluate,
    parse_text,
    to_text,
)

from ..conftest import tree_of


@pytest.fixture
def families(child_of):
    """A function that gives random trees and their descendants through crossover and every mutation."""

    def made(drawing, problem, count, generations=4):
        trees = [random_tree(problem.grammar, 40, drawing) for _ in range(count)]
        for _ in range(generations):
            trees = [child_of(trees[i], trees[-i], problem.grammar, 40, drawing) for i in range(count)]
        return trees

    return made


@pytest.mark.parametrize(
    "text",
    [
        "(2 * compute_s + 0.5 * memory_s) * ratio^-0.5 + max(3 * launch_s, 0.25)",
        "compute_s * exp(0.3 * ratio + 2 * wide)",
        "0.125",
        "compute_s / (ratio + 2)",
    ],
)
def test_seeds_come_back_as_they_went_in(typed_problem, text):
    assert to_text(to_expression(tree_of(text, typed_problem))) == text


@pytest.fixture
def grammar_without_powers():
    columns = np.random.default_rng(0).uniform(0.5, 2.0, (40, 2))
    features = tuple(FeatureSpec(name, name, DIMENSIONLESS, name) for name in "ab")
    target = FeatureSpec("y", "y", DIMENSIONLESS, "target")
    settings = SearchSettings(typed=False, operators=("add", "mul", "div", "sqrt"))
    return make_problem(columns, columns[:, 0], features, target, settings).grammar


@pytest.mark.parametrize("text", ["a^1.5", "a^-2", "cube(a)", "(a + b)^-0.5", "a^4"])
def test_powers_without_an_operator_are_products(grammar_without_powers, text):
    columns = {"a": np.linspace(0.5, 2.0, 9), "b": np.linspace(3.0, 1.0, 9)}
    found = evaluate(to_expression(from_expression(parse_text(text), grammar_without_powers)), columns)[0]
    np.testing.assert_allclose(found, evaluate(parse_text(text), columns)[0])


@pytest.mark.parametrize("text", ["a^1.3", "a^b", "a^5", "a^0"])
def test_other_powers_are_no_seeds(grammar_without_powers, text):
    with pytest.raises(InputError, match="expected a seed within the search's operators"):
        from_expression(parse_text(text), grammar_without_powers)


def test_a_difference_with_a_constant_is_a_sum(typed_problem):
    assert to_text(to_expression(tree_of("compute_s * ((ratio - 0.25) / ratio)", typed_problem))) == (
        "compute_s * ((ratio + -0.25) / ratio)"
    )


@pytest.mark.parametrize(
    "text", ["sin(compute_s)", "unknown_s", "compute_s * memory_s", "-2 * compute_s - 1"]
)
def test_seeds_outside_the_grammar_are_refused(typed_problem, text):
    with pytest.raises(InputError, match="seed"):
        tree_of(text, typed_problem)


def test_any_tree_is_found_again_from_its_expression(typed_problem, drawing, families):
    for tree in families(drawing, typed_problem, 60):
        if all(node.constant != 1.0 for node in tree):
            # Where a constant may have several units, factors may change places.
            both = [tree, from_expression(to_expression(tree), typed_problem.grammar)]
            found, expected = (evaluate(to_expression(one), columns_of(typed_problem))[0] for one in both)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_feature_that_never_changes_counts_as_its_value(typed_rows, specs):
    columns, y = typed_rows[0].copy(), typed_rows[1]
    columns[:, 4] = 0.5
    grammar = make_grammar(specs.features, specs.target, columns.T, y, SearchSettings())
    tree = from_expression(parse_text("compute_s * (wide + 2)"), grammar)
    assert to_text(to_expression(tree)) == "2.5 * compute_s"


def test_complexity_is_that_of_the_expression(typed_problem, drawing, families):
    trees = [
        tree for tree in families(drawing, typed_problem, 60) if all(node.constant != 1.0 for node in tree)
    ]
    assert complexities(forest_of(trees, typed_problem.grammar)).tolist() == [
        complexity(to_expression(tree)) for tree in trees
    ]


def test_keys_ignore_order_and_constants_but_not_structure(typed_problem):
    texts = [
        "compute_s + 2 * memory_s + launch_s",
        "launch_s + (memory_s + 3 * compute_s)",
        "compute_s + memory_s",
    ]
    trees = [tree_of(text, typed_problem) for text in texts]
    first, second, third = structure_keys(forest_of(trees, typed_problem.grammar)).tolist()
    assert first == second != third


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("a - b", "b - a", False),
        ("a / b", "b / a", False),
        ("a * (b * c)", "(c * a) * b", True),
        ("a + b * c", "(a + b) * c", False),
        ("max(a, max(b, c))", "max(max(a, b), c)", True),
        ("min(a, max(b, c))", "max(min(a, b), c)", False),
        ("sin(a)", "cos(a)", False),
        ("a + a", "a", False),
        ("a + (b - c)", "(b - c) + a", True),
        ("(a + b) * (a + b)", "(b + a) * (a + b)", True),
    ],
)
def test_keys_know_which_operators_commute(untyped_problem, one, other, alike):
    trees = [tree_of(one, untyped_problem), tree_of(other, untyped_problem)]
    keys = structure_keys(forest_of(trees, untyped_problem.grammar))
    assert (keys[0] == keys[1]) == alike


def test_programs_lie_end_to_end(typed_problem):
    trees = [
        tree_of(text, typed_problem) for text in ("2 * compute_s", "3 * memory_s * ratio^0.5 + launch_s")
    ]
    programs = encode(forest_of(trees, typed_problem.grammar))
    assert programs.amount == 2
    assert programs.offsets.tolist() == [0, len(trees[0]), len(trees[0]) + len(trees[1])]
    assert programs.constant_offsets.tolist() == [0, 1, 4]
    assert programs.theta.tolist() == [2.0, 3.0, 0.5, 1.0]
    assert programs.lower.tolist() == [0.0, 0.0, -2.0, 0.0]
    assert programs.scaling.tolist() == [True, True, False, True]


def test_fitted_constants_come_back_in_their_places(untyped_problem, drawing, families):
    forest = forest_of(families(drawing, untyped_problem, 30), untyped_problem.grammar)
    programs = encode(forest)
    again = encode(forest_of(with_fitted(forest, programs.theta + 1.0).trees(), untyped_problem.grammar))
    np.testing.assert_array_equal(again.theta, programs.theta + 1.0)
    np.testing.assert_array_equal(again.tokens, programs.tokens)


def test_weights_of_one_are_not_written(untyped_problem):
    tree = tree_of("a * 1.5 + 1 * b", untyped_problem)
    assert len(constants(to_expression(tree))) == 1


def columns_of(problem):
    return dict(zip([spec.name for spec in problem.features], problem.rows.columns, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(2 * compute_s + 0 * memory_s) * ratio + 3 * launch_s", "2 * compute_s * ratio + 3 * launch_s"),
        ("max(compute_s, 0 * memory_s)", "compute_s"),
        ("0 * compute_s * ratio + launch_s", "launch_s"),
        ("0 * compute_s / ratio + launch_s", "launch_s"),
        (
            "compute_s * (2 * 3 + exp(0.5 * ratio)) + max(memory_s, 0)",
            "compute_s * (6 + exp(0.5 * ratio)) + memory_s",
        ),
        ("2 * compute_s + memory_s", "2 * compute_s + memory_s"),
    ],
)
def test_pruning_keeps_the_values(typed_problem, text, expected):
    tree = tree_of(text, typed_problem)
    pruned = prune(tree, typed_problem.grammar)
    assert to_text(to_expression(pruned)) == expected
    columns = columns_of(typed_problem)
    values, others = (evaluate(to_expression(item), columns)[0] for item in (tree, pruned))
    np.testing.assert_allclose(others, values, rtol=1e-15)


def test_what_counts_as_tidy_is_left_alone_by_pruning(typed_problem, untyped_problem, drawing, families):
    for problem in (typed_problem, untyped_problem):
        fitted = problem.fit(families(drawing, problem, 200), 5)
        tidy = [tree for tree in fitted if not tree.untidy]
        assert 20 < len(tidy) < len(fitted)
        for tree in tidy:
            assert [node.token for node in prune(tree, problem.grammar)] == [node.token for node in tree]


def test_a_zero_is_untidy_only_at_the_end_of_its_range(typed_problem):
    # An exponent of zero lies inside its range and may move again.
    trees = [
        tree_of(text, typed_problem)
        for text in (
            "compute_s * ratio^0",
            "compute_s + 0 * memory_s",
            "compute_s + memory_s",
            "compute_s * (2 * 3)",
        )
    ]
    programs = encode(forest_of(trees, typed_problem.grammar))
    assert untidy(programs, programs.theta).tolist() == [False, True, False, True]
