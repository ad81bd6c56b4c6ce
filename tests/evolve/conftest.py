from dataclasses import replace
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from trainlaw.evolve.grammar import make_grammar
from trainlaw.evolve.search.individuals import Individual, forest_of
from trainlaw.evolve.search.problem import Problem, make_problem
from trainlaw.evolve.search.trees import from_expression
from trainlaw.evolve.search.variation import vary
from trainlaw.evolve.settings import UNTYPED_OPERATORS, SearchSettings
from trainlaw.formulas import DIMENSIONLESS, SECOND, FeatureSpec, Unit, parse_text

TARGET = FeatureSpec("time_s", "t", SECOND, "time of one iteration")
TIMES = tuple(FeatureSpec(name, name, SECOND, name) for name in ("compute_s", "memory_s", "launch_s"))
NUMBERS = tuple(FeatureSpec(name, name, DIMENSIONLESS, name) for name in ("ratio", "wide"))
RAW = tuple(
    FeatureSpec(name, name, Unit.parse(unit), name)
    for name, unit in (
        ("work", "MAC"),
        ("peak", "FLOP/s"),
        ("bytes", "B"),
        ("bandwidth", "B/s"),
        ("count", "sample"),
    )
)


def tree_of(text: str, problem: Problem) -> Individual:
    """Return the tree of a formula in the grammar of a problem."""
    return from_expression(parse_text(text), problem.grammar)


@pytest.fixture(scope="module")
def specs() -> SimpleNamespace:
    """Specs of the target and of features: times, pure numbers, all of the typed rows, raw quantities."""
    return SimpleNamespace(target=TARGET, numbers=NUMBERS, features=TIMES + NUMBERS, raw=RAW)


@pytest.fixture(scope="module")
def typed_rows():
    """Columns (120, 5), a planted law with 2 % noise (120,), and labels of six groups."""
    generator = np.random.default_rng(1)
    columns = np.column_stack(
        [*(10.0 ** generator.uniform(-3, 0, 120) for _ in TIMES), generator.uniform(0.5, 1.0, 120)]
    )
    groups = np.arange(120) % 6
    columns = np.column_stack([columns, groups == 5])
    law = (2.0 * columns[:, 0] + 0.5 * columns[:, 1]) * columns[:, 3] ** -0.5 + 3.0 * columns[:, 2]
    rows = columns, law * np.exp(0.02 * generator.standard_normal(120)), groups.astype(str)
    for part in rows:
        part.flags.writeable = False  # tests of one module share them
    return rows


@pytest.fixture
def child_of():
    """A function that returns a child of two parents, of at most some nodes."""

    def child(first, second, grammar, max_nodes, random):
        seeds = np.array([random.getrandbits(63)], np.uint64)
        parents = forest_of([first, second], grammar)
        return vary(parents, np.array([[0, 1]]), seeds, most_nodes=max_nodes).trees()[0]

    return child


@pytest.fixture
def typed_problem(typed_rows) -> Problem:
    columns, y, groups = typed_rows
    settings = SearchSettings(population=40)
    return make_problem(columns, y, TIMES + NUMBERS, TARGET, settings, groups=groups)


@pytest.fixture
def typed_with(typed_problem):
    """A function that gives the typed problem with some settings replaced."""

    def changed(**settings):
        return replace(typed_problem, settings=replace(typed_problem.settings, **settings))

    return changed


@pytest.fixture
def made_grammar(typed_rows):
    """A function that makes the grammar of the typed rows for some settings."""
    columns, y, _ = typed_rows

    def make(**settings):
        return make_grammar(TIMES + NUMBERS, TARGET, columns.T, y, SearchSettings(**settings))

    return make


@pytest.fixture
def untyped_problem() -> Problem:
    generator = np.random.default_rng(2)
    X = generator.uniform(0.5, 2.0, (150, 3))
    features = tuple(FeatureSpec(name, name, DIMENSIONLESS, name) for name in "abc")
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
    operators = (*UNTYPED_OPERATORS, "tanh", "max", "min", "pow")
    settings = SearchSettings(typed=False, population=40, operators=operators)
    return make_problem(X, y, features, FeatureSpec("y", "y", DIMENSIONLESS, "y"), settings)


@pytest.fixture
def drawing():
    """A random generator in a known state."""
    return Random(7)
