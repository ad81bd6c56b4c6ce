from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.validate.least_squares import (
    nonnegative_lasso_path,
    robust_least_squares,
    with_numeric_slopes,
)

optimize = pytest.importorskip("scipy.optimize")


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 3))
def test_the_path_of_the_lasso_is_optimal_everywhere(seed, n_columns, n_copies):
    """Kuhn and Tucker: slopes equal the penalty where x > 0, and are nowhere above it."""
    random = np.random.default_rng(seed)
    A = random.normal(size=(30, n_columns)) + random.uniform(0, 2)
    A = np.hstack([A, A[:, : min(n_copies, n_columns)]])
    A, b = A / np.linalg.norm(A, axis=0), random.normal(size=30)
    gram, moment = A.T @ A, A.T @ b
    penalties = max(moment.max(), 0.1) * np.geomspace(1.5, 1e-4, 9)
    for x, penalty in zip(nonnegative_lasso_path(gram, moment, penalties), penalties, strict=True):
        slope = moment - gram @ x - 1e-6 * x
        assert (x >= 0).all()
        assert slope.max() <= penalty + 1e-8
        assert slope[x > 0] == pytest.approx(np.full((x > 0).sum(), penalty), abs=1e-8)


def test_residuals_with_scales_of_their_own_are_weighted():
    """A row of weight 3 counts as three rows."""
    x, y = np.linspace(0, 3, 7), 5.0 * np.exp(-1.5 * np.linspace(0, 3, 7)) + np.eye(7)[2]
    roots, thrice = np.sqrt(np.where(np.arange(7) == 2, 3.0, 1.0)), np.array([0, 1, 2, 2, 2, 3, 4, 5, 6])

    def weighted(parameters):
        values, slopes = exponential_decay(x, y)(parameters)
        return roots * values, roots[:, None] * slopes

    by_weight = robust_least_squares(weighted, np.array([1.0, 0.1]), soft_l1_scale=0.3 * roots)
    repeated = exponential_decay(x[thrice], y[thrice])
    by_copies = robust_least_squares(repeated, np.array([1.0, 0.1]), soft_l1_scale=0.3)
    assert by_weight.parameters == pytest.approx(by_copies.parameters, rel=1e-5)
    assert by_weight.cost == pytest.approx(by_copies.cost, rel=1e-9)


def exponential_decay(x, y):
    return with_numeric_slopes(lambda p: p[0] * np.exp(-p[1] * x) - y)


def test_finds_the_truth_of_a_nonlinear_model():
    x = np.linspace(0, 3, 40)
    fitted = robust_least_squares(exponential_decay(x, 5.0 * np.exp(-1.5 * x)), np.array([1.0, 0.1]))
    assert fitted.parameters == pytest.approx([5.0, 1.5], rel=1e-6)
    assert fitted.converged
    assert fitted.cost == pytest.approx(0.0, abs=1e-12)


@given(st.integers(0, 1000))
def test_soft_l1_agrees_with_scipy(seed):
    random = np.random.default_rng(seed)
    x = np.linspace(0, 3, 40)
    y = (
        5.0 * np.exp(-1.5 * x)
        + 0.05 * random.normal(size=40)
        + np.where(random.uniform(size=40) < 0.1, 2.0, 0.0)
    )
    fitted = robust_least_squares(
        exponential_decay(x, y), np.array([1.0, 0.5]), soft_l1_scale=0.1, tolerance=1e-14
    )
    reference = optimize.least_squares(
        lambda p: p[0] * np.exp(-p[1] * x) - y,
        [1.0, 0.5],
        loss="soft_l1",
        f_scale=0.1,
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    assert fitted.cost == pytest.approx(reference.cost, rel=1e-5)


def test_outliers_hardly_move_a_robust_fit():
    x = np.linspace(0, 1, 50)
    y = 2.0 * x + np.where(np.arange(50) % 10 == 0, 50.0, 0.0)
    line = with_numeric_slopes(lambda p: p[0] * x - y)
    plain = robust_least_squares(line, np.array([1.0])).parameters[0]
    robust = robust_least_squares(line, np.array([1.0]), soft_l1_scale=0.01).parameters[0]
    assert abs(robust - 2.0) < 0.2 < abs(plain - 2.0)


def test_prior_gives_the_posterior_mean_of_a_linear_model():
    # One observation y = p + noise of deviation 1 and a prior N(0, 0.5): posterior mean y / (1 + 1 / 0.25).
    observation = with_numeric_slopes(lambda p: p - 3.0)
    fitted = robust_least_squares(observation, np.zeros(1), deviation=0.5)
    assert fitted.parameters == pytest.approx([0.6])
    assert fitted.cost == pytest.approx(0.5 * (0.6 - 3.0) ** 2 + 0.5 * (0.6 / 0.5) ** 2)


def test_steps_to_invalid_residuals_are_reverted():
    fitted = robust_least_squares(with_numeric_slopes(lambda p: np.log(p) - np.log(1e-6)), np.array([5.0]))
    assert fitted.parameters == pytest.approx([1e-6], rel=1e-6)


def test_limit_of_steps_is_kept():
    x = np.linspace(0, 3, 40)
    fitted = robust_least_squares(
        exponential_decay(x, 5 * np.exp(-1.5 * x)), np.array([1.0, 0.1]), max_steps=2
    )
    assert fitted.steps == 2
    assert not fitted.converged


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_the_fit_ends_with_the_first_step_that_gains_too_little(tolerance):
    x = np.linspace(0, 3, 40)
    noisy = exponential_decay(x, 5.0 * np.exp(-1.5 * x) + 0.1 * np.sin(20.0 * x))

    def cost(max_steps):
        fitted = robust_least_squares(noisy, np.array([4.0, 1.0]), max_steps=max_steps, tolerance=tolerance)
        return fitted.cost

    whole = robust_least_squares(noisy, np.array([4.0, 1.0]), tolerance=tolerance)
    assert whole.converged
    costs = [cost(steps) for steps in range(whole.steps + 1)]
    gains = [(before - after) / before for before, after in pairwise(costs)]
    assert all(gain > tolerance for gain in gains[:-1])
    assert gains[-1] <= tolerance
    assert cost(1000) == whole.cost


def test_an_exact_start_needs_one_step():
    fitted = robust_least_squares(with_numeric_slopes(lambda p: p - 3.0), np.array([3.0]))
    assert (fitted.parameters.tolist(), fitted.cost, fitted.steps, fitted.converged) == ([3.0], 0.0, 1, True)


def test_without_a_step_that_gains_the_fit_ends_at_the_largest_damping():
    """Slopes of the wrong sign: each rejected step multiplies the damping by 4, from 1e-3 to above 1e12."""

    def misleading(parameters):
        return parameters, -np.eye(1)

    fitted = robust_least_squares(misleading, np.array([2.0]))
    assert fitted.converged
    assert fitted.parameters.tolist() == [2.0]
    assert fitted.steps == 25
