import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.definitions import definition, put_in
from trainlaw.evolve.machine.batch import Machine
from trainlaw.evolve.search.individuals import Individual, forest_of
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.trees import encode, to_expression
from trainlaw.formulas import (
    DIMENSIONLESS,
    FeatureSpec,
    InputError,
    TrainlawError,
    UnknownNameError,
    evaluate,
)

SWISH, LENGTH = "swish(x) = x / (1 + exp(-x))", "length(b, a) = sqrt(square(a) + 1.5 * b * a + square(b))"
X = np.random.default_rng(0).uniform(-2.0, 2.0, (200, 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("swish = x", "expected an operator such as"),
        ("swish(x = x", "expected an operator such as"),
        ("sw-ish(x) = x * x", "expected an operator such as"),
        ("swish(x) = x", "expected a new name and an expression in x"),
        ("swish(x) = x * z", "expected a new name and an expression in x"),
        ("swish(x, y) = x * x", "expected a new name and an expression in x, y"),
        ("sin(x) = x * x", "expected a new name"),
        ("f(x, y, z) = x * y * z", "expected one or two arguments"),
        ("f(x) = __import__(x)", "unknown operator"),
    ],
)
def test_what_is_no_definition_is_refused(text, message):
    with pytest.raises(TrainlawError, match=message):
        SearchSettings(operators=("add", text))


def test_names_are_different_and_may_be_used_in_limits_and_complexities():
    with pytest.raises(InputError, match="different names"):
        SearchSettings(operators=(SWISH, "swish(x) = x * x"))
    limits = (("swish", "swish", 0),)
    settings = SearchSettings(operators=(SWISH,), nesting_limits=limits, complexities=(("swish", 9),))
    assert settings.costs["swish"] == 9
    with pytest.raises(UnknownNameError, match="unknown operator 'swich'"):
        SearchSettings(operators=(SWISH,), nesting_limits=(("swich", "swish", 0),))


def test_arguments_are_put_in_once_and_repeated_elsewhere():
    assert definition(LENGTH).parameters == ("a", "b")
    assert put_in([6, -2, 4, -1, -1, -2], [[11, 257], [1]], 1) == [6, 1 - 256 * 5, 4, 1 - 256, 11, 257, 1]


def test_programs_have_the_values_of_their_expressions(drawing):
    features = tuple(FeatureSpec(name, name, DIMENSIONLESS, name) for name in "uv")
    target = FeatureSpec("y", "y", DIMENSIONLESS, "y")
    settings = SearchSettings(typed=False, operators=("add", "mul", "tanh", SWISH, LENGTH), screening=0)
    problem = make_problem(X, X[:, 0] + 5.0, features, target, settings)
    trees = [Individual(problem.grammar.grow(problem.grammar.target, 5, drawing)) for _ in range(200)]
    forest = forest_of(trees, problem.grammar)
    lengths = problem.program_lengths(forest)
    assert np.sum(lengths > forest.sizes + 4) > 50
    assert np.diff(encode(forest, affine=True).offsets).tolist() == lengths.tolist()
    found = Machine().values(encode(forest, affine=False), problem.columns)
    named = dict(zip("uv", problem.columns, strict=False))
    for tree, values in zip(trees, found, strict=True):
        expected, valid = evaluate(to_expression(tree), named)
        np.testing.assert_allclose(values[valid], expected[valid], rtol=1e-7, atol=1e-9)


def test_units_of_a_definition_follow_from_its_expression(specs, typed_rows):
    operators = ("add", "mul", "div", "both(a, b) = a * b / (a + b)", "late(a) = 1 + a")
    settings = SearchSettings(operators=operators)
    grammar = make_problem(*typed_rows[:2], specs.features, specs.target, settings).grammar
    signatures = {
        (node.name, *(one.__name__ for one in node.args))
        for nodes in grammar.primitive_set.primitives.values()
        for node in nodes
        if node.name in ("both", "late")
    }
    assert ("both", "s", "s") in signatures
    assert all(first == second for name, first, *rest in signatures for second in rest)
    assert len([one for one in signatures if one[0] == "late"]) == 1
    assert ("late", "s") not in signatures
    # The unit of the number is free, so that the result has none that is known.
    assert definition("double(x) = 2 * x").unit([specs.target.unit]) is None


def test_a_formula_of_a_defined_operator_is_found_and_written_out():
    argument = 1.7 * X[:, 0] + X[:, 1]
    y = 2.0 * argument / (1.0 + np.exp(-argument)) + 0.5
    operators = ("add", "mul", SWISH)
    given = {"evaluations": 3000, "population": 100, "screening": 0, "operators": operators}
    texts = set()
    for threads in (1, 2):
        fitted = FormulaRegressor(**given, threads=threads).fit(X, y)
        assert fitted.front_[-1].loss < 1e-12
        assert "swish" not in fitted.formula_.text()
        texts.add(fitted.formula_.text(None))
    assert len(texts) == 1
    assert fitted.formula_.provenance["settings"]["operators"] == operators


def test_a_program_that_is_too_long_is_not_tried():
    body = " + ".join(["x"] + [f"tanh({k} * x)" for k in range(2, 24)])
    given = {"evaluations": 300, "population": 40, "screening": 0, "operators": ("add", f"f(x) = {body}")}
    assert FormulaRegressor(**given).fit(X, X[:, 0] * X[:, 1]).evaluations_ > 0


def test_least_absolute_errors_ignore_outliers_that_squares_follow():
    generator = np.random.default_rng(1)
    outliers = np.where(generator.random(200) < 0.2, generator.exponential(20.0, 200), 0.0)
    y = 3.0 + 1.5 * X[:, 0] * X[:, 1] + outliers
    given = {"evaluations": 1500, "population": 60, "screening": 0, "operators": ("add", "mul")}
    fitted = FormulaRegressor(**given, loss="abs(prediction - target)").fit(X, y)
    np.testing.assert_allclose(fitted.predict(np.array([[1.0, 1.0], [0.0, 0.0]])), [4.5, 3.0], rtol=1e-3)
    stated = fitted.formula_.provenance["training_loss"]
    assert stated == pytest.approx(np.mean(np.abs(fitted.predict(X) - y)))
    squares = FormulaRegressor(**given, choice="loss").fit(X, y)
    assert abs(squares.predict(np.array([[0.0, 0.0]]))[0] - 3.0) > 1.0


def test_a_loss_of_times_with_groups(specs, typed_rows):
    columns, y, groups = typed_rows
    settings = SearchSettings(evaluations=400, population=40, loss="square(log(prediction / target))")
    settings = SearchSettings(**{**vars(settings), "group_weight_power": 0.0})
    fitted = FormulaRegressor(specs.features, specs.target, settings).fit(columns, y, groups)
    expected = np.mean(np.log(fitted.predict(columns) / y) ** 2)
    assert fitted.formula_.provenance["training_loss"] == pytest.approx(expected, rel=1e-6)
    assert expected < 0.1


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("prediction - target", "expected a loss that is at least 0 and varies"),
        ("0 * abs(prediction - target)", "expected a loss that is at least 0 and varies"),
        ("square(prediction)", "expected a loss of prediction and target"),
        ("abs(prediction - other)", "expected a loss of prediction and target"),
        ("abs(target)", "unknown loss"),
    ],
)
def test_what_is_no_loss_is_refused(loss, message):
    with pytest.raises(TrainlawError, match=message):
        FormulaRegressor(evaluations=10, loss=loss).fit(X, X[:, 0])
