"""Non-negative least squares, for the formulas of GPU pairs."""

import numpy as np
from trainlaw.formulas import InputError
from trainlaw.validate.least_squares import product_by_blocks


def nonnegative_least_squares(A: np.ndarray, b: np.ndarray, max_steps: int | None = None) -> np.ndarray:
    """Return the x >= 0, shape (k,), that minimises |A x - b|; A has shape (n, k), b shape (n,).

    Active-set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23), on columns
    scaled to unit length. InputError for unequal shapes or values that are not finite.

    >>> nonnegative_least_squares(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])).tolist()
    [2.0, 0.0]
    """
    A, b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    if A.ndim != 2 or b.shape != A.shape[:1] or not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise InputError(f"expected finite A (n, k) and b (n,), got shapes {A.shape} and {b.shape}")
    lengths = np.linalg.norm(A, axis=0)
    lengths[lengths == 0] = 1.0  # a column of zeros stays as it is
    A = A / lengths
    gram, moment = product_by_blocks(A, A), A.T @ b
    x, passive = np.zeros(A.shape[1]), np.zeros(A.shape[1], dtype=bool)
    # Relative to the right-hand side; otherwise a column of rounding errors enters and leaves in a cycle.
    tolerance = 1e-12 * max(np.abs(moment).max(initial=0.0), np.finfo(float).tiny)
    for _ in range(max_steps or 10 * A.shape[1]):
        slope = np.where(passive, -np.inf, moment - gram @ x)
        if passive.all() or slope.max() <= tolerance:
            break
        passive[np.argmax(slope)] = True
        x = _feasible(gram, moment, x, passive)
    return np.asarray(x / lengths)


def _feasible(gram: np.ndarray, moment: np.ndarray, x: np.ndarray, passive: np.ndarray) -> np.ndarray:
    """Return the least-squares solution over `passive`, without the members that become negative."""
    while passive.any():
        target = np.zeros_like(x)
        target[passive] = np.linalg.lstsq(gram[np.ix_(passive, passive)], moment[passive], rcond=None)[0]
        blocked = passive & (target <= 0)
        if not blocked.any():
            return target
        ratio = x[blocked] / (x[blocked] - target[blocked])
        x = x + np.nan_to_num(ratio).min() * (target - x)
        passive &= x > 1e-15 * np.abs(x).max(initial=0.0)
        x[~passive] = 0.0
    return np.zeros_like(x)
