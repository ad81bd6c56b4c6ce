"""Selection: parents by epsilon-lexicase over groups of rows, survivors by NSGA-II over score and complexity.

Both follow DEAP's `tools` (`selAutomaticEpsilonLexicase`, `selNSGA2`), compiled for many individuals.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.evaluation import entry
from trainlaw.evolve.search.individuals import Individual

# Without groups, the share of the parents that is drawn from all survivors.
SHARE_OF_ANYONE = 0.5


@entry
def _filter_draws(  # noqa: PLR0917 (compiled functions take no keywords)
    cases: np.ndarray,
    ranked: np.ndarray,
    tolerance: np.ndarray,
    orders: np.ndarray,
    picks: np.ndarray,
    alive: np.ndarray,
    chosen: np.ndarray,
) -> None:
    """Set `chosen` (n_draws,) to the survivor of each draw: one case after another, in its order, filters.

    cases : (n_cases, n_individuals). ranked : the individuals by each case, best first. alive : bool
    (n_individuals,), scratch.
    """
    individuals = cases.shape[1]
    for draw in range(orders.shape[0]):
        for i in range(individuals):
            alive[i] = True
        for turn in range(orders.shape[1]):
            case, rank = orders[draw, turn], 0
            while not alive[ranked[case, rank]]:
                rank += 1
            limit = cases[case, ranked[case, rank]] + tolerance[case]
            for i in range(individuals):
                alive[i] &= cases[case, i] <= limit
        count = 0
        for i in range(individuals):
            count += int(alive[i])
        left = min(int(picks[draw] * count), count - 1)
        i = -1
        while left >= 0:
            i += 1
            left -= int(alive[i])
        chosen[draw] = i


def epsilon_lexicase(
    cases: NDArray[np.float64], count: int, generator: np.random.Generator, share_of_anyone: float = 0.0
) -> NDArray[np.int64]:
    """Return the indices (count,) of parents for `cases` (n_individuals, n_cases), losses.

    The tolerance of a case is its median absolute deviation over the population, the "automatic" form of
    La Cava et al., "Epsilon-lexicase selection for regression", 2016. share_of_anyone : the
    probability that a parent is drawn from all instead.
    """
    finite = np.where(np.isfinite(cases), cases, 1e300)
    centre = np.median(finite, axis=0)
    tolerance = np.median(np.abs(finite - centre), axis=0)
    orders = generator.permuted(np.tile(np.arange(cases.shape[1]), (count, 1)), axis=1)
    places = generator.random(count)
    chosen = np.zeros(count, np.int64)
    selected = np.ones(count, np.bool_)
    if share_of_anyone:
        chosen = generator.integers(0, cases.shape[0], count)
        selected = generator.random(count) >= share_of_anyone
    by_case = np.ascontiguousarray(finite.T)
    ranked = np.argsort(by_case, axis=1)
    drawn, alive = np.zeros(int(selected.sum()), np.int64), np.zeros(cases.shape[0], np.bool_)
    _filter_draws(by_case, ranked, tolerance, orders[selected], places[selected], alive, drawn)
    chosen[selected] = drawn
    return chosen


@entry
def _number_fronts(scores: np.ndarray, best: np.ndarray, fronts: np.ndarray) -> None:
    """Set `fronts` to the number of the front of each point; best : (n_points,), scratch."""
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


def _fronts(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the non-dominated front of each point, sorted by complexity and then by score.

    A point belongs to the first front whose best score so far is above its own. Source: Jensen, 2003.
    """
    fronts = np.zeros(scores.size, np.int64)
    _number_fronts(scores, np.empty(scores.size), fronts)
    return fronts


def survival_limits(
    population: Sequence[Individual], count: int
) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    """Return the function from complexities, int64 (n,), to the scores from which on children are behind.

    Such a child is behind all that survive at present. count : individuals that survive; scores are infinite
    where there are fewer.
    """
    if len(population) < count:
        return lambda costs: np.full(costs.size, np.inf)
    scores = np.array([individual.fitness.score for individual in population])
    known = np.array([individual.fitness.complexity for individual in population])
    order = np.lexsort((scores, known))
    order = order[np.isfinite(scores[order])]
    fronts = _fronts(scores[order])
    last = order[fronts == fronts.max(initial=0)]
    # A point behind the last front is worse than one of it that is no more complex.
    best, steps = np.append(np.inf, np.minimum.accumulate(scores[last])), known[last]

    def limits(costs: NDArray[np.int64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = best[np.searchsorted(steps, costs, side="right")]
        return found

    return limits


def _crowding(scores: NDArray[np.float64], costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the crowding distance of the points of one front, sorted by cost. Source: Deb et al., 2002."""
    distance = np.full(scores.size, np.inf)
    spans = np.ptp(costs), np.ptp(scores)
    distance[1:-1] = 0.0
    for values, span in zip((costs, scores), spans, strict=True):
        if span > 0.0:
            distance[1:-1] += np.abs(values[2:] - values[:-2]) / span
    return distance


def parents(
    population: Sequence[Individual], count: int, generator: np.random.Generator, *, grouped: bool
) -> list[Individual]:
    """Return `count` parents, pair by pair.

    Groups as cases each select different parents. Cases of random rows all select the same ones, the largest
    trees; half of the parents are then drawn from all survivors.
    """
    cases = np.concatenate([individual.fitness.cases for individual in population])
    cases = cases.reshape(len(population), -1)
    share = 0.0 if grouped else SHARE_OF_ANYONE
    return [population[i] for i in epsilon_lexicase(cases, count, generator, share).tolist()]


def survivors(pool: Sequence[Individual], count: int) -> list[Individual]:
    """Return the `count` individuals that NSGA-II keeps; of those alike in score and complexity, the first.

    Duplicates would otherwise fill the population, since equal points do not dominate each other.
    """
    scores = np.array([individual.fitness.score for individual in pool])
    costs = np.array([individual.fitness.complexity for individual in pool], dtype=np.float64)
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
