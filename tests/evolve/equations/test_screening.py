import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.equations import screening
from trainlaw.evolve.equations.library import Quantity
from trainlaw.evolve.equations.regressions import best_subsets
from trainlaw.evolve.equations.screening import screen
from trainlaw.evolve.settings import UNTYPED_OPERATORS
from trainlaw.formulas import Apply, Variable, evaluate, parse_text
from trainlaw.formulas.algebra.expression import nodes

POINTS = dict(zip("abcd", np.random.default_rng(0).uniform(1.0, 2.0, (4, 300)), strict=True))
ATOMS = [Quantity(Variable(name), values) for name, values in POINTS.items()]


def left_by(expression, y):
    values = np.broadcast_to(evaluate(expression, POINTS)[0], y.shape)
    table = np.column_stack([values, np.ones_like(values)])
    return np.mean((y - table @ np.linalg.lstsq(table, y)[0]) ** 2) / np.var(y)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "3 * a * b / c^2",
        "a * log(b / c)",
        "sqrt(square(a - b) + square(c - d))",
        "(a * b + c * d) / (a + c)",
        "1 / (1 / a + 3 * b / c)",
        "a * (b + 2 * c * sin(d))",
        "a / sqrt(1 - square(b) / (9 * square(c)))",
        "a * (exp(0.7 * b * d / c) - 1)",
        "(a - 0.3 * b) / sqrt(1 - 0.11 * square(b / c))",
        "a * b^3 / (exp(0.4 * a * b / c) - 1)",
        "a * d * square(sin(2.2 * b * c))",
    ],
)
def test_one_of_the_seeds_is_the_law(text):
    y = np.broadcast_to(evaluate(parse_text(text), POINTS)[0], 300)
    assert min(left_by(seed, y) for seed in screen(ATOMS, y, UNTYPED_OPERATORS).seeds) < 1e-20


@pytest.mark.slow
def test_uses_no_other_operators_and_hands_over_blocks():
    y = POINTS["a"] * np.sin(3.0 * POINTS["b"]) + 0.1 * np.random.default_rng(1).standard_normal(300)
    found = screen(ATOMS, y, ("add", "sub", "mul", "div"), share=0.1)
    used = {
        node.operator
        for seed in (*found.seeds, *found.blocks)
        for node in nodes(seed)
        if isinstance(node, Apply)
    }
    assert found.seeds
    assert found.blocks
    assert used <= {"add", "sub", "mul", "div"}


def test_nothing_to_screen():
    y = POINTS["a"]
    assert screen(ATOMS, y, UNTYPED_OPERATORS, share=0.0).seeds == ()
    assert screen([], y, UNTYPED_OPERATORS).seeds == ()
    assert screen(ATOMS, np.ones(300), UNTYPED_OPERATORS).seeds == ()
    assert screen(ATOMS, y, ("sin",)).seeds == ()


@pytest.mark.slow
def test_columns_that_hardly_vary_are_no_fault():
    X = np.random.default_rng(0).uniform(1.0, 2.0, (400, 4))
    table, y = np.column_stack([X, 1.0 + 1e-12 * X]), X[:, 0]
    search = FormulaRegressor(settings=SearchSettings(typed=False, evaluations=300)).fit(table, y)
    np.testing.assert_allclose(search.predict(table), y, rtol=1e-9)


@pytest.mark.slow
def test_ends_in_time_with_what_it_has_found():
    y = POINTS["a"] * np.sin(3.0 * POINTS["b"]) + 0.1 * np.random.default_rng(1).standard_normal(300)
    little = screen(ATOMS, y, UNTYPED_OPERATORS, seconds=0.0)
    assert 0 < len(little.seeds) < len(screen(ATOMS, y, UNTYPED_OPERATORS, share=0.1).seeds)


@pytest.mark.slow
def test_linear_algebra_has_one_thread(monkeypatch):
    y = POINTS["a"] * np.sin(3.0 * POINTS["b"])
    seen = []

    def asked(*arguments):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return best_subsets(*arguments)

    monkeypatch.setattr(screening, "best_subsets", asked)
    with threadpool_limits(2):
        screen(ATOMS, y, UNTYPED_OPERATORS, share=0.01)
    assert set(seen) == {1}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_ends_once_only_rounding_is_left(threads):
    settings = SearchSettings(population=50, evaluations=30_000, threads=threads)
    X = np.column_stack([POINTS[name] for name in "abc"])
    estimator = FormulaRegressor(settings=settings).fit(X, X[:, 0] ** 2 * np.log(X[:, 1] / X[:, 2]))
    assert estimator.formula_.text() in {"square(x0) * log(x1 / x2)", "log(x1 / x2) * square(x0)"}
    assert estimator.evaluations_ < 5_000
