import numpy as np
import pytest
from trainlaw.evolve.machine.arrays import BLOCK_ROWS, VARIABLE, WEIGHTED
from trainlaw.evolve.machine.batch import Machine
from trainlaw.evolve.machine.kernels import OPERATOR_CODES
from trainlaw.evolve.search.individuals import Individual, forest_of
from trainlaw.evolve.search.trees import encode, to_expression
from trainlaw.formulas import evaluate

CODES = OPERATOR_CODES


def grown(drawing, problem, count, depth):
    grammar = problem.grammar
    return [Individual(grammar.grow(grammar.target, depth, drawing)) for _ in range(count)]


def test_trees_have_the_losses_of_their_expressions(untyped_problem, drawing):
    trees = grown(drawing, untyped_problem, 300, 6)
    rows = untyped_problem.rows
    programs = encode(forest_of(trees, untyped_problem.grammar))
    found = Machine(2).fit(programs, rows, steps=0)
    columns = dict(zip("abc", rows.columns[:, : rows.target.size], strict=True))
    for tree, loss in zip(trees, found.losses, strict=True):
        values, valid = evaluate(to_expression(tree), columns)
        expected = np.sum(rows.weight * ((values - rows.target) * rows.scale) ** 2)
        if np.all(valid) and expected < 1e12:
            np.testing.assert_allclose(loss, expected, rtol=1e-6)


@pytest.mark.parametrize("count", [1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 5])
def test_losses_do_not_depend_on_how_rows_are_cut(count, programs_of, plain_rows):
    columns = np.random.default_rng(1).uniform(1.0, 2.0, (2, count))
    program = [CODES["mul"], CODES["add"], VARIABLE, WEIGHTED + 256, VARIABLE + 256]
    values = (columns[0] + 3.0 * columns[1]) * columns[1]
    found = Machine().fit(programs_of((program, [3.0])), plain_rows(columns, values + 2.0), steps=0)
    np.testing.assert_allclose(found.losses, 4.0, rtol=1e-12)


@pytest.mark.parametrize("rescales", [False, True])
def test_threads_change_nothing(untyped_problem, drawing, rescales):
    trees = grown(drawing, untyped_problem, 64, 5)
    programs = encode(forest_of(trees, untyped_problem.grammar))
    results = [Machine(n).fit(programs, untyped_problem.rows, steps=5, rescales=rescales) for n in (1, 3)]
    for one, other in zip(*((r.losses, r.theta, r.cases) for r in results), strict=True):
        assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("share", [0.2, 5.0])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_rescaling_finds_the_overall_factor_at_once(logarithmic, share, programs_of, plain_rows):
    columns = np.random.default_rng(2).uniform(1.0, 2.0, (2, 100))
    programs = programs_of(
        ([CODES["add"], WEIGHTED, WEIGHTED + 256], [share, 2.0 * share]), lower=0.0, scaling=True
    )
    rows = plain_rows(columns, columns[0] + 2.0 * columns[1], logarithmic=logarithmic)
    result = Machine().fit(programs, rows, steps=0, rescales=True)
    np.testing.assert_allclose(result.theta, [1.0, 2.0])


def test_rescaling_moves_only_scaling_constants(programs_of, plain_rows):
    columns = np.random.default_rng(2).uniform(1.0, 2.0, (1, 100))
    programs = programs_of(([WEIGHTED], [0.2]))
    result = Machine().fit(programs, plain_rows(columns, columns[0]), steps=0, rescales=True)
    assert result.theta.tolist() == [0.2]


def test_starting_constants_are_moved_into_their_bounds(programs_of, plain_rows):
    programs = programs_of(([WEIGHTED], [9.0]), ([WEIGHTED], [-9.0]), lower=0.0, upper=2.0)
    result = Machine().fit(programs, plain_rows(np.ones((1, 4)), np.ones(4)), steps=0)
    assert result.theta.tolist() == [2.0, 0.0]


def test_losses_per_group_average_to_the_loss(programs_of, plain_rows):
    generator = np.random.default_rng(5)
    columns, group = generator.uniform(1.0, 2.0, (1, 60)), np.arange(60) % 4
    rows = plain_rows(columns, generator.uniform(1.0, 2.0, 60), group)
    result = Machine().fit(programs_of(([WEIGHTED], [1.0])), rows, steps=9)
    assert result.cases[0] @ rows.group_weight == pytest.approx(result.losses[0])
