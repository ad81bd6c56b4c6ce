"""Least squares with numpy only: the path of a non-negative lasso, and robust non-linear with a prior."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from trainlaw.formulas.errors import InputError


def nonnegative_lasso_path(gram: np.ndarray, moment: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Return the x >= 0 that minimise x'Gx / 2 - m'x + penalty sum(x), shape (n_penalties, k).

    gram : A'A, shape (k, k). moment : A'b, shape (k,). penalties : falling, (n_penalties,).

    Homotopy of Efron et al. ("Least angle regression", Annals of Statistics 32(2), 2004), with x >= 0:
    between two changes of its support x is linear in the penalty. A path of more than 10 k changes ends
    there. A millionth of the mean diagonal is added to G's, so that equal columns share their weight.

    >>> nonnegative_lasso_path(np.eye(2), np.array([3.0, 1.0]), np.array([2.0, 0.5])).round(4).tolist()
    [[1.0, 0.0], [2.5, 0.5]]
    """
    gram = gram + np.diag(np.full(len(moment), 1e-6 * np.diag(gram).mean()))
    state = _PathState(gram, np.array(moment, dtype=float))
    return np.array([state.at(float(penalty)) for penalty in penalties])


class _PathState:
    """A point on the path of a non-negative lasso: all slopes of the support are equal to the level."""

    def __init__(self, gram: np.ndarray, moment: np.ndarray) -> None:
        self.gram, self.slope = gram, moment
        self.x, self.support = np.zeros(len(moment)), np.zeros(len(moment), dtype=bool)
        self.level, self.changes_left = float(moment.max(initial=0.0)), 10 * len(moment)

    def at(self, penalty: float) -> np.ndarray:
        """Follow the path down to `penalty` and return x there."""
        if not self.support.any() and self.level > penalty:
            self.support[np.argmax(self.slope)] = True
        while self.level > penalty and self.changes_left:
            self._change(penalty)
        return self.x.copy()

    def _change(self, penalty: float) -> None:
        """Lower the level to where a column enters or leaves the support, or to `penalty`."""
        inside = np.flatnonzero(self.support)
        direction = np.linalg.solve(self.gram[np.ix_(inside, inside)], np.ones(len(inside)))
        fall = self.gram[:, inside] @ direction
        with np.errstate(all="ignore"):
            entering = (self.level - self.slope) / (1.0 - fall)
            leaving = np.where(direction < 0, -self.x[inside] / direction, np.inf)
        # A slope that falls as fast as the level never meets it; rounding may put one just above it.
        entering = np.where(self.support | (fall >= 1.0 - 1e-12), np.inf, np.maximum(entering, 0.0))
        step = min(self.level - penalty, entering.min(), leaving.min())
        self.x[inside] = np.maximum(self.x[inside] + step * direction, 0.0)
        self.slope = self.slope - step * fall
        if step == self.level - penalty:
            self.level = penalty
            return
        self.level -= step
        self.changes_left -= 1
        if step == leaving.min():
            gone = inside[np.argmin(leaving)]
            self.support[gone], self.x[gone] = False, 0.0
        else:
            self.support[np.argmin(entering)] = True


@dataclass(frozen=True, eq=False)
class LeastSquaresFit:
    """Parameters, shape (k,), their cost, the number of steps, and whether the fit converged."""

    parameters: np.ndarray
    cost: float
    steps: int
    converged: bool


#: Parameters (k,) to residuals (n,) and their derivatives (n, k).
Residuals = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def robust_least_squares(
    residuals: Residuals,
    start: np.ndarray,
    *,
    soft_l1_scale: float | np.ndarray = np.inf,
    deviation: float | np.ndarray = np.inf,
    max_steps: int = 300,
    tolerance: float = 1e-10,
) -> LeastSquaresFit:
    """Minimise the sum of soft-L1 losses of the residuals plus the squared, scaled distance from the start.

    Loss of a residual r at scale s: s^2 (sqrt(1 + (r/s)^2) - 1), which is r^2 / 2 for small r or infinite s.
    soft_l1_scale : s, one for all or (n,); residuals r sqrt(w) at scales s sqrt(w) give a loss weighted by w.
    deviation : standard deviation of a normal prior around the start, one for all or (k,); infinite for none.
    max_steps : of Levenberg-Marquardt. tolerance : relative gain of the cost below which an accepted step
    counts as convergence.

    Levenberg-Marquardt with damping by the diagonal (Marquardt, SIAM J. Appl. Math. 11, 1963); robust loss by
    first-order reweighting (Triggs et al., "Bundle adjustment: a modern synthesis", 2000). InputError if the
    residuals at the start are not finite.
    """
    parameters = np.array(start, dtype=float)
    precision = 1.0 / np.broadcast_to(deviation, parameters.shape) ** 2
    at = partial(_cost, residuals, soft_l1_scale, parameters, precision)
    cost, gradient, hessian = at(parameters)
    if not np.isfinite(cost):
        raise InputError("least squares: the residuals at the starting parameters are not finite")
    damping, converged, steps = 1e-3, False, 0
    while not converged and steps < max_steps:
        steps += 1
        trial = parameters - _damped_step(hessian, gradient, damping)
        trial_cost, trial_gradient, trial_hessian = at(trial)
        if trial_cost <= cost:
            converged = cost - trial_cost <= tolerance * cost
            parameters, cost, gradient, hessian = trial, trial_cost, trial_gradient, trial_hessian
            damping = max(damping / 5.0, 1e-12)
        else:
            damping *= 4.0
            converged = damping > 1e12
    return LeastSquaresFit(parameters, float(cost), steps, bool(converged))


def _damped_step(hessian: np.ndarray, gradient: np.ndarray, damping: float) -> np.ndarray:
    diagonal = np.diag(hessian)
    # A parameter without influence has a zero on the diagonal, which would leave the matrix singular.
    damped = hessian + np.diag(damping * np.maximum(diagonal, 1e-12 * diagonal.max(initial=1e-300)))
    return np.asarray(np.linalg.lstsq(damped, gradient, rcond=None)[0])


def _cost(
    residuals: Residuals,
    scale: float | np.ndarray,
    start: np.ndarray,
    precision: np.ndarray,
    parameters: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return cost, gradient and Gauss-Newton matrix; an infinite cost if a residual is not finite."""
    with np.errstate(all="ignore"):
        values, slopes = residuals(parameters)
    if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
        return np.inf, np.zeros_like(parameters), np.eye(len(parameters))
    stretch = np.sqrt(1.0 + (values / scale) ** 2)
    # s^2 (stretch - 1), in a form that keeps all digits for small residuals and an infinite scale.
    cost = float(np.sum(values**2 / (1.0 + stretch)))
    weighted, distance = slopes / stretch[:, None], parameters - start
    products = product_by_blocks(weighted, np.column_stack([values, slopes]))
    cost += 0.5 * float(precision @ distance**2)
    return cost, products[:, 0] + precision * distance, products[:, 1:] + np.diag(precision)


def product_by_blocks(left: np.ndarray, right: np.ndarray, block: int = 128) -> np.ndarray:
    """Return `left.T @ right`, both with n rows, summed over blocks of rows.

    The blocks are too small for BLAS to start threads. As one product it is 10 times slower on busy cores,
    and its last digits depend on the number of threads.
    """
    starts = range(0, len(left), block)
    return sum(
        (left[start : start + block].T @ right[start : start + block] for start in starts),
        start=np.zeros((left.shape[1], right.shape[1])),
    )


def with_numeric_slopes(values: Callable[[np.ndarray], np.ndarray]) -> Residuals:
    """Return residuals with derivatives by central differences, for a function of few parameters.

    values : parameters (k,) to residuals (n,).
    """

    def residuals(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes = []
        for index in range(len(parameters)):
            step = np.zeros(len(parameters))
            step[index] = 1e-6 * max(1.0, abs(parameters[index]))
            slopes.append((values(parameters + step) - values(parameters - step)) / (2.0 * step[index]))
        return values(parameters), np.column_stack(slopes)

    return residuals
