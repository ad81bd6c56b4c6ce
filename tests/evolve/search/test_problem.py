import time
from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.machine.batch import LEAST_GAIN
from trainlaw.evolve.search import divisions
from trainlaw.evolve.search import problem as problem_module
from trainlaw.evolve.search.divisions import DEALT_CASES, MOST_CASES, deal_rows
from trainlaw.evolve.search.individuals import BEHIND, forest_of
from trainlaw.evolve.search.losses import loss_name
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.trees import from_expression
from trainlaw.evolve.search.variation import random_tree
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec, InputError, parse_text

QUICK = SearchSettings(evaluations=1500, population=60)


@pytest.fixture
def made(typed_rows, specs):
    """A function that makes the problem of the typed rows, with some arguments replaced."""
    columns, y, groups = typed_rows

    def make(X=columns, truth=y, settings=QUICK, **arguments):
        return make_problem(
            X, truth, specs.features, specs.target, settings, **({"groups": groups} | arguments)
        )

    return make


@pytest.mark.parametrize(
    ("settings", "unit_of", "y", "expected"),
    [
        ({}, "time", [1.0, 2.0], "soft_l1_log"),
        ({}, "time", [0.0, 2.0], "squares"),
        ({}, "number", [1.0, 2.0], "squares"),
        ({"typed": False}, "time", [1.0, 2.0], "squares"),
        ({"loss": "squares"}, "time", [-1.0, 2.0], "squares"),
        ({"loss": "huber_log"}, "number", [1.0, 2.0], "huber_log"),
    ],
)
def test_the_automatic_loss_depends_on_unit_and_sign(settings, unit_of, y, expected, specs):
    target = specs.target if unit_of == "time" else FeatureSpec("y", "y", DIMENSIONLESS, "y")
    assert loss_name(SearchSettings(**settings), target, np.array(y)) == expected


@pytest.mark.parametrize("worst", [0.0, -1.0])
def test_relative_losses_need_a_positive_target(worst, specs):
    with pytest.raises(InputError, match="positive"):
        loss_name(SearchSettings(loss="log_ratio"), specs.target, np.array([1.0, worst]))


@pytest.mark.parametrize(
    ("count", "cases"), [(1, 1), (9, 1), (10, 2), (49, 9), (50, 10), (1000, DEALT_CASES)]
)
def test_rows_are_dealt_into_equal_cases(count, cases):
    sizes = np.bincount(deal_rows(count, 0))
    assert sizes.size == cases
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(deal_rows(count, 0), deal_rows(count, 0))
    assert np.array_equal(deal_rows(count, 0), deal_rows(count, 1)) == (cases == 1)


def test_a_weight_of_two_is_the_row_twice(made, typed_rows):
    columns, y, groups = typed_rows
    weight = np.arange(120) % 3
    again = np.repeat(np.arange(120), weight)
    weighted = made(sample_weight=weight)
    repeated = made(columns[again], y[again], groups=groups[again])
    for one, other in zip(weighted.rows, repeated.rows, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_order_of_weighted_rows_does_not_matter(made, typed_rows):
    columns, y, groups = typed_rows
    order = np.random.default_rng(0).permutation(120)
    weight = 1.0 + np.arange(120) % 3
    first = made(sample_weight=weight).rows
    second = made(columns[order], y[order], groups=groups[order], sample_weight=weight[order]).rows
    np.testing.assert_array_equal(first.columns, second.columns)
    np.testing.assert_allclose(first.weight, second.weight)


def test_rows_that_differ_stay_apart_even_where_their_hashes_agree(made, monkeypatch):
    weight = 1.0 + np.arange(120) % 3
    expected = made(sample_weight=weight).rows.target
    monkeypatch.setattr(divisions, "_hashes", lambda columns: np.zeros(columns[0].size, np.uint64))
    found = made(sample_weight=weight).rows.target
    assert sorted(found) == sorted(expected)
    assert found.size == 120


def test_rows_that_differ_in_the_target_or_the_group_are_not_equal(made, typed_rows):
    X = np.vstack([typed_rows[0][:1]] * 4)
    truth = np.array([1.0, 1.0, 2.0, 1.0])
    problem = made(X, truth, groups=np.array(["a", "a", "a", "b"]))
    assert sorted(problem.rows.target.tolist()) == sorted(np.log([1.0, 2.0, 1.0]).tolist())


def test_negative_zero_is_zero(made, typed_rows):
    columns = typed_rows[0][:1]
    X = np.vstack([columns, columns])
    X[:, 4] = [0.0, -0.0]
    assert made(X, np.ones(2), groups=np.array(["a", "a"])).rows.target.size == 1


def test_rows_of_weight_zero_are_not_there(made):
    weight = np.where(np.arange(120) < 30, 0.0, 1.0)
    problem = made(sample_weight=weight)
    assert problem.rows.target.size == 90
    assert problem.columns.shape == (5, 90)


@pytest.mark.parametrize(("power", "expected"), [(0.0, [0.25, 0.75]), (1.0, [0.5, 0.5])])
def test_the_power_balances_groups(made, typed_rows, power, expected):
    groups = np.where(np.arange(120) < 30, "few", "many")
    problem = made(groups=groups, settings=replace(QUICK, group_weight_power=power))
    assert problem.rows.group_weight == pytest.approx(expected)


def test_groups_beyond_the_limit_share_a_case(made):
    problem = made(groups=np.arange(120).astype(str))
    assert problem.case_count == MOST_CASES
    assert problem.grouped
    assert not made(groups=None).grouped


def test_the_box_is_that_of_the_training_rows(made, typed_rows):
    columns = typed_rows[0]
    for position, (low, high) in enumerate(made().box.values()):
        assert (low, high) == (columns[:, position].min(), columns[:, position].max())


def test_what_is_not_reached_in_time_stays_as_it_is(made):
    problem = made()
    trees = [from_expression(parse_text(text), problem.grammar) for text in ("compute_s", "memory_s")]
    with problem.machine.until(time.monotonic()):
        while not problem.machine.fits_end:
            time.sleep(0.001)
        first, second = problem.fit(trees, 20)
    assert np.isfinite(first.loss) and first is not trees[0]
    assert second is trees[1]
    assert all(found is not tree for found, tree in zip(problem.fit(trees, 20), trees, strict=True))


def test_a_tree_that_cannot_survive_is_not_fitted_to_its_end(untyped_problem, drawing):
    trees = [random_tree(untyped_problem.grammar, 20, drawing) for _ in range(40)]
    whole = untyped_problem.fit(trees, 5)
    losses = np.array([tree.loss for tree in whole])
    limits = np.where(np.arange(40) % 2 == 0, np.inf, 0.1 * losses)
    forest = forest_of(trees, untyped_problem.grammar)
    raced = untyped_problem.fit_forest(forest, 5, LEAST_GAIN, limits=limits)
    for place, (tree, found) in enumerate(zip(raced, whole, strict=True)):
        if place % 2 == 0 and np.isfinite(found.loss):
            assert tree.loss == found.loss
            np.testing.assert_array_equal(tree.cases, found.cases)
        elif np.isfinite(found.loss):
            assert tree is BEHIND


def test_a_large_table_is_not_copied_and_gives_the_same_rows(made, monkeypatch, typed_rows):
    expected = made()
    monkeypatch.setattr(problem_module, "LARGE_TABLE", 1)
    found = made()
    np.testing.assert_array_equal(found.rows.columns, expected.rows.columns)
    assert np.shares_memory(found.columns, typed_rows[0])


def test_a_fit_leaves_the_trees_as_they_were(made):
    problem = made()
    tree = from_expression(parse_text("9 * compute_s + memory_s"), problem.grammar)
    before = [node.constant for node in tree]
    fitted = problem.fit([tree], 20)[0]
    assert [node.constant for node in tree] == before
    assert np.isinf(tree.loss) and np.isfinite(fitted.loss)


@pytest.mark.parametrize(
    "loss", ["log_ratio", "soft_l1_log", "huber_log", "relative_squares", "absolute_percentage", "squares"]
)
def test_the_true_formula_has_almost_no_loss(made, typed_rows, loss):
    columns, _, _ = typed_rows
    problem = made(truth=2.0 * columns[:, 0] + 0.5 * columns[:, 1], settings=replace(QUICK, loss=loss))
    tree = from_expression(parse_text("compute_s + memory_s"), problem.grammar)
    fitted = problem.fit([tree], 200)[0]
    assert fitted.loss < 1e-9
    assert [node.constant for node in fitted if node.constant] == pytest.approx([2.0, 0.5], rel=1e-4)


@pytest.mark.parametrize(
    ("loss", "last", "scale", "width"),
    [
        # The spread of the target makes squares dimensionless; other losses are of relative errors.
        ("squares", 5.0, [0.5, 0.5], 0.25),
        ("squares", 1.0, [1.0, 1.0], 0.25),
        ("relative_squares", 5.0, [1.0, 0.2], 0.25),
        ("absolute_percentage", 5.0, [1.0, 0.2], 0.02),
        ("soft_l1_log", 5.0, [1.0, 0.2], 0.25),
    ],
)
def test_residuals_are_scaled_by_the_loss(loss, last, scale, width, specs):
    columns = np.ones((2, len(specs.features)))
    columns[1, 0] = 2.0
    settings = SearchSettings(loss=loss)
    rows = make_problem(columns, np.array([1.0, last]), specs.features, specs.target, settings).rows
    assert sorted(rows.scale.tolist(), reverse=True) == pytest.approx(scale)
    assert rows.width == width


def test_a_search_fits_to_its_share_of_each_group_and_the_offered_formulas_to_all_rows():
    generator = np.random.default_rng(0)
    X = generator.uniform(1.0, 2.0, (9_000, 2))
    groups = np.where(np.arange(9_000) == 4, 7, np.arange(9_000) % 7)
    y = 2.5 * X[:, 0] / X[:, 1] * np.exp(0.1 * generator.standard_normal(9_000))
    specs = tuple(FeatureSpec(name, name, DIMENSIONLESS, name) for name in "ab")
    target = FeatureSpec("y", "y", DIMENSIONLESS, "y")
    settings = SearchSettings(
        typed=False,
        evaluations=400,
        population=40,
        search_rows=1_400,
        operators=("mul", "div"),
        group_weight_power=0.0,
    )

    def made():
        return make_problem(X, y, specs, target, settings, groups=groups)

    problem, again = made(), made()
    assert [np.array_equal(*pair) for pair in zip(problem.rows, again.rows, strict=True)]
    # The row of a group for itself is drawn as well, although it is one of 9,000.
    assert np.diff(problem.rows.group_start).tolist() == pytest.approx([200] * 7 + [1], abs=1)
    assert problem.whole.rows.target.size == 9_000 and problem.drawn_share == pytest.approx(
        1_400 / 9_000, rel=0.01
    )
    assert problem.whole.whole.rows is problem.whole.rows
    search = FormulaRegressor(specs, target, settings).fit(X, y, groups)
    fitted, residual = search.predict(X), y - search.predict(X)
    # Least squares on all rows leave nothing along the prediction.
    assert abs(np.sum(residual * fitted)) < 1e-6 * np.sum(fitted**2)


def test_few_rows_are_all_searched(made):
    problem = made()
    assert problem.all_rows is None and problem.whole is problem and problem.drawn_share == 1.0
