import numpy as np
import pytest
from trainlaw.evolve.grammar import make_grammar, type_unit
from trainlaw.evolve.search.trees import complexities, from_expression, prune, structure_keys, to_expression
from trainlaw.evolve.search.variation import Individual, random_tree, vary
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import (
    FeatureSpec,
    InputError,
    Unit,
    UnknownNameError,
    complexity,
    evaluate,
    infer_unit,
    parse_text,
    to_text,
    variables,
)


def families(problem, count, generations=4):
    """Random trees and their descendants through crossover and every mutation."""
    trees = [random_tree(problem.grammar, 40) for _ in range(count)]
    for _ in range(generations):
        trees = [vary(trees[i], trees[-i], problem.grammar, 40) for i in range(count)]
    return trees


def test_whatever_is_born_has_the_unit_of_the_target(typed_problem, drawing, specs):
    units = {spec.name: spec.unit for spec in typed_problem.features}
    for tree in families(typed_problem, 150):
        assert infer_unit(to_expression(tree), units) in (specs.target.unit, None)


def test_raw_quantities_meet_only_where_time_comes_out(drawing, specs):
    columns = np.abs(np.random.default_rng(0).normal(5.0, 1.0, (len(specs.raw), 20)))
    grammar = make_grammar(specs.raw, specs.target, columns, np.ones(20), SearchSettings())
    stand_in = {spec.name: type_unit(spec.unit) for spec in specs.raw}
    found = set()
    for _ in range(300):
        expression = to_expression(Individual(grammar.grow(grammar.target, 4)))
        found.add(variables(expression))
        assert infer_unit(expression, stand_in) in (specs.target.unit, None)
    assert any({"work", "peak"} <= set(names) for names in found)
    assert any({"bytes", "bandwidth"} <= set(names) for names in found)


def test_units_that_differ_by_a_constant_are_one_type():
    assert type_unit(Unit.parse("MAC/sample")) == Unit.parse("FLOP")
    assert type_unit(Unit.parse("element")) == Unit.parse("B")


def test_no_way_to_the_target_is_an_error(specs):
    feature = (FeatureSpec("price", "p", Unit.parse("USD"), "price"),)
    settings = SearchSettings(operators=("add",))
    grammar = make_grammar(feature, specs.target, np.ones((1, 5)), np.ones(5), settings)
    assert [leaf.feature for leaf in grammar.leaves(grammar.target)] == [None]


def test_unknown_features_are_named(specs):
    with pytest.raises(UnknownNameError, match="compute"):
        make_grammar(
            specs.raw,
            specs.target,
            np.ones((5, 3)),
            np.ones(3),
            SearchSettings(required_features=("compute",)),
        )


def test_numbers_that_never_change_are_left_out(typed_rows, specs):
    columns, y, _ = typed_rows
    columns[:, 4] = 0.0
    grammar = make_grammar(specs.features, specs.target, columns.T, y, SearchSettings())
    assert "wide" not in {leaf.feature for leaf in grammar.leaves(grammar.number)}


def test_forbidden_features_never_occur(typed_rows, drawing, specs):
    columns, y, _ = typed_rows
    settings = SearchSettings(forbidden_features=("compute_s",))
    grammar = make_grammar(specs.features, specs.target, columns.T, y, settings)
    for _ in range(50):
        assert "compute_s" not in variables(to_expression(random_tree(grammar, 30)))


def test_seeds_come_back_as_they_went_in(typed_problem):
    seed = parse_text("(2 * compute_s + 0.5 * memory_s) * ratio^(-0.5) + max(3 * launch_s, 0.25)")
    tree = from_expression(seed, typed_problem.grammar)
    assert to_text(to_expression(tree)) == to_text(seed)


def test_seeds_outside_the_grammar_are_refused(typed_problem):
    for text in ("sin(compute_s)", "unknown_s", "compute_s * memory_s"):
        with pytest.raises(InputError, match="seed"):
            from_expression(parse_text(text), typed_problem.grammar)


def test_complexity_is_that_of_the_expression(typed_problem, drawing):
    trees = [tree for tree in families(typed_problem, 60) if all(node.constant != 1.0 for node in tree)]
    counted = complexities(trees, affine=False).tolist()
    assert counted == [complexity(to_expression(tree)) for tree in trees]


def test_keys_ignore_order_and_constants_but_not_structure(typed_problem):
    texts = [
        "compute_s + 2 * memory_s + launch_s",
        "launch_s + (memory_s + 3 * compute_s)",
        "compute_s + memory_s",
    ]
    trees = [from_expression(parse_text(text), typed_problem.grammar) for text in texts]
    first, second, third = structure_keys(trees).tolist()
    assert first == second != third


def test_pruning_a_zero_weight_keeps_the_values(typed_problem):
    tree = from_expression(
        parse_text("(2 * compute_s + 0 * memory_s) * ratio + 3 * launch_s"), typed_problem.grammar
    )
    pruned = prune(tree, typed_problem.grammar)
    columns = dict(
        zip([spec.name for spec in typed_problem.features], typed_problem.rows.columns, strict=True)
    )
    assert len(pruned) == len(tree) - 2
    np.testing.assert_allclose(
        evaluate(to_expression(pruned), columns)[0], evaluate(to_expression(tree), columns)[0], rtol=1e-15
    )


def test_what_counts_as_tidy_is_left_alone_by_pruning(typed_problem, untyped_problem, drawing):
    for problem in (typed_problem, untyped_problem):
        fitted = problem.fit(families(problem, 200), 5)
        tidy = [tree for tree in fitted if not tree.untidy]
        assert 20 < len(tidy) < len(fitted)
        for tree in tidy:
            assert [node.token for node in prune(tree, problem.grammar)] == [node.token for node in tree]
