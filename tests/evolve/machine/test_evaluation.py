import math

import numpy as np
import pytest
from trainlaw.evolve.machine import arrays, evaluation, kernels
from trainlaw.evolve.machine.arrays import HUBER, SOFT_L1, SQUARES, make_rows
from trainlaw.evolve.search.individuals import Individual, forest_of
from trainlaw.evolve.search.trees import encode

pytestmark = pytest.mark.usefixtures("interpreted")


def linked(program, theta, rows):
    """Scratch with a program whose first block is evaluated and weighted."""
    work = arrays.make_work(())[0]
    evaluation.link(program, program.size, work)
    evaluation.set_constants(theta, work)
    evaluation.observe(program, rows, 0, 0, rows.block_start[1], work)
    return work


def residuals(program, theta, rows):
    work = linked(program, theta, rows)
    evaluation.weigh_block(rows, 0, -1, work)
    return work.residual[: rows.block_start[1]].copy()


@pytest.mark.parametrize("logarithmic", [False, True])
def test_derivatives_are_those_of_finite_differences(typed_problem, drawing, logarithmic):
    # Positive, since the slope of 0^x is not defined.
    grammar, columns = typed_problem.grammar, typed_problem.columns + 0.5
    n = 120
    y = np.linspace(1.0, 2.0, n)
    rows = make_rows(columns, y, np.ones(n), np.ones(n), np.zeros(n, np.int64), logarithmic=logarithmic)
    checked = 0
    for _ in range(60):
        programs = encode(forest_of([Individual(grammar.grow(grammar.target, 4, drawing))], grammar))
        program, theta = programs.tokens, programs.theta
        first = residuals(program, theta, rows)
        if not theta.size or not np.all(np.isfinite(first)):
            continue
        work = linked(program, theta, rows)
        evaluation.weigh_block(rows, 0, -1, work)
        evaluation.differentiate(program, rows, 0, work)
        for p in range(theta.size):
            size = 1e-6 * max(1.0, abs(theta[p]))
            up, down = theta.copy(), theta.copy()
            up[p] += size
            down[p] -= size
            numeric = (residuals(program, up, rows) - residuals(program, down, rows)) / (2.0 * size)
            if np.all(np.isfinite(numeric)):
                np.testing.assert_allclose(work.jacobian[p, :n], numeric, rtol=1e-4, atol=1e-5)
                checked += 1
    assert checked > 60


CODES = kernels.OPERATOR_CODES


@pytest.mark.parametrize("robust", [SQUARES, HUBER, SOFT_L1])
def test_losses_are_those_of_their_definitions(robust, programs_of):
    values = np.array([0.5, 0.99, 1.0, 1.2, 4.0])
    rows = make_rows(
        values[None, :],
        np.ones(5),
        np.ones(5),
        np.ones(5),
        np.zeros(5, np.int64),
        logarithmic=False,
        robust=robust,
        width=0.3,
    )
    work = linked(programs_of(([1], [])).tokens, np.zeros(0), rows)
    r = np.abs(values - 1.0)
    expected = {
        SQUARES: r**2,
        HUBER: np.where(r > 0.3, (2.0 * r - 0.3) * 0.3, r**2),
        SOFT_L1: 2.0 * 0.3**2 * (np.sqrt(1.0 + (r / 0.3) ** 2) - 1.0),
    }[robust]
    assert evaluation.weigh_block(rows, 0, -1, work) == pytest.approx(np.mean(expected))


def test_a_skipped_group_weighs_nothing(programs_of):
    values = np.arange(1.0, 7.0)
    group = np.array([0, 0, 1, 1, 2, 2])
    rows = make_rows(values[None, :], np.zeros(6), np.ones(6), np.ones(6), group, logarithmic=False)
    work = linked(programs_of(([1], [])).tokens, np.zeros(0), rows)
    assert evaluation.weigh_block(rows, 0, 1, work) == pytest.approx((1.0 + 4.0 + 25.0 + 36.0) / 6.0)
    assert work.residual[2:4].tolist() == [0.0, 0.0]
    assert work.factor[2:4].tolist() == [0.0, 0.0]
    assert np.all(work.residual[[0, 1, 4, 5]] > 0.0)


@pytest.mark.parametrize(
    ("skip", "start", "n", "expected"),
    [(-1, 0, 5, (5, 5)), (0, 0, 5, (0, 2)), (1, 0, 5, (2, 5)), (1, 4, 3, (0, 2)), (2, 0, 4, (4, 4))],
)
def test_the_range_of_a_group_is_cut_to_its_block(skip, start, n, expected):
    group = np.repeat([0, 1, 2], [2, 4, 3])
    rows = make_rows(np.ones((1, 9)), np.ones(9), np.ones(9), np.ones(9), group, logarithmic=False)
    assert evaluation.skipped_range(rows, start, n, skip) == expected


def test_values_of_logarithms_must_be_positive(programs_of):
    rows = make_rows(
        np.array([[1.0, -1.0]]), np.ones(2), np.ones(2), np.ones(2), np.zeros(2, np.int64), logarithmic=True
    )
    work = linked(programs_of(([1], [])).tokens, np.zeros(0), rows)
    assert math.isnan(evaluation.weigh_block(rows, 0, -1, work))
