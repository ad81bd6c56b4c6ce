import numpy as np
import pytest
from numba import njit
from trainlaw.evolve.machine import kernels
from trainlaw.evolve.machine.arrays import LANES, WEIGHTED
from trainlaw.evolve.machine.batch import Machine
from trainlaw.evolve.machine.kernels import OPERATOR_CODES
from trainlaw.formulas import OPERATORS, parse_text
from trainlaw.formulas.algebra.derivatives import value_and_slopes

compute_compiled = njit(error_model="numpy")(kernels.apply_operator)


def call_text(name):
    """The operator `name` of a and b as text."""
    return f"{name}({', '.join('ab'[: OPERATORS[name].arity])})"


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_gives_the_values_of_the_table(name):
    columns = np.random.default_rng(0).normal(0.0, 2.0, (2, 10 * LANES))
    found, arity = np.zeros(10 * LANES), OPERATORS[name].arity
    compute_compiled(0, OPERATOR_CODES[name], *columns, found, 1.0, 1.0, found.size)
    with np.errstate(all="ignore"):
        expected = OPERATORS[name].function(*columns[:arity])
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "step"])
def test_each_partial_derivative_fits_a_constant_at_every_argument(name, programs_of, plain_rows):
    # A weight on each argument is found again only when both partial derivatives are right.
    generator = np.random.default_rng(3)
    row = OPERATORS[name]
    columns = generator.uniform(0.5, 1.5, (2, 400))
    truth = [1.3, 0.7][: row.arity]
    y = row.function(*(weight * column for weight, column in zip(truth, columns, strict=False)))
    program = [OPERATOR_CODES[name], WEIGHTED, WEIGHTED + 256][: row.arity + 1]
    programs = programs_of((program, [1.1, 0.9][: row.arity]))
    result = Machine().fit(programs, plain_rows(columns, y), steps=200)
    assert result.losses[0] < 1e-8 * np.var(y) + 1e-20


@pytest.mark.parametrize("name", OPERATORS)
def test_adjoints_are_the_exact_derivatives(name, interpreted):
    generator = np.random.default_rng(5)
    arity = OPERATORS[name].arity
    a, b = generator.uniform(0.5, 2.0, (2, 2 * LANES))
    value, adjoints = np.zeros(a.size), np.ones((3, a.size))
    code = OPERATOR_CODES[name]
    kernels.apply_operator(0, code, a, b, value, 1.0, 1.0, a.size)
    kernels.apply_partials(0, code, a, b, value, 1.0, 1.0, a.size, *adjoints, 1, int(arity == 2))
    for letter, found in zip("ab"[:arity], adjoints[1:], strict=False):
        _, slopes = value_and_slopes(parse_text(call_text(name)), {"a": a, "b": b}, [letter])
        np.testing.assert_allclose(found, slopes[letter], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in OPERATORS if OPERATORS[name].arity == 2])
def test_the_side_without_constants_gets_no_adjoint(name, interpreted):
    a, b, value = np.repeat([[1.5], [0.5], [0.0]], LANES, axis=1)
    adjoints = np.repeat([[1.0], [7.0], [7.0]], LANES, axis=1)
    code = OPERATOR_CODES[name]
    kernels.apply_operator(0, code, a, b, value, 1.0, 1.0, 1)
    kernels.apply_partials(0, code, a, b, value, 1.0, 1.0, 1, *adjoints, 1, 0)
    assert np.all(adjoints[2] == 7.0)
    assert np.all(adjoints[1] != 7.0)


def test_factors_of_leaves_are_applied_where_they_are_read(interpreted):
    a, b, value = np.repeat([[2.0], [5.0], [0.0]], LANES, axis=1)
    kernels.apply_operator(0, OPERATOR_CODES["add"], a, b, value, 10.0, 100.0, 2)
    assert np.all(value == 520.0)


@pytest.mark.parametrize("count", [1, LANES - 1, LANES, LANES + 1])
def test_whole_vectors_are_written_and_nothing_beyond(interpreted, count):
    a, value = np.full(3 * LANES, 2.0), np.zeros(3 * LANES)
    kernels.apply_operator(0, OPERATOR_CODES["neg"], a, a, value, 1.0, 1.0, count)
    whole = -(-count // LANES) * LANES
    assert np.all(value[:whole] == -2.0)
    assert np.all(value[whole:] == 0.0)
