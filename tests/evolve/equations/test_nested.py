import math

import numpy as np
import pytest
from trainlaw.evolve.equations.library import Quantity
from trainlaw.evolve.equations.nested import FACTORS, TERMS, Grid, Nested, arguments_of, multiplied, refine
from trainlaw.evolve.settings import UNTYPED_OPERATORS
from trainlaw.formulas import Variable, evaluate, parse_text, to_text

POINTS = dict(zip("abc", np.random.default_rng(0).uniform(1.0, 3.0, (3, 200)), strict=True))
ATOMS = [Quantity(Variable(name), values) for name, values in POINTS.items()]
ONE = np.ones((1, 200))
KNOWN = frozenset(UNTYPED_OPERATORS)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def values_of(text):
    return evaluate(parse_text(text), POINTS)[0]


def grid_of(forms, end=math.inf):
    return Grid(arguments_of(ATOMS, KNOWN), forms, KNOWN, end)


@pytest.mark.parametrize(
    ("law", "function", "c"),
    [
        ("2 - 3 * exp(0.7 * b / c)", "b / c", 0.7),
        ("5 / (1 + 0.2 * a * b)", "a * b", 0.2),
        ("1 + 4 * sqrt(1 - 0.1 * square(c))", "square(c)", -0.1),
        ("log(1 + 2 * a / b) - 7", "a / b", 2.0),
        ("3 * sin(1.9 * (a - b)) + 2", "a - b", 1.9),
    ],
)
def test_finds_the_argument_and_the_constant_inside_a_function(law, function, c):
    found = grid_of(TERMS).best(values_of(law), ONE, ONE, 4)[0]
    assert to_text(found.argument.expression) == function
    assert found.c == pytest.approx(c, rel=1e-9)


def test_a_factor_is_found_in_logarithms_next_to_a_known_one():
    first = Nested(FACTORS[4], ATOMS[2], 0.6)
    target = np.log(np.abs(values_of("square(sin(0.9 * a * b) / sin(0.6 * c))")))
    found = grid_of(FACTORS).best(target, ONE, ONE, 4, [first])[0]
    assert to_text(found.quantity().expression) == "sin(0.9 * (a * b))"


def test_the_quantity_has_the_values_of_its_expression():
    for form in (*TERMS, *FACTORS):
        nested = Nested(form, ATOMS[0], -0.2)
        made = multiplied(nested.quantity(), ATOMS[1])
        np.testing.assert_allclose(made.values, evaluate(made.expression, POINTS)[0], rtol=1e-14)
        step = 1e-6
        ahead, behind = (form.values(nested.z + sign * step) for sign in (1.0, -1.0))
        np.testing.assert_allclose(
            form.slopes(nested.z), (ahead - behind) / (2.0 * step), rtol=1e-4, atol=1e-7
        )
    assert to_text(Nested(TERMS[2], ATOMS[0], -0.2).quantity().expression) == "sqrt(1 - 0.2 * a)"


def test_a_function_that_is_not_finite_is_left_alone():
    nested = Nested(TERMS[2], ATOMS[0], -2.0)
    left, same = refine(values_of("a"), ONE, ONE, nested)
    assert left > 1e100
    assert same is nested


def test_only_known_operators_and_only_in_time():
    known = frozenset({"add", "mul", "div"})
    arguments = arguments_of(ATOMS, known)
    assert {to_text(argument.expression) for argument in arguments} >= {"a * b", "a / b", "a * b / c"}
    assert not any("square" in to_text(argument.expression) for argument in arguments)
    assert [to_text(form.expression) for form in Grid(arguments, TERMS, known, math.inf).forms] == [
        "1 / (1 + z)"
    ]
    assert grid_of(TERMS, end=-1.0).best(values_of("a"), ONE, ONE, 4) == []
    assert Grid([], TERMS, known, math.inf).best(values_of("a"), ONE, ONE, 4) == []
