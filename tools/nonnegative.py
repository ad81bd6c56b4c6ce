"""Non-negative least squares, for the formulas of GPU pairs."""

import numpy as np
from scipy.optimize import nnls


def nonnegative_least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the x >= 0, shape (k,), that minimises |A x - b|; A has shape (n, k), b shape (n,).

    Columns are scaled to unit length first: seconds of operations and of a whole iteration differ by far.
    ValueError for unequal shapes or values that are not finite.

    >>> nonnegative_least_squares(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])).tolist()
    [2.0, 0.0]
    """
    lengths = np.linalg.norm(A, axis=0)
    lengths[lengths == 0] = 1.0  # a column of zeros stays as it is
    return np.asarray(nnls(A / lengths, b)[0] / lengths)
