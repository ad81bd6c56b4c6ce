import numpy as np
import pytest
from trainlaw.evolve.equations.library import Quantity
from trainlaw.evolve.equations.separability import monomial, power, simpler_views
from trainlaw.formulas import Variable, evaluate, parse_text, to_text

POINTS = dict(zip("abcd", np.random.default_rng(0).uniform(1.0, 4.0, (4, 800)), strict=True))


def views_of(text, noise=0.0):
    truth = parse_text(text)
    y = np.broadcast_to(evaluate(truth, POINTS)[0], 800)
    generator = np.random.default_rng(1)
    atoms = [Quantity(Variable(name), values) for name, values in POINTS.items() if name in text]
    return y, simpler_views(atoms, y + noise * np.std(y) * generator.standard_normal(800), generator)


@pytest.mark.parametrize(
    ("text", "noise", "atoms", "factor"),
    [
        ("a * b^2 * log(c / d)", 0.0, {"c / d"}, "a * square(b)"),
        ("a * exp(-(b / c))", 0.01, {"b / c"}, "a"),
        ("d * sqrt(square(a - b) + c)", 0.0, {"a", "b", "c"}, "d"),
        ("(a + b) / (1 + a * b / square(c))", 0.0, {"a / c", "b / c"}, "c"),
        ("exp(-square((a - b) / c) / 2) / c", 0.0, {"(a - b) / c"}, "1 / c"),
    ],
)
def test_finds_factors_and_what_acts_together(text, noise, atoms, factor):
    _, views = views_of(text, noise)
    simple = [view for view in views if {to_text(atom.expression) for atom in view.atoms} == atoms]
    assert factor in {view.factor and to_text(view.factor) for view in simple}


def test_views_multiply_to_the_target():
    y, views = views_of("a * b^2 * log(c / d)")
    for view in views:
        np.testing.assert_allclose(view.values * view.scale, y, rtol=1e-12)


def test_what_is_not_separable_stays_whole():
    _, views = views_of("exp(a / 4) + a * b + square(b) / a")
    assert [{to_text(atom.expression) for atom in view.atoms} for view in views] == [{"a", "b"}]


def test_powers_are_squares_roots_and_quotients():
    a, b = Variable("a"), Variable("b")
    assert to_text(power(a, 2.5)) == "square(a) * sqrt(a)"
    assert power(a, 1.0 / 3.0) is None
    assert to_text(monomial((a, b), (1.0, -2.0))) == "a / square(b)"
    assert to_text(monomial((a, b), (0.0, -1.0))) == "1 / b"
    assert monomial((a, b), (0.0, 0.0)) is None
