"""Mutations that aim: what a subtree should be worth, and the expression that comes closest."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.targeting import CLOSEST, INVERSES, _regress
from trainlaw.evolve.search.trees import from_expression
from trainlaw.evolve.search.individuals import Individual
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
        child = from_expression(parse_text(text), problem.grammar)
        child.affine = parent.affine
        yield from problem.fit([problem.targeting.aim(child, problem.grammar, random)], 20)


@pytest.mark.parametrize(("name", "place"), list(INVERSES))
def test_an_inverse_gives_the_argument_of_the_result_and_the_slope_there(name, place):
    generator = np.random.default_rng(1)
    a, b = generator.uniform(0.3, 1.4, (2, 50))
    function = OPERATORS[name].function
    known = (a, b) if OPERATORS[name].arity == 2 else (a,)
    moved = [value + 1e-6 * (i == place) for i, value in enumerate(known)]
    wanted, slope = INVERSES[name, place](function(*known), a, b)
    assert wanted == pytest.approx(known[place])
    assert np.abs(slope) + np.zeros(50) == pytest.approx(
        np.abs(function(*moved) - function(*known)) / 1e-6, rel=1e-4
    )


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


def test_an_offset_and_two_factors_are_the_weighted_regression_on_the_best_expressions():
    generator = np.random.default_rng(2)
    values = generator.normal(size=(64, 40)).astype(np.float32)
    weight = generator.uniform(0.1, 1.0, 64)
    weight /= weight.sum()
    wanted = 3.0 + 2.0 * values[:, 7] - 0.5 * values[:, 31] + 1e-3 * generator.normal(size=64)
    terms = np.zeros(2, np.int64)
    numbers = _regress(values, wanted, weight, np.array([0, 0]), terms)
    assert terms.tolist() == [7, 31]
    design = np.column_stack([np.ones(64), values[:, terms]]) * np.sqrt(weight)[:, None]
    expected = np.linalg.lstsq(design, wanted * np.sqrt(weight), rcond=None)[0]
    np.testing.assert_allclose(numbers, expected, rtol=1e-6)
    assert _regress(values, wanted, weight, np.array([1]), terms)[1] != 0.0
    assert terms[0] == 31
    # One that is exact needs no second, and where nothing explains anything the offset is all.
    assert _regress(values, 1.0 + values[:, 5], weight, np.array([0, 0]), terms)[2] == 0.0
    assert _regress(np.ones_like(values), wanted, weight, np.array([0, 0]), terms).tolist() == [
        pytest.approx(weight @ wanted), 0.0, 0.0
    ]  # fmt: skip


def test_a_mutation_that_aims_at_nothing_leaves_the_tree():
    problem = problem_of("a * b")
    flat = replace(problem.targeting, target=np.zeros(64))
    tree = from_expression(parse_text("a + b"), problem.grammar)
    assert all(len(flat.aim(Individual(list(tree)), problem.grammar, Random(i))) for i in range(20))


def test_only_untyped_searches_without_groups_aim(typed_rows, specs):
    columns, y, groups = typed_rows
    assert make_problem(columns, y, specs.features, specs.target, SearchSettings()).targeting is None
    untyped = SearchSettings(typed=False)
    assert make_problem(columns, y, specs.features, specs.target, untyped, groups=groups).targeting is None
    assert problem_of("a * b", operators=("add", "sub")).targeting is None
    assert problem_of("a * b").targeting is not None


def test_few_expressions_are_enough_and_none_is_no_fault():
    generator = np.random.default_rng(0)
    X = generator.uniform(1.0, 2.0, (60, 1))
    settings = SearchSettings(typed=False, screening=0, operators=("add", "mul"), evaluations=300)
    cube = X[:, 0] ** 3
    assert 0 < len(make_problem(X, cube, FEATURES[:1], TARGET, settings).targeting.trees) < CLOSEST
    search = FormulaRegressor(FEATURES[:1], TARGET, settings).fit(X, cube)
    np.testing.assert_allclose(search.predict(X), cube, rtol=1e-6)
    # A column that hardly varies is no expression to compare with.
    still = 1.0 + 1e-12 * X
    assert make_problem(still, X[:, 0], FEATURES[:1], TARGET, settings).targeting is None
