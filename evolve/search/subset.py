"""Evolve a choice of rows: sets of one size, by DEAP's NSGA-II over several scores of a set."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from deap import base, tools
from numpy.typing import NDArray
from trainlaw.formulas import InputError

#: From positions of rows, ascending, to scores of their set; larger is better.
Scores = Callable[[NDArray[np.int64]], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Subset:
    """Positions of the chosen rows, ascending, and the scores of their set."""

    rows: tuple[int, ...]
    scores: tuple[float, ...]


# DEAP has no types.
class _Fitness(base.Fitness):  # type: ignore[misc]
    """Scores of a set, all to be maximised."""

    weights: tuple[float, ...] = ()

    def __init__(self, values: tuple[float, ...]) -> None:
        """Store the scores: DEAP expects weights of the class, but their number is known only here."""
        self.weights = (1.0,) * len(values)
        super().__init__(values)


class _Set(tuple[int, ...]):
    """Positions of rows, ascending, with the `fitness` that DEAP's selection reads."""

    fitness: _Fitness


def evolve_subsets(
    scores: Scores,
    row_count: int,
    size: int,
    starts: Iterable[Iterable[int]] = (),
    *,
    population: int = 40,
    generations: int = 60,
    random_seed: int = 0,
) -> list[Subset]:
    """Return the sets of `size` among `row_count` rows that no other found set beats in every score.

    scores : of a set, all finite. starts : sets to begin with, such as a greedy choice; the best first
    score is never lost. Sets are sorted by their scores, largest first; the same seed gives the same sets.
    Raises InputError unless 1 <= size <= row_count. Source: Deb et al., "A fast and elitist multiobjective
    genetic algorithm: NSGA-II", 2002.

    >>> weights = np.array([1.0, 5.0, 3.0, 4.0])
    >>> evolve_subsets(lambda rows: (float(weights[rows].sum()),), 4, 2)
    [Subset(rows=(1, 3), scores=(9.0,))]
    """
    if not 1 <= size <= row_count:
        raise InputError(f"expected to choose 1 to {row_count} of {row_count} rows, got {size}")
    generator = np.random.default_rng(random_seed)
    known: dict[tuple[int, ...], _Set] = {}
    for start in starts:
        _scored(start, scores, known)
    for _ in range(population):
        _scored(generator.choice(row_count, size, replace=False), scores, known)
    alive = tools.selNSGA2(list(known.values()), min(population, len(known)))
    for _ in range(generations if size < row_count else 0):
        pool = {tuple(taken): taken for taken in alive}
        for _ in range(population):
            first, second = generator.integers(len(alive), size=2)
            child = _changed(_crossed(alive[first], alive[second], generator), row_count, generator)
            scored = _scored(child, scores, known)
            pool[tuple(scored)] = scored
        alive = tools.selNSGA2(list(pool.values()), min(population, len(pool)))
    best = tools.sortNondominated(alive, len(alive), first_front_only=True)[0]
    found = [Subset(tuple(taken), taken.fitness.wvalues) for taken in best]
    return sorted(found, key=lambda subset: (subset.scores, subset.rows), reverse=True)


def _scored(rows: Iterable[int], scores: Scores, known: dict[tuple[int, ...], _Set]) -> _Set:
    """Return the set of these rows with its scores, computed once per set."""
    taken = _Set(sorted(int(row) for row in rows))
    if tuple(taken) not in known:
        taken.fitness = _Fitness(tuple(map(float, scores(np.array(taken, dtype=np.int64)))))
        known[tuple(taken)] = taken
    return known[tuple(taken)]


def _crossed(first: _Set, second: _Set, generator: np.random.Generator) -> list[int]:
    """Return the rows in both sets, completed by random rows that are in one of them."""
    common = sorted(set(first) & set(second))
    either = sorted(set(first) ^ set(second))
    return [*common, *generator.permutation(either)[: len(first) - len(common)].astype(int).tolist()]


def _changed(rows: list[int], row_count: int, generator: np.random.Generator) -> list[int]:
    """Replace one row, more rarely several, by a row outside, in place; return the rows."""
    size = len(rows)
    for _ in range(min(int(generator.geometric(0.7)), size)):
        outside = int(generator.integers(row_count))
        if outside not in rows:
            rows[int(generator.integers(size))] = outside
    return rows
