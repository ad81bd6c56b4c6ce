import numpy as np
from trainlaw.evolve.equations.library import Quantity, make_library
from trainlaw.evolve.settings import UNTYPED_OPERATORS
from trainlaw.formulas import Variable, evaluate, to_text

ROWS = np.random.default_rng(0).uniform(1.0, 3.0, (3, 40))
ATOMS = [Quantity(Variable(name), values) for name, values in zip("abc", ROWS, strict=True)]


def test_holds_what_laws_are_made_of_with_its_values():
    library = make_library(ATOMS, UNTYPED_OPERATORS, 5000)
    texts = {to_text(item.expression) for item in library}
    assert {"a", "log(a / b)", "square(a - b)", "1 / exp(a / b)", "sqrt(1 + square(a))"} <= texts
    columns = dict(zip("abc", ROWS, strict=True))
    for item in library[::50]:
        np.testing.assert_allclose(evaluate(item.expression, columns)[0], item.values, rtol=1e-12)


def test_no_two_are_proportional():
    library = make_library(ATOMS, UNTYPED_OPERATORS, 300)
    table = np.array([item.values for item in library])
    table /= np.sqrt(np.sum(table**2, axis=1))[:, None]
    likeness = np.abs(table @ table.T) - np.eye(len(library))
    assert likeness.max() < 1.0 - 1e-14


def test_keeps_to_its_size_and_operators_for_many_features():
    rows = np.random.default_rng(1).uniform(1.0, 3.0, (20, 30))
    atoms = [Quantity(Variable(f"x{i}"), values) for i, values in enumerate(rows)]
    library = make_library(atoms, ("add", "sub", "mul", "div"), 2000)
    assert len(library) == 2000
    assert not any("log" in to_text(item.expression) for item in library)


def test_leaves_out_what_is_not_finite():
    crossing = [Quantity(Variable("a"), np.linspace(-1.0, 1.0, 41))]
    texts = {to_text(item.expression) for item in make_library(crossing, UNTYPED_OPERATORS, 100)}
    assert "exp(a)" in texts
    assert "log(a)" not in texts
    assert "1 / a" not in texts
