"""Which runs to measure next, so that a formula's predictions become surer: optimal design of experiments.

Near their fitted values a formula is linear in the logarithms of its constants; measuring a row removes what
its slopes tell about them. Sources: Atkinson, Donev, Tobias, "Optimum experimental designs", 2007 (I- and
D-optimality); Cohn, Ghahramani, Jordan, "Active learning with statistical models", 1996; Johnson, Moore,
Ylvisaker, "Minimax and maximin distance designs", 1990.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from trainlaw.formulas.errors import InputError

# No fit is trusted further than this: repeats of one configuration differ by some percent in other programs.
_LEAST_NOISE = 0.05


@dataclass(frozen=True, eq=False)
class Design:
    """What is not sure about the candidates before any of them is measured.

    spread : (n_candidates, k); `spread @ spread.T` is the covariance of ln(predicted seconds). noise :
    standard deviation of ln(measured seconds) about the formula.
    """

    spread: np.ndarray
    noise: float

    @classmethod
    def of(
        cls,
        measured_slopes: np.ndarray,
        candidate_slopes: np.ndarray,
        residuals: np.ndarray,
        prior_deviation: float = 1.0,
    ) -> Self:
        """Return the design after a fit.

        measured_slopes, candidate_slopes : d ln(seconds) / d ln(constant), shapes (n_measured, k) and
        (n_candidates, k). residuals : ln(predicted / measured), shape (n_measured,). prior_deviation : of
        ln(constant) before the fit. InputError where a value is not finite.
        """
        parts = (measured_slopes, candidate_slopes, residuals)
        if not all(np.isfinite(part).all() for part in parts):
            raise InputError("the formula has no finite, positive time for a measured run or a candidate")
        noise = max(_LEAST_NOISE, float(np.sqrt(np.mean(np.square(residuals)))))
        precision = measured_slopes.T @ measured_slopes / noise**2
        precision += np.eye(precision.shape[0]) / prior_deviation**2
        return cls(candidate_slopes @ np.linalg.inv(np.linalg.cholesky(precision)).T, noise)

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviation of ln(predicted seconds) of each candidate, shape (n_candidates,)."""
        return np.sqrt(np.square(self.spread).sum(axis=1))

    def variance_removed(self, rows: Sequence[int]) -> float:
        """Return which share of the mean variance over all candidates measuring `rows` removes, 0 to 1."""
        whole = self._gram.trace()
        return 1.0 - float((self._remaining(rows) * self._gram).sum() / whole) if whole > 0 else 0.0

    def information(self, rows: Sequence[int]) -> float:
        """Return what measuring `rows` tells about the constants, in nats."""
        return -0.5 * float(np.linalg.slogdet(self._remaining(rows))[1])

    @cached_property
    def _gram(self) -> np.ndarray:
        return self.spread.T @ self.spread

    def _remaining(self, rows: Sequence[int]) -> np.ndarray:
        """Covariance of the (whitened) constants once `rows` are measured, shape (k, k)."""
        taken = self.spread[np.asarray(rows, dtype=np.intp)]
        return np.linalg.inv(np.eye(taken.shape[1]) + taken.T @ taken / self.noise**2)

    def greedy(self, size: int, information: bool = False) -> list[int]:
        """Return `size` candidates, each the best after those before it.

        information : whether the best tells most about the constants, or else removes most variance.
        """
        remaining, gram = np.eye(self.spread.shape[1]), self._gram
        chosen: list[int] = []
        for _ in range(min(size, len(self.spread))):
            moved = self.spread @ remaining
            variances = np.einsum("ij,ij->i", moved, self.spread) + self.noise**2
            gains = variances if information else np.einsum("ij,jk,ik->i", moved, gram, moved) / variances
            gains[chosen] = -np.inf
            best = int(np.argmax(gains))
            chosen.append(best)
            remaining = remaining - np.outer(moved[best], moved[best]) / variances[best]
        return chosen


def space_filling(measured: np.ndarray, candidates: np.ndarray, size: int) -> list[int]:
    """Return `size` candidates, each the farthest from all rows measured or chosen before (maximin).

    measured, candidates : positions, shapes (n_measured, d) and (n_candidates, d), on comparable scales.

    >>> space_filling(np.array([[0.0]]), np.array([[1.0], [4.0], [5.0]]), 2)
    [2, 0]
    """
    nearest = np.full(len(candidates), np.inf)
    for row in measured:
        nearest = np.minimum(nearest, np.square(candidates - row).sum(axis=1))
    chosen: list[int] = []
    for _ in range(min(size, len(candidates))):
        nearest[chosen] = -np.inf
        best = int(np.argmax(nearest))
        chosen.append(best)
        nearest = np.minimum(nearest, np.square(candidates - candidates[best]).sum(axis=1))
    return chosen
