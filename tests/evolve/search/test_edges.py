import numpy as np
import pytest
from trainlaw.evolve.search.edges import MOST_CORNERS, explodes
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec, parse_text

from ...rows import each_row


@pytest.fixture(scope="module")
def wide_problem():
    """Fifteen features from 1 to 10, of which the target depends on two."""
    X = np.random.default_rng(0).uniform(1.0, 10.0, (300, 15))
    features = tuple(FeatureSpec(f"x{i}", f"x{i}", DIMENSIONLESS, "a number") for i in range(15))
    target = FeatureSpec("y", "y", DIMENSIONLESS, "a number")
    return make_problem(X, X[:, 0] * X[:, 1], features, target, SearchSettings(typed=False))


@each_row(
    ("text", "expected"),
    [
        ("x0 * x1", False),
        ("x0^2 * x1 / x2", False),
        ("5", False),
        # Where it is not valid, nothing is predicted.
        ("log(x0 - 9.9) + x1", False),
        # Zero at the corners of the rows, but not a little beyond, and a pole between the rows.
        ("x0 * x1 + 1e-40 * exp(x0 * x1)", True),
        ("x0 * x1 + 1e-6 / (x0 - 5.00001)", True),
        ("x0 * x1 + 1 / (x0 + 5.00001)", False),
        # A size stays one: its reciprocal has no pole at zero.
        ("1 / x0", False),
    ],
)
def test_values_are_looked_at_inside_the_rows_and_a_little_beyond(wide_problem, text, expected):
    assert explodes(parse_text(text), wide_problem) == expected


def test_of_many_features_some_corners_are_drawn(wide_problem):
    assert 2**15 > MOST_CORNERS
    everything = "+".join(f"x{i}" for i in range(15))
    assert not explodes(parse_text(everything), wide_problem)
    assert explodes(parse_text(f"exp(0.3 * ({everything}))"), wide_problem)
