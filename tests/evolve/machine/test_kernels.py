import ast

import numpy as np
import pytest
from trainlaw.evolve.machine import kernels
from trainlaw.evolve.machine.arrays import FIRST_OPERATOR, VARIABLE, WEIGHTED, Programs, make_rows
from trainlaw.evolve.machine.batch import AFFINE, Machine
from trainlaw.evolve.machine.kernel_source import kernels_text, operator_codes
from trainlaw.evolve.search.trees import encode, to_expression
from trainlaw.evolve.search.variation import Individual
from trainlaw.formulas import OPERATORS, evaluate


def programs_of(
    *sources: tuple[list[int], list[float]], lower: float = -np.inf, pull: float = 0.0
) -> Programs:
    """Programs from pairs of tokens and constants."""
    tokens = [np.array(tokens, np.int64) for tokens, _ in sources]
    constants = [np.array(values) for _, values in sources]
    theta = np.concatenate([*constants, np.zeros(0)])
    return Programs(
        np.concatenate(tokens),
        np.cumsum([0, *map(len, tokens)]),
        theta,
        np.full(theta.size, lower),
        np.full(theta.size, np.inf),
        np.zeros(theta.size, bool),
        np.full(theta.size, pull),
        np.cumsum([0, *map(len, constants)]),
    )


def plain_rows(columns, y, group=None, **form):
    n = y.size
    group = np.zeros(n, np.int64) if group is None else group
    return make_rows(columns, y, np.ones(n), np.ones(n), group, **({"logarithmic": False} | form))


def test_checked_in_kernels_are_those_of_the_table():
    written = ast.parse(open(kernels.__file__, encoding="utf-8").read())
    assert ast.dump(written) == ast.dump(ast.parse(kernels_text()))


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_gives_the_values_of_the_table(name):
    generator = np.random.default_rng(0)
    columns = generator.normal(0.0, 2.0, (2, 300))
    arity = OPERATORS[name].arity
    program = [operator_codes()[name], VARIABLE, VARIABLE + 256][: arity + 1]
    found = Machine().values(programs_of((program, [])), columns)[0]
    with np.errstate(all="ignore"):
        expected = OPERATORS[name].function(*columns[:arity])
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "step"])
def test_each_partial_derivative_fits_a_constant_at_every_argument(name):
    # A weight on each argument is found again only when both partial derivatives are right.
    generator = np.random.default_rng(3)
    row = OPERATORS[name]
    columns = generator.uniform(0.5, 1.5, (2, 400))
    truth = [1.3, 0.7][: row.arity]
    y = row.function(*(weight * column for weight, column in zip(truth, columns, strict=False)))
    program = [operator_codes()[name], WEIGHTED, WEIGHTED + 256][: row.arity + 1]
    programs = programs_of((program, [1.1, 0.9][: row.arity]))
    result = Machine().fit(programs, plain_rows(columns, y), steps=200)
    assert result.losses[0] < 1e-8 * np.var(y) + 1e-20


def test_trees_have_the_values_of_their_expressions(untyped_problem, drawing):
    trees = [Individual(untyped_problem.grammar.grow(untyped_problem.grammar.target, 6)) for _ in range(300)]
    columns = untyped_problem.rows.columns
    found = Machine(2).values(encode(trees, affine=False), columns)
    named = dict(zip("abc", columns, strict=True))
    for tree, values in zip(trees, found, strict=True):
        expected, valid = evaluate(to_expression(tree), named)
        np.testing.assert_allclose(values[valid], expected[valid], rtol=1e-7, atol=1e-9)


def test_threads_change_nothing(untyped_problem, drawing):
    trees = [Individual(untyped_problem.grammar.grow(untyped_problem.grammar.target, 5)) for _ in range(64)]
    programs = encode(trees, affine=True)
    results = [Machine(n).fit(programs, untyped_problem.rows, steps=5, start_mode=AFFINE) for n in (1, 3)]
    assert np.array_equal(results[0].losses, results[1].losses, equal_nan=True)
    assert np.array_equal(results[0].theta, results[1].theta, equal_nan=True)


def test_bounds_hold_and_the_rest_is_optimal():
    generator = np.random.default_rng(5)
    columns = generator.uniform(1.0, 2.0, (2, 200))
    y = 3.0 * columns[0] - 0.5 * columns[1]
    program = [operator_codes()["add"], WEIGHTED, WEIGHTED + 256]
    result = Machine().fit(programs_of((program, [1.0, 1.0]), lower=0.0), plain_rows(columns, y), steps=50)
    assert result.theta[1] == 0.0
    assert result.theta[0] == pytest.approx(columns[0] @ y / (columns[0] @ columns[0]), rel=1e-9)


def test_left_out_groups_do_not_matter_to_the_fit():
    generator = np.random.default_rng(6)
    columns = generator.uniform(1.0, 2.0, (1, 90))
    group = np.arange(90) % 3
    y = np.where(group == 2, 100.0, 2.0) * columns[0]
    programs = programs_of(([WEIGHTED], [1.0]), ([WEIGHTED], [1.0]))
    result = Machine().fit(programs, plain_rows(columns, y, group), steps=20, skip=np.array([-1, 2]))
    assert result.theta[0] > 10.0
    assert result.theta[1] == pytest.approx(2.0)
    assert result.cases[1, 2] > 1000.0


def test_held_out_losses_are_those_of_a_refit_where_the_law_is_linear():
    generator = np.random.default_rng(8)
    columns = generator.uniform(1.0, 2.0, (2, 200))
    group = np.arange(200) % 5
    y = columns[0] + 2.0 * columns[1] + 0.1 * group + generator.normal(0.0, 0.1, 200)
    program = [operator_codes()["add"], WEIGHTED, WEIGHTED + 256]
    rows = plain_rows(columns, y, group)
    quick = Machine().fit(programs_of((program, [1.0, 1.0])), rows, steps=30, held_out=True).cases[0]
    copies = programs_of(*[(program, [1.0, 1.0])] * 5)
    full = Machine().fit(copies, rows, steps=30, skip=np.arange(5)).cases.diagonal()
    np.testing.assert_allclose(quick, full, rtol=1e-3)


def test_a_constant_that_no_row_determines_goes_to_zero():
    columns = np.array([np.linspace(1.0, 2.0, 50), np.zeros(50)])
    program = [operator_codes()["add"], WEIGHTED, WEIGHTED + 256]
    result = Machine().fit(
        programs_of((program, [1.0, 5.0]), pull=1e-9), plain_rows(columns, columns[0]), steps=50
    )
    assert abs(result.theta[1]) < 1e-3


def test_the_affine_start_finds_offset_and_slope_at_once():
    columns = np.linspace(1.0, 2.0, 300)[None, :]
    codes = operator_codes()
    program = [codes["add"], 0, codes["mul"], 0, VARIABLE]
    result = Machine().fit(
        programs_of((program, [0.0, 1.0])),
        plain_rows(columns, 7.0 - 3.0 * columns[0]),
        steps=0,
        start_mode=AFFINE,
    )
    np.testing.assert_allclose(result.theta, [7.0, -3.0])


def test_values_out_of_the_domain_make_a_loss_infinite():
    program = [operator_codes()["log"], VARIABLE]
    result = Machine().fit(
        programs_of((program, [])), plain_rows(np.array([[1.0, -1.0]]), np.ones(2)), steps=2
    )
    assert result.losses[0] == np.inf


def test_codes_begin_after_the_leaves():
    assert min(operator_codes().values()) == FIRST_OPERATOR
    assert kernels.OPERATOR_CODES == operator_codes()
