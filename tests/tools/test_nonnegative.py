import numpy as np
import pytest

pytest.importorskip("scipy")

from tools.nonnegative import nonnegative_least_squares


def test_nonnegative_solution_of_positive_truth_is_exact_whatever_the_columns_are_measured_in():
    random = np.random.default_rng(0)
    units = 10.0 ** random.uniform(-6, 6, 5)
    A = random.uniform(size=(30, 5)) * units
    truth = np.array([1.0, 0.0, 2.0, 0.0, 3.0]) / units
    assert nonnegative_least_squares(A, A @ truth) * units == pytest.approx(truth * units, abs=1e-9)


def test_nonnegative_least_squares_takes_columns_of_zeros_and_refuses_what_is_not_finite():
    assert nonnegative_least_squares(np.zeros((3, 2)), np.ones(3)).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError):
        nonnegative_least_squares(np.array([[np.nan]]), np.array([1.0]))
