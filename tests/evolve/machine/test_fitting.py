import numpy as np
import pytest
from trainlaw.evolve.machine import arrays, fitting
from trainlaw.evolve.machine.arrays import CONSTANT, VARIABLE, WEIGHTED
from trainlaw.evolve.machine.batch import Machine
from trainlaw.evolve.machine.kernels import OPERATOR_CODES

CODES = OPERATOR_CODES
SUM = [CODES["add"], WEIGHTED, WEIGHTED + 256]


@pytest.fixture
def normal_equations(interpreted):
    """Scratch with the normal equations of a random regression, the full matrix and the gradient."""
    generator = np.random.default_rng(1)
    slopes, residuals = generator.normal(size=(20, 4)), generator.normal(size=20)
    work = arrays.make_work(())[0]
    matrix, gradient = slopes.T @ slopes, slopes.T @ residuals
    work.normal[:4, :4] = np.tril(matrix)
    work.gradient[:4] = gradient
    work.lower[:4], work.upper[:4] = -np.inf, np.inf
    return work, matrix, gradient


@pytest.mark.parametrize("damping", [0.0, 1e-3, 10.0])
def test_a_step_solves_the_damped_normal_equations(normal_equations, damping):
    work, matrix, gradient = normal_equations
    assert fitting.factorise(4, damping, work)
    fitting.substitute_back(4, work)
    expected = np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), -gradient)
    np.testing.assert_allclose(work.step[:4], expected, rtol=1e-10)


def test_fixed_constants_take_no_step_and_the_others_solve_the_rest(normal_equations):
    work, matrix, gradient = normal_equations
    work.fixed[1] = 1
    assert fitting.factorise(4, 0.0, work)
    fitting.substitute_back(4, work)
    free = [0, 2, 3]
    assert work.step[1] == 0.0
    expected = np.linalg.solve(matrix[np.ix_(free, free)], -gradient[free])
    np.testing.assert_allclose(work.step[free], expected, rtol=1e-10)


def test_equations_that_are_not_finite_have_no_factor(normal_equations):
    work, _, _ = normal_equations
    work.normal[2, 2] = np.nan
    assert not fitting.factorise(4, 0.0, work)
    assert not fitting.move(np.zeros(4), 0.0, work)


@pytest.mark.parametrize(("sign", "bound"), [(1.0, "lower"), (-1.0, "upper")])
def test_a_constant_that_pushes_against_its_bound_stays_there(normal_equations, sign, bound):
    work, _, _ = normal_equations
    theta = np.zeros(4)
    getattr(work, bound)[0] = 0.0
    work.gradient[0] = sign
    assert fitting.move(theta, 1e-3, work)
    assert work.trial[0] == 0.0
    # Away from the bound it moves.
    work.gradient[0] = -sign
    assert fitting.move(theta, 1e-3, work)
    assert work.trial[0] != 0.0


def test_steps_end_at_the_bounds(normal_equations):
    work, _, _ = normal_equations
    work.lower[:4], work.upper[:4] = -1e-3, 1e-3
    assert fitting.move(np.zeros(4), 0.0, work)
    assert np.max(np.abs(work.trial)) == 1e-3


def test_bounds_hold_and_the_rest_is_optimal(programs_of, plain_rows):
    generator = np.random.default_rng(5)
    columns = generator.uniform(1.0, 2.0, (2, 200))
    y = 3.0 * columns[0] - 0.5 * columns[1]
    result = Machine().fit(programs_of((SUM, [1.0, 1.0]), lower=0.0), plain_rows(columns, y), steps=50)
    assert result.theta[1] == 0.0
    assert result.theta[0] == pytest.approx(columns[0] @ y / (columns[0] @ columns[0]), rel=1e-9)


def test_least_squares_of_a_linear_formula_are_those_of_numpy(programs_of, plain_rows):
    generator = np.random.default_rng(7)
    columns, y = generator.uniform(1.0, 2.0, (2, 700)), generator.uniform(1.0, 5.0, 700)
    result = Machine().fit(programs_of((SUM, [1.0, 1.0])), plain_rows(columns, y), steps=50)
    expected, squares, *_ = np.linalg.lstsq(columns.T, y, rcond=None)
    np.testing.assert_allclose(result.theta, expected, rtol=1e-8)
    assert result.losses[0] == pytest.approx(squares[0] / 700)


@pytest.mark.parametrize(
    ("program", "truth", "law"),
    [
        ([CODES["exp"], WEIGHTED], [0.7], lambda x: np.exp(0.7 * x)),
        ([CODES["pow"], VARIABLE, CONSTANT], [-1.6], lambda x: x**-1.6),
        ([CODES["div"], VARIABLE, CODES["add"], CONSTANT, WEIGHTED], [0.5, 2.0], lambda x: x / (0.5 + 2 * x)),
        ([CODES["mul"], CONSTANT, CODES["tanh"], WEIGHTED], [3.0, 0.9], lambda x: 3 * np.tanh(0.9 * x)),
    ],
)
def test_constants_of_formulas_that_are_not_linear_are_recovered(
    program, truth, law, programs_of, plain_rows
):
    columns = np.random.default_rng(8).uniform(0.5, 2.0, (1, 200))
    y = law(columns[0])
    start = [1.3 * value for value in truth]
    result = Machine().fit(programs_of((program, start)), plain_rows(columns, y), steps=200)
    np.testing.assert_allclose(result.theta, truth, rtol=1e-5)


def test_no_step_means_no_change(programs_of, plain_rows):
    programs = programs_of((SUM, [1.0, 1.0]))
    rows = plain_rows(np.ones((2, 9)), np.full(9, 5.0))
    result = Machine().fit(programs, rows, steps=0)
    assert result.theta.tolist() == [1.0, 1.0]
    assert result.losses[0] == pytest.approx(9.0)


def test_a_fit_stops_where_a_step_gains_little(programs_of, plain_rows):
    generator = np.random.default_rng(9)
    columns = generator.uniform(0.5, 2.0, (1, 100))
    y = np.exp(0.7 * columns[0]) + generator.normal(0.0, 0.1, 100)
    rows, programs = plain_rows(columns, y), programs_of(([CODES["exp"], WEIGHTED], [0.1]))
    losses = [Machine().fit(programs, rows, steps=100, least_gain=gain).losses[0] for gain in (1e9, 1e-9)]
    assert losses[0] > losses[-1]
    assert losses == sorted(losses, reverse=True)


def test_left_out_groups_do_not_matter_to_the_fit(programs_of, plain_rows):
    generator = np.random.default_rng(6)
    columns = generator.uniform(1.0, 2.0, (1, 90))
    group = np.arange(90) % 3
    y = np.where(group == 2, 100.0, 2.0) * columns[0]
    programs = programs_of(([WEIGHTED], [1.0]), ([WEIGHTED], [1.0]))
    result = Machine().fit(programs, plain_rows(columns, y, group), steps=20, skip=np.array([-1, 2]))
    assert result.theta[0] > 10.0
    assert result.theta[1] == pytest.approx(2.0)
    assert result.cases[1, 2] > 1000.0


@pytest.mark.parametrize("rows", [200, 1300])
def test_held_out_losses_are_those_of_a_refit_where_the_formula_is_linear(rows, programs_of, plain_rows):
    generator = np.random.default_rng(8)
    columns = generator.uniform(1.0, 2.0, (2, rows))
    group = np.arange(rows) % 5
    y = columns[0] + 2.0 * columns[1] + 0.1 * group + generator.normal(0.0, 0.1, rows)
    table = plain_rows(columns, y, group)
    quick = Machine().fit(programs_of((SUM, [1.0, 1.0])), table, steps=30, held_out=True).cases[0]
    copies = programs_of(*[(SUM, [1.0, 1.0])] * 5)
    full = Machine().fit(copies, table, steps=30, skip=np.arange(5)).cases.diagonal()
    np.testing.assert_allclose(quick, full, rtol=1e-3)


@pytest.mark.parametrize(("centre", "upper", "expected"), [(0.0, 9.0, 0.0), (3.0, 9.0, 3.0), (3.0, 2.0, 2.0)])
def test_a_constant_that_no_row_determines_goes_to_its_centre_within_its_bounds(
    centre, upper, expected, programs_of, plain_rows
):
    columns = np.array([np.linspace(1.0, 2.0, 50), np.zeros(50)])
    programs = programs_of((SUM, [1.0, 5.0]), upper=upper, pull=1e-9, centre=centre)
    result = Machine().fit(programs, plain_rows(columns, columns[0]), steps=50)
    assert result.theta == pytest.approx([1.0, expected], abs=1e-3)


@pytest.mark.parametrize("centre", [0.0, 3.0, -1.0])
def test_a_pull_is_a_normal_prior_around_its_centre_and_no_part_of_the_loss(centre, programs_of, plain_rows):
    columns = np.random.default_rng(3).uniform(1.0, 2.0, (1, 50))
    programs = programs_of(([WEIGHTED], [1.0]), pull=0.5, centre=centre)
    result = Machine().fit(programs, plain_rows(columns, 2.0 * columns[0]), steps=50)
    mean_square = np.mean(columns[0] ** 2)
    # Ridge regression in closed form.
    assert result.theta[0] == pytest.approx((2.0 * mean_square + 0.5 * centre) / (mean_square + 0.5))
    assert result.losses[0] == pytest.approx((2.0 - result.theta[0]) ** 2 * mean_square)


def test_values_out_of_the_domain_make_a_loss_infinite(programs_of, plain_rows):
    rows = plain_rows(np.array([[1.0, -1.0]]), np.ones(2))
    result = Machine().fit(programs_of(([CODES["log"], VARIABLE], [])), rows, steps=2)
    assert result.losses[0] == np.inf
    assert np.all(result.cases == np.inf)
