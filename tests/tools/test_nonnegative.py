import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import InputError

from tools.nonnegative import nonnegative_least_squares

optimize = pytest.importorskip("scipy.optimize")


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(0, 4))
def test_nonnegative_solution_is_scipys(seed, n_columns, n_copies):
    random = np.random.default_rng(seed)
    A = random.normal(size=(20, n_columns)) * 10.0 ** random.uniform(-6, 6, n_columns)
    A = np.hstack([A, A[:, : min(n_copies, n_columns)]])
    b = random.normal(size=20)
    x = nonnegative_least_squares(A, b)
    assert (x >= 0).all()
    assert np.linalg.norm(A @ x - b) == pytest.approx(optimize.nnls(A, b)[1], rel=1e-9)


def test_nonnegative_solution_of_positive_truth_is_exact():
    A = np.random.default_rng(0).uniform(size=(30, 5))
    truth = np.array([1.0, 0.0, 2.0, 0.0, 3.0])
    assert nonnegative_least_squares(A, A @ truth) == pytest.approx(truth, abs=1e-9)


def test_nonnegative_least_squares_refuses_unfit_input():
    with pytest.raises(InputError, match="expected finite A"):
        nonnegative_least_squares(np.array([[np.nan]]), np.array([1.0]))
    assert nonnegative_least_squares(np.zeros((3, 2)), np.ones(3)).tolist() == [0.0, 0.0]
