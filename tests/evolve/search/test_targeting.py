"""Mutations that aim: what a subtree should be worth, and the expression that comes closest."""

from random import Random

import numpy as np
import pytest
from numba import njit
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.machine.aiming import CLOSEST, INVERTED, invert, regress
from trainlaw.evolve.machine.kernels import OPERATOR_CODES
from trainlaw.evolve.machine.moves import AIM
from trainlaw.evolve.search.individuals import forest_of
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.targeting import NOT_AIMED
from trainlaw.evolve.search.trees import from_expression
from trainlaw.evolve.search.variation import vary
from trainlaw.formulas import DIMENSIONLESS, OPERATORS, FeatureSpec, evaluate, parse_text

TARGET = FeatureSpec("y", "y", DIMENSIONLESS, "target")
FEATURES = tuple(FeatureSpec(name, name, DIMENSIONLESS, name) for name in "abcd")


def problem_of(text, **changed):
    X = np.random.default_rng(0).uniform(1.0, 2.0, (200, 4))
    y = evaluate(parse_text(text), dict(zip("abcd", X.T, strict=True)))[0]
    settings = SearchSettings(typed=False, screening=0, **changed)
    return make_problem(X, y, FEATURES, TARGET, settings)


def aimed(problem, text, tries=30):
    """Return the fitted children of a formula after the mutation."""
    random = Random(0)
    (parent,) = problem.fit([from_expression(parse_text(text), problem.grammar)], 20)
    for _ in range(tries):
        yield from problem.fit([aim_of(problem.targeting, parent, problem.grammar, random)], 20)


def aim_of(targeting, tree, grammar, random):
    """Return the tree after a mutation that aims."""
    seeds = np.array([random.getrandbits(63)], np.uint64)
    forest = forest_of([tree], grammar)
    return vary(forest, np.array([[0, 0]]), seeds, operation=AIM, targeting=targeting).trees()[0]


@njit
def regress_once(values, wanted, weight, ranks, terms, numbers):
    regress(values, wanted, weight, ranks, terms, numbers)


@njit
def invert_once(code, number, wanted, slope, first, second):
    return invert(code, number, wanted, slope, first, second)


@pytest.mark.parametrize(("name", "place"), INVERTED)
def test_an_inverse_gives_the_argument_of_the_result_and_the_slope_there(name, place):
    generator = np.random.default_rng(1)
    a, b = generator.uniform(0.3, 1.4, (2, 50))
    function = OPERATORS[name].function
    known = (a, b) if OPERATORS[name].arity == 2 else (a,)
    moved = [value + 1e-6 * (i == place) for i, value in enumerate(known)]
    wanted, slope = function(*known), np.ones(50)
    assert invert_once(OPERATOR_CODES[name], place, wanted, slope, a, b)
    assert not invert_once(OPERATOR_CODES["tanh"], 0, wanted.copy(), slope, a, b)
    assert wanted == pytest.approx(known[place])
    assert np.abs(slope) == pytest.approx(np.abs(function(*moved) - function(*known)) / 1e-6, rel=1e-4)


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        ("exp(a / b) * c + d", "exp(a) * c + d"),
        ("sqrt(a * b + c * d)", "sqrt(a * b + a)"),
        ("c / (1 + square(a / b)) - d", "c / (1 + a) - d"),
    ],
)
def test_a_mutation_that_aims_completes_a_formula_of_which_one_part_is_wrong(truth, text):
    assert min(child.loss for child in aimed(problem_of(truth), text)) < 1e-20


@pytest.mark.slow
def test_an_offset_and_two_factors_are_the_weighted_regression_on_the_best_expressions():
    generator = np.random.default_rng(2)
    values = generator.normal(size=(64, 40)).astype(np.float32)
    weight = generator.uniform(0.1, 1.0, 64)
    weight /= weight.sum()
    wanted = 3.0 + 2.0 * values[:, 7] - 0.5 * values[:, 31] + 1e-3 * generator.normal(size=64)
    terms = np.zeros(2, np.int64)

    def regressed(values, wanted, ranks):
        numbers = np.zeros(3)
        regress_once(values, wanted, weight, np.array(ranks), terms, numbers)
        return numbers

    numbers = regressed(values, wanted, [0, 0])
    assert terms.tolist() == [7, 31]
    design = np.column_stack([np.ones(64), values[:, terms]]) * np.sqrt(weight)[:, None]
    expected = np.linalg.lstsq(design, wanted * np.sqrt(weight), rcond=None)[0]
    np.testing.assert_allclose(numbers, expected, rtol=1e-6)
    assert regressed(values, wanted, [1])[1] != 0.0
    assert terms[0] == 31
    # One that is exact needs no second, and where nothing explains anything the offset is all.
    assert regressed(values, 1.0 + values[:, 5], [0, 0])[2] == 0.0
    assert regressed(np.ones_like(values), wanted, [0, 0]).tolist() == [
        pytest.approx(weight @ wanted), 0.0, 0.0
    ]  # fmt: skip


def test_a_mutation_that_aims_at_nothing_leaves_the_tree():
    problem = problem_of("a * b")
    problem.targeting.aims.target[:] = 0.0
    tree = from_expression(parse_text("a + b"), problem.grammar)
    assert all(aim_of(problem.targeting, tree, problem.grammar, Random(i)) for i in range(20))


def test_only_untyped_searches_without_groups_aim(typed_rows, specs):
    columns, y, groups = typed_rows
    assert make_problem(columns, y, specs.features, specs.target, SearchSettings()).targeting is NOT_AIMED
    untyped = SearchSettings(typed=False)
    assert (
        make_problem(columns, y, specs.features, specs.target, untyped, groups=groups).targeting is NOT_AIMED
    )
    assert problem_of("a * b", operators=("add", "sub")).targeting is NOT_AIMED
    assert problem_of("a * b").targeting is not NOT_AIMED


def test_few_expressions_are_enough_and_none_is_no_fault():
    generator = np.random.default_rng(0)
    X = generator.uniform(1.0, 2.0, (60, 1))
    settings = SearchSettings(typed=False, screening=0, operators=("add", "mul"), evaluations=300)
    cube = X[:, 0] ** 3
    assert 0 < make_problem(X, cube, FEATURES[:1], TARGET, settings).targeting.aims.sizes.size < CLOSEST
    search = FormulaRegressor(FEATURES[:1], TARGET, settings).fit(X, cube)
    np.testing.assert_allclose(search.predict(X), cube, rtol=1e-6)
    # A column that hardly varies is no expression to compare with.
    still = 1.0 + 1e-12 * X
    assert make_problem(still, X[:, 0], FEATURES[:1], TARGET, settings).targeting is NOT_AIMED
