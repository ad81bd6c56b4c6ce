from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve import Constraint, FormulaRegressor, SearchSettings
from trainlaw.evolve.search.islands import advance, start_island
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.structure import make_structure
from trainlaw.evolve.search.trees import from_expression, prune, to_expression
from trainlaw.formulas import (
    InputError,
    RowSums,
    UnknownNameError,
    parse_text,
    prove_monotone,
    to_text,
    variables,
)

QUICK = SearchSettings(evaluations=1500, population=60)


def searched(rows, specs, settings=QUICK, *, executor=None, **arguments):
    columns, y, groups = rows
    estimator = FormulaRegressor(specs.features, specs.target, settings, executor=executor)
    return estimator.fit(columns, y, groups, **arguments)


def problem_with(rows, specs, **settings):
    columns, y, groups = rows
    return make_problem(columns, y, specs.features, specs.target, replace(QUICK, **settings), groups=groups)


def test_only_the_holes_of_a_template_evolve(typed_rows, specs):
    template = parse_text("max(2 * compute_s, hole_1) + hole_2 * launch_s")
    estimator = searched(typed_rows, specs, replace(QUICK, template=template))
    for candidate in estimator.candidates_:
        text = to_text(candidate.expression)
        assert "max(" in text and "compute_s" in text and "launch_s" in text
    problem = problem_with(typed_rows, specs, template=template)
    structure = make_structure(problem.settings, problem.grammar)
    other = from_expression(parse_text("max(2 * memory_s, compute_s) + 3 * launch_s"), problem.grammar)
    assert not structure.accepts(other)


@pytest.mark.parametrize("text", ["2 * compute_s", "hole + bandwidth"])
def test_templates_without_a_hole_or_out_of_the_grammar_are_refused(text, typed_rows, specs):
    with pytest.raises(InputError, match="template"):
        problem_with(typed_rows, specs, template=parse_text(text))


def test_nesting_limits_hold_everywhere(typed_rows, specs):
    limited = problem_with(typed_rows, specs, nesting_limits=(("add", "add", 0), ("max", "add", 0)))
    island = advance(start_island(limited, 0), limited, 5)
    assert all(limited.structure.accepts(tree) for tree in island.population)
    free = problem_with(typed_rows, specs)
    others = advance(start_island(free, 0), free, 5).population
    assert not all(limited.structure.accepts(tree) for tree in others)
    tree = from_expression(parse_text("max(compute_s + memory_s, launch_s)"), limited.grammar)
    assert not limited.structure.accepts(tree)


def test_constants_stay_in_the_ranges_given(typed_rows, specs):
    ranges = (("compute_s", 0.5, 1.5), ("exponent", -0.25, 0.25), ("overhead", 0.0, 1e-6))
    problem = problem_with(typed_rows, specs, constant_ranges=ranges)
    island = advance(start_island(problem, 0), problem, 8)
    leaves = [leaf for tree in island.population for leaf in tree if leaf.constant is not None]
    weights = [leaf.constant for leaf in leaves if leaf.name == "weighted_compute_s"]
    exponents = [leaf.constant for leaf in leaves if leaf.name == "exponent"]
    assert len(weights) > 5 and all(0.5 <= weight <= 1.5 for weight in weights)
    assert len(exponents) > 2 and all(abs(exponent) <= 0.25 for exponent in exponents)


def test_constraints_are_proved_for_all_that_is_offered(typed_rows, specs):
    constraints = (
        Constraint("nonnegative"),
        Constraint("rising", "compute_s"),
        Constraint("falling", "ratio"),
    )
    free = searched(typed_rows, specs)
    bound = searched(typed_rows, specs, replace(QUICK, constraints=constraints))
    box = free.formula_.ranges

    def rises(candidate):
        if "ratio" not in variables(candidate.expression):
            return False
        proof = prove_monotone(candidate.expression, "ratio", box, -1, max_boxes=256, simplify_seconds=0.0)
        return proof.status != "proved"

    assert not any(rises(candidate) for candidate in bound.candidates_)
    assert any("ratio" in variables(candidate.expression) for candidate in bound.candidates_)
    assert len(bound.candidates_) > 2


def test_an_impossible_constraint_leaves_nothing(typed_rows, specs):
    constraints = (Constraint("falling", "compute_s"), Constraint("rising", "compute_s"))
    estimator = searched(typed_rows, specs, replace(QUICK, constraints=constraints))
    assert all("compute_s" not in variables(item.expression) for item in estimator.candidates_)


def test_unknown_kinds_of_constraint_are_refused():
    with pytest.raises(UnknownNameError, match="rising"):
        Constraint("raising", "compute_s")


def test_a_seed_with_a_feature_that_never_changes_here_is_taken_at_its_value(typed_rows, specs):
    columns, y, groups = typed_rows
    kept = groups != "5"
    seed = parse_text("2 * compute_s * exp(0.3 * wide) + memory_s")
    settings = replace(QUICK, seeds=(seed,), evaluations=100)
    FormulaRegressor(specs.features, specs.target, settings).fit(columns[kept], y[kept], groups[kept])


@pytest.fixture
def harness_rows(typed_rows):
    """The typed rows with a factor per harness, and the harness of each row (120,)."""
    columns, y, groups = typed_rows
    harness = np.array(["fast", "usual", "slow"])[np.arange(120) % 3]
    factor = {"fast": 0.7, "usual": 1.0, "slow": 1.5}
    return columns, y * np.array([factor[name] for name in harness]), groups, harness


def test_a_grouped_constant_finds_the_factor_of_each_harness(harness_rows, specs):
    columns, y, groups, harness = harness_rows
    settings = SearchSettings(evaluations=6000, population=100, grouped_constants=("harness",))
    estimator = FormulaRegressor(specs.features, specs.target, settings)
    estimator.fit(columns, y, groups, labels={"harness": harness})
    formula = estimator.formula_
    assert [constant.key for constant in formula.grouped] == ["harness"]
    values = formula.grouped[0].values
    assert values["slow"] / values["fast"] == pytest.approx(1.5 / 0.7, rel=0.05)
    known = estimator.predict(columns, {"harness": harness})
    assert np.median(np.abs(known / y - 1.0)) < 0.04
    unknown = estimator.predict(columns, {"harness": np.full(120, "another")})
    np.testing.assert_allclose(unknown, estimator.predict(columns))


def test_labels_of_grouped_constants_must_be_given(typed_rows, specs):
    with pytest.raises(UnknownNameError, match="harness"):
        searched(typed_rows, specs, replace(QUICK, grouped_constants=("harness",)))


def test_values_without_rows_keep_the_global_factor(harness_rows, specs):
    columns, y, groups, harness = harness_rows
    settings = replace(QUICK, grouped_constants=("harness",))
    weight = np.where(harness == "slow", 0.0, 1.0)
    estimator = FormulaRegressor(specs.features, specs.target, settings)
    estimator.fit(columns, y, groups, sample_weight=weight, labels={"harness": harness})
    for candidate in estimator.candidates_:
        for constant in candidate.grouped:
            assert constant.values["slow"] == pytest.approx(1.0, abs=1e-6)


@pytest.fixture
def layer_rows(typed_rows):
    """Rows as layers (120, 5), 40 networks as sums over them that share rows, their times, and groups."""
    columns, _, groups = typed_rows
    generator = np.random.default_rng(9)
    members = [
        np.flatnonzero(groups == str(network % 6))[generator.permutation(20)[:7]] for network in range(40)
    ]
    sums = RowSums(
        np.arange(41) * 7, np.concatenate(members), generator.integers(1, 4, 280).astype(np.float64)
    )
    law = 2.0 * columns[:, 0] * columns[:, 3] ** -0.5 + 0.5 * columns[:, 1]
    y = sums.apply(law) * np.exp(0.02 * generator.standard_normal(40))
    return columns, y, np.array([str(network % 6) for network in range(40)]), sums


def test_a_law_of_a_layer_is_found_from_the_times_of_networks(layer_rows, specs):
    columns, y, groups, sums = layer_rows
    settings = SearchSettings(evaluations=5000, population=100)
    estimator = FormulaRegressor(specs.features, specs.target, settings).fit(columns, y, groups, sums=sums)
    assert np.median(np.abs(estimator.predict(columns, sums=sums) / y - 1.0)) < 0.03
    assert estimator.formula_.scope == "layer"
    assert {"compute_s", "memory_s"} <= set(variables(estimator.formula_.expression))


def test_sums_of_one_row_each_are_the_rows_themselves(typed_rows, specs):
    columns, y, groups = typed_rows
    plain = problem_with(typed_rows, specs)
    sums = RowSums(np.arange(121), np.arange(120), np.ones(120))
    summed = make_problem(columns, y, specs.features, specs.target, QUICK, groups=groups, sums=sums)
    texts = ("compute_s + 0.3 * memory_s * ratio^0.4 + launch_s", "max(compute_s, memory_s)", "0.01")
    trees = [from_expression(parse_text(text), plain.grammar) for text in texts]
    others = [from_expression(parse_text(text), summed.grammar) for text in texts]
    for first, second in zip(
        plain.fit(trees, 20, held_out=True), summed.fit(others, 20, held_out=True), strict=True
    ):
        assert second.loss == pytest.approx(first.loss, rel=1e-6)
        np.testing.assert_allclose(second.cases, first.cases, rtol=1e-4)


def test_sums_over_many_blocks_are_those_of_numpy(specs):
    generator = np.random.default_rng(4)
    columns = np.column_stack([generator.uniform(1.0, 2.0, (3000, 4)), np.ones(3000)])
    sums = RowSums(np.arange(0, 3001, 300), generator.permutation(3000), generator.uniform(1.0, 9.0, 3000))
    y = sums.apply(3.0 * columns[:, 0] + columns[:, 1])
    groups = np.array(["a", "b"] * 5)
    problem = make_problem(columns, y, specs.features, specs.target, QUICK, groups=groups, sums=sums)
    assert problem.rows.block_size.size > 4
    tree = problem.fit([from_expression(parse_text("compute_s + memory_s"), problem.grammar)], 50)[0]
    assert [node.constant for node in tree if node.constant] == pytest.approx([3.0, 1.0], rel=1e-3)


@pytest.mark.parametrize(
    ("start", "row", "count", "message"),
    [
        ([0, 0, 1], [0], [1.0], "empty"),
        ([0, 2], [0, 1], [1.0], "counts"),
        ([0, 3], [0, 1], [1.0, 1.0], "counts"),
    ],
)
def test_sums_that_do_not_fit_together_are_refused(start, row, count, message):
    with pytest.raises(InputError, match=message):
        RowSums(np.array(start), np.array(row), np.array(count))


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_islands_on_an_executor_find_the_same(kind, typed_rows, specs):
    settings = SearchSettings(evaluations=1200, population=40, islands=3, migration_interval=4)
    here = searched(typed_rows, specs, settings)
    with kind(2) as executor:
        there = searched(typed_rows, specs, settings, executor=executor)
    assert [item.expression for item in there.candidates_] == [item.expression for item in here.candidates_]


def test_a_weight_of_two_is_the_row_twice(typed_rows, specs):
    columns, y, groups = typed_rows
    weight = np.arange(120) % 3
    again = np.repeat(np.arange(120), weight)
    weighted = searched(typed_rows, specs, sample_weight=weight)
    repeated = searched((columns[again], y[again], groups[again]), specs)
    assert weighted.formula_.expression == repeated.formula_.expression


def test_a_share_such_as_one_less_than_n_over_n_can_be_written(specs):
    generator = np.random.default_rng(3)
    columns = np.column_stack([generator.uniform(0.1, 1.0, (90, 3)), 2.0 ** (np.arange(90) % 5), np.ones(90)])
    y = 2.0 * columns[:, 0] * (columns[:, 3] - 1.0) / columns[:, 3] + 0.5 * columns[:, 1]
    problem = make_problem(columns, y, specs.features, specs.target, QUICK)
    tree = from_expression(parse_text("compute_s * ((ratio - 0.9) / ratio) + memory_s"), problem.grammar)
    fitted = problem.fit([tree], 200)[0]
    assert fitted.loss < 1e-10
    assert -1.0 in [pytest.approx(node.constant, abs=1e-4) for node in fitted if node.constant is not None]


def test_numbers_of_numbers_become_one_number(typed_problem):
    text = "compute_s * (2 * 3 + exp(0.5 * ratio)) + max(memory_s, 0)"
    tree = from_expression(parse_text(text), typed_problem.grammar)
    assert to_text(to_expression(prune(tree, typed_problem.grammar))) == (
        "compute_s * (6 + exp(0.5 * ratio)) + memory_s"
    )


def test_the_worst_group_can_decide(typed_rows, specs):
    problem = problem_with(typed_rows, specs, held_out_measure="worst")
    island = start_island(problem, 0)
    assert all(tree.score == np.max(tree.cases) for tree in island.population)
    with pytest.raises(UnknownNameError, match="median"):
        SearchSettings(held_out_measure="median")
