"""Design of experiments: which runs to measure next, so that the predictions of a formula improve.

A formula describes a run by its slopes, d ln(seconds) / d ln(constant), here in units of the uncertainty of
the constants. `Representation` requires a measured run with similar slopes for every candidate, so that an
imperfect form is fitted to a representative sample. `Design` assumes that the form is exact, as optimal
designs do: measuring a row removes the uncertainty along its slopes.

Sources: Kaufman, Rousseeuw, "Finding groups in data", 1990 (medoids); Atkinson, Donev, Tobias, "Optimum
experimental designs", 2007 (I-optimality); Cohn, Ghahramani, Jordan, "Active learning with statistical
models", 1996; Johnson, Moore, Ylvisaker, "Minimax and maximin distance designs", 1990.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from trainlaw.formulas.errors import InputError

# Repeats of one configuration differ by a few percent between programs, so no fit is trusted beyond this.
_LEAST_NOISE = 0.05


def standardised_slopes(
    measured_slopes: np.ndarray, candidate_slopes: np.ndarray, residuals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return slopes in standard deviations of the constants, for measured rows and candidates, and the noise.

    measured_slopes, candidate_slopes : d ln(seconds) / d ln(constant), shapes (n_measured, k) and
    (n_candidates, k), as in the result, whose products are covariances of ln(predicted seconds).
    residuals : ln(predicted / measured), shape (n_measured,). noise : standard deviation of ln(measured
    seconds) around the formula. InputError if a value is not finite.
    """
    parts = (measured_slopes, candidate_slopes, residuals)
    if not all(np.isfinite(part).all() for part in parts):
        raise InputError("the formula has no finite, positive time for a measured run or a candidate")
    noise = max(_LEAST_NOISE, float(np.sqrt(np.mean(np.square(residuals)))))
    precision = measured_slopes.T @ measured_slopes / noise**2
    # Of ln(constant) before the fit, the standard deviation is 1.
    precision += np.eye(precision.shape[0])
    # precision = L L^T, so slopes times L^-T have the identity as covariance of the constants.
    factor = np.linalg.inv(np.linalg.cholesky(precision)).T
    return measured_slopes @ factor, candidate_slopes @ factor, noise


@dataclass(frozen=True, eq=False)
class Design:
    """Uncertainty of the candidates before any of them is measured.

    spread, noise : slopes of the candidates and noise from `standardised_slopes`.
    """

    spread: np.ndarray
    noise: float

    @property
    def deviations(self) -> np.ndarray:
        """Return the standard deviation of ln(predicted seconds) of each candidate, (n_candidates,)."""
        deviations: np.ndarray = np.sqrt(np.square(self.spread).sum(axis=1))
        return deviations

    def variance_removed(self, rows: Sequence[int]) -> float:
        """Return the share of the mean variance over all candidates that measuring `rows` removes, 0 to 1."""
        whole = self._gram.trace()
        return 1.0 - float((self._remaining(rows) * self._gram).sum() / whole) if whole > 0 else 0.0

    @cached_property
    def _gram(self) -> np.ndarray:
        return np.asarray(self.spread.T @ self.spread)

    def _remaining(self, rows: Sequence[int]) -> np.ndarray:
        """Return the covariance of the whitened constants after measuring `rows`, shape (k, k)."""
        taken = self.spread[np.asarray(rows, dtype=np.intp)]
        covariance: np.ndarray = np.linalg.inv(np.eye(taken.shape[1]) + taken.T @ taken / self.noise**2)
        return covariance

    def greedy(self, size: int) -> list[int]:
        """Return `size` candidates, each removing the most variance given those before it (I-optimality)."""
        remaining, gram = np.eye(self.spread.shape[1]), self._gram
        chosen: list[int] = []
        for _ in range(min(size, len(self.spread))):
            moved = self.spread @ remaining
            variances = np.einsum("ij,ij->i", moved, self.spread) + self.noise**2
            gains = np.einsum("ij,jk,ik->i", moved, gram, moved) / variances
            gains[chosen] = -np.inf
            best = int(np.argmax(gains))
            chosen.append(best)
            # Sherman-Morrison: the covariance after one more row, without an inverse per candidate.
            remaining = remaining - np.outer(moved[best], moved[best]) / variances[best]
        return chosen


# At most this many candidates, evenly spaced, have to be represented: distances need their product.
_MOST_REPRESENTED = 1000


@dataclass(frozen=True, eq=False)
class Representation:
    """How well measured runs represent all candidates.

    distances : squared, from each candidate to those to be represented, (n_candidates, m). nearest : squared
    distance of these to the nearest measured run, (m,).
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
        """Return the share by which measuring `rows` reduces the mean squared distance, 0 to 1."""
        before = float(self.nearest.mean())
        reached = self.distances[np.asarray(rows, dtype=np.intp)].min(axis=0, initial=np.inf)
        return 1.0 - float(np.minimum(self.nearest, reached).mean()) / before if before > 0 else 0.0

    def greedy(self, size: int) -> list[int]:
        """Return `size` candidates, each the best given those before it."""
        nearest, chosen = self.nearest, list[int]()
        for _ in range(min(size, len(self.distances))):
            left = np.minimum(self.distances, nearest).sum(axis=1)
            left[chosen] = np.inf
            chosen.append(int(np.argmin(left)))
            nearest = np.minimum(nearest, self.distances[chosen[-1]])
        return chosen

    def exchanged(self, rows: Sequence[int]) -> list[int]:
        """Return a set that no swap of one row improves: each row in turn is replaced by the best one."""
        chosen = list(rows)
        improved = True
        while improved:
            improved = False
            for index in range(len(chosen)):
                others = chosen[:index] + chosen[index + 1 :]
                nearest = np.minimum(self.nearest, self.distances[others].min(axis=0, initial=np.inf))
                left = np.minimum(self.distances, nearest).sum(axis=1)
                left[others] = np.inf  # a row cannot be chosen twice
                best = int(np.argmin(left))
                # Beyond rounding errors, or two equal rows would be swapped forever.
                if left[best] < left[chosen[index]] * (1 - 1e-12):
                    chosen[index], improved = best, True
        return chosen


def _squared_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return squared distances, (len(first), len(second)), computed in blocks of a few million numbers."""
    block = max(1, 4_000_000 // max(1, second.size))
    starts = range(0, len(first), block)
    return np.vstack([np.square(first[start : start + block, None] - second).sum(axis=2) for start in starts])
