"""Which runs to measure next, so that a formula's predictions become better: design of experiments.

A run is known to a formula by its slopes: how ln(seconds) moves with ln of each constant, here in units of
what is not sure about the constants. `Representation` asks that every candidate has a measured run of like
slopes, so that a form that is never quite right is fitted to a fair sample. `Design` takes the form as right,
as optimal designs do: measuring a row removes what its slopes tell about the constants.

Sources: Kaufman, Rousseeuw, "Finding groups in data", 1990 (medoids); Atkinson, Donev, Tobias, "Optimum
experimental designs", 2007 (I- and D-optimality); Cohn, Ghahramani, Jordan, "Active learning with statistical
models", 1996; Johnson, Moore, Ylvisaker, "Minimax and maximin distance designs", 1990.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from trainlaw.formulas.errors import InputError

# No fit is trusted further than this: repeats of one configuration differ by some percent in other programs.
_LEAST_NOISE = 0.05


def standardised_slopes(
    measured_slopes: np.ndarray,
    candidate_slopes: np.ndarray,
    residuals: np.ndarray,
    prior_deviation: float = 1.0,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return slopes in standard deviations of the constants, of measured rows and candidates, and the noise.

    measured_slopes, candidate_slopes : d ln(seconds) / d ln(constant), shapes (n_measured, k) and
    (n_candidates, k). So are the results, whose products are covariances of ln(predicted seconds).
    residuals : ln(predicted / measured), shape (n_measured,). prior_deviation : of ln(constant) before the
    fit. noise : standard deviation of ln(measured seconds) about the formula. InputError where a value is not
    finite.
    """
    parts = (measured_slopes, candidate_slopes, residuals)
    if not all(np.isfinite(part).all() for part in parts):
        raise InputError("the formula has no finite, positive time for a measured run or a candidate")
    noise = max(_LEAST_NOISE, float(np.sqrt(np.mean(np.square(residuals)))))
    precision = measured_slopes.T @ measured_slopes / noise**2
    precision += np.eye(precision.shape[0]) / prior_deviation**2
    factor = np.linalg.inv(np.linalg.cholesky(precision)).T
    return measured_slopes @ factor, candidate_slopes @ factor, noise


@dataclass(frozen=True, eq=False)
class Design:
    """What is not sure about the candidates before any of them is measured.

    spread, noise : of the candidates, as `standardised_slopes` gives them.
    """

    spread: np.ndarray
    noise: float

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


# Of more candidates only so many, evenly spaced, are to be represented.
_MOST_REPRESENTED = 1000


@dataclass(frozen=True, eq=False)
class Representation:
    """How well measured runs stand for all candidates.

    distances : squared, from each candidate to those that are to be represented, (n_candidates, m).
    nearest : squared distance of these to the nearest measured run, (m,).
    """

    distances: np.ndarray
    nearest: np.ndarray

    @classmethod
    def of(cls, measured: np.ndarray, candidates: np.ndarray) -> Self:
        """Return the representation before any candidate is measured.

        measured, candidates : slopes, as `standardised_slopes` gives them.
        """
        amount = len(candidates)
        places = np.unique(np.linspace(0, amount - 1, min(amount, _MOST_REPRESENTED)).astype(int))
        targets = candidates[places]
        return cls(_squared_distances(candidates, targets), _squared_distances(measured, targets).min(axis=0))

    def share(self, rows: Sequence[int]) -> float:
        """Return by which share the mean squared distance falls once `rows` are measured, 0 to 1."""
        before = float(self.nearest.mean())
        reached = self.distances[np.asarray(rows, dtype=np.intp)].min(axis=0, initial=np.inf)
        return 1.0 - float(np.minimum(self.nearest, reached).mean()) / before if before > 0 else 0.0

    def greedy(self, size: int) -> list[int]:
        """Return `size` candidates, each the best after those before it."""
        nearest, chosen = self.nearest, list[int]()
        for _ in range(min(size, len(self.distances))):
            left = np.minimum(self.distances, nearest).sum(axis=1)
            left[chosen] = np.inf
            chosen.append(int(np.argmin(left)))
            nearest = np.minimum(nearest, self.distances[chosen[-1]])
        return chosen

    def exchanged(self, rows: Sequence[int]) -> list[int]:
        """Return a set from which no exchange of one row gains: each in turn gives way to the best one."""
        chosen = list(rows)
        improved = True
        while improved:
            improved = False
            for place in range(len(chosen)):
                others = chosen[:place] + chosen[place + 1 :]
                nearest = np.minimum(self.nearest, self.distances[others].min(axis=0, initial=np.inf))
                left = np.minimum(self.distances, nearest).sum(axis=1)
                left[others] = np.inf
                best = int(np.argmin(left))
                if left[best] < left[chosen[place]] * (1 - 1e-12):
                    chosen[place], improved = best, True
        return chosen


def _squared_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs, shape (len(first), len(second)), in blocks of a few million numbers."""
    block = max(1, 4_000_000 // max(1, second.size))
    starts = range(0, len(first), block)
    return np.vstack([np.square(first[start : start + block, None] - second).sum(axis=2) for start in starts])


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
