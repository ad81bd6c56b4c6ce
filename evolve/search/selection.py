"""Selection: parents by epsilon-lexicase over groups of rows, survivors by NSGA-II over score and complexity.

Both follow DEAP's `tools` (`selAutomaticEpsilonLexicase`, `selNSGA2`), compiled for many individuals.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray
from trainlaw.evolve.machine.compiler_cache import CACHED
from trainlaw.evolve.search.variation import Individual


# Compiled functions take no keywords.
@njit(cache=CACHED, nogil=True)
def _filter(  # noqa: PLR0917
    cases: np.ndarray, case: int, tolerance: float, alive: np.ndarray, count: int, kept: np.ndarray
) -> int:
    """Write those of `alive[:count]` that are near the best of a case to `kept` and return their number."""
    best = np.inf
    for i in range(count):
        best = min(best, cases[alive[i], case])
    number = 0
    for i in range(count):
        if cases[alive[i], case] <= best + tolerance:
            kept[number] = alive[i]
            number += 1
    return number


@njit(cache=CACHED, nogil=True)
def _lexicase(cases: np.ndarray, tolerance: np.ndarray, orders: np.ndarray, picks: np.ndarray) -> np.ndarray:
    """Return the survivor of each draw (n_draws,): one case after another, in its order, filters."""
    individuals, amount = cases.shape
    # Draws that begin with the same two cases share the survivors of both, which are kept here; 0 for none.
    pairs = np.empty((amount, amount, individuals), np.int64)
    sizes = np.zeros((amount, amount), np.int64)
    everyone, first, alive = np.empty((3, individuals), np.int64)
    for i in range(individuals):
        everyone[i] = i
    chosen = np.zeros(orders.shape[0], np.int64)
    for draw in range(orders.shape[0]):
        order = orders[draw]
        a, b = order[0], order[min(1, amount - 1)]
        if sizes[a, b] == 0:
            count = _filter(cases, a, tolerance[a], everyone, individuals, first)
            sizes[a, b] = _filter(cases, b, tolerance[b], first, count, pairs[a, b])
        count = sizes[a, b]
        for i in range(count):
            alive[i] = pairs[a, b, i]
        for place in range(2, amount):
            if count <= 1:
                break
            count = _filter(cases, order[place], tolerance[order[place]], alive, count, alive)
        chosen[draw] = alive[min(int(picks[draw] * count), count - 1)]
    return chosen


def epsilon_lexicase(
    cases: NDArray[np.float64], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the indices (count,) of parents for `cases` (n_individuals, n_cases), losses.

    The tolerance of a case is its median absolute deviation over the population, the "automatic" form of
    La Cava et al., "Epsilon-lexicase selection for regression", 2016.
    """
    finite = np.where(np.isfinite(cases), cases, 1e300)
    centre = np.median(finite, axis=0)
    tolerance = np.median(np.abs(finite - centre), axis=0)
    orders = generator.permuted(np.tile(np.arange(cases.shape[1]), (count, 1)), axis=1)
    return _lexicase(finite, tolerance, orders, generator.random(count))


@njit(cache=CACHED, nogil=True)
def _fronts(scores: np.ndarray) -> np.ndarray:
    """Return the number of the non-dominated front of each point, sorted by complexity and then by score.

    A point belongs to the first front whose best score so far is above its own. Source: Jensen, 2003.
    """
    fronts = np.zeros(scores.size, np.int64)
    best = np.empty(scores.size)
    amount = 0
    for i in range(scores.size):
        low, high = 0, amount
        while low < high:
            middle = (low + high) // 2
            if best[middle] > scores[i]:
                high = middle
            else:
                low = middle + 1
        best[low] = scores[i]
        amount = max(amount, low + 1)
        fronts[i] = low
    return fronts


def _crowding(scores: NDArray[np.float64], costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the crowding distance of the points of one front, sorted by cost. Source: Deb et al., 2002."""
    distance = np.full(scores.size, np.inf)
    spans = np.ptp(costs), np.ptp(scores)
    distance[1:-1] = 0.0
    for values, span in zip((costs, scores), spans, strict=True):
        if span > 0.0:
            distance[1:-1] += np.abs(values[2:] - values[:-2]) / span
    return distance


def survivors(pool: Sequence[Individual], count: int) -> list[Individual]:
    """Return the `count` individuals that NSGA-II keeps; of those alike in score and complexity, the first.

    Duplicates would otherwise fill the population, since equal points do not dominate each other.
    """
    scores = np.array([individual.score for individual in pool])
    costs = np.array([individual.complexity for individual in pool], dtype=np.float64)
    order = np.lexsort((np.arange(scores.size), scores, costs))
    # Formulas that are not valid on every row never survive.
    order = order[np.isfinite(scores[order])]
    near = np.diff(scores[order]) <= 1e-9 * np.abs(scores[order][1:])
    alike = np.append(False, near & (np.diff(costs[order]) == 0.0))[: order.size]
    order = order[~alike]
    if order.size <= count:
        return [pool[i] for i in sorted(order.tolist())]
    fronts = _fronts(scores[order])
    whole = int(np.searchsorted(np.cumsum(np.bincount(fronts)), count, side="right"))
    kept = order[fronts < whole]
    last = order[fronts == whole]
    distance = _crowding(scores[last], costs[last])
    spread = last[np.argsort(-distance, kind="stable")][: count - kept.size]
    return [pool[i] for i in sorted([*kept.tolist(), *spread.tolist()])]
