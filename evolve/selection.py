"""Parents by epsilon-lexicase over cases (groups of rows), survivors by NSGA-II over score and complexity."""

from collections.abc import Sequence

import numpy as np
from deap import tools
from numba import njit
from numpy.typing import NDArray
from trainlaw.evolve.variation import Individual


@njit(cache=True, nogil=True)
def _lexicase(cases: np.ndarray, tolerance: np.ndarray, orders: np.ndarray, picks: np.ndarray) -> np.ndarray:
    chosen = np.zeros(orders.shape[0], np.int64)
    alive = np.zeros(cases.shape[0], np.int64)
    for draw in range(orders.shape[0]):
        count = cases.shape[0]
        for i in range(count):
            alive[i] = i
        for case in orders[draw]:
            best = np.inf
            for i in range(count):
                best = min(best, cases[alive[i], case])
            kept = 0
            for i in range(count):
                if cases[alive[i], case] <= best + tolerance[case]:
                    alive[kept] = alive[i]
                    kept += 1
            count = kept
            if count <= 1:
                break
        chosen[draw] = alive[min(int(picks[draw] * count), count - 1)]
    return chosen


def epsilon_lexicase(
    cases: NDArray[np.float64], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Indices (count,) of parents for `cases` (n_individuals, n_cases), losses.

    The tolerance of a case is its median absolute deviation over the population, the "automatic" form of
    La Cava et al., "Epsilon-lexicase selection for regression", 2016.
    """
    finite = np.where(np.isfinite(cases), cases, 1e300)
    centre = np.median(finite, axis=0)
    tolerance = np.median(np.abs(finite - centre), axis=0)
    orders = generator.permuted(np.tile(np.arange(cases.shape[1]), (count, 1)), axis=1)
    return _lexicase(finite, tolerance, orders, generator.random(count))


def survivors(pool: Sequence[Individual], count: int) -> list[Individual]:
    """The `count` individuals that NSGA-II keeps; of those alike in score and complexity only the first
    counts.
    """
    unique: dict[tuple[float, int], Individual] = {}
    for individual in pool:
        if np.isfinite(individual.score):
            unique.setdefault((float(f"{individual.score:.9g}"), individual.complexity), individual)
    kept = list(unique.values())
    return kept if len(kept) <= count else tools.selNSGA2(kept, count, nd="log")
