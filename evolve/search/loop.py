"""The loop of a search: islands advance and exchange individuals until the budget is spent."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from deap import tools
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.islands import Island, advance, front_of, is_spent, start_island
from trainlaw.evolve.search.problem import Problem

# Largest share of a time limit that is kept to finish the formulas: with less, a large front was late.
MOST_SPARE = 0.4
# Polishing the constants of a formula and checking its values take as long as this many fits.
POLISH_FITS = 10
# Generations between two migrations of the best individuals to the next island.
MIGRATION_INTERVAL = 20


@dataclass(frozen=True)
class Progress:
    """Progress of a search, passed to the callback after each generation.

    Parameters
    ----------
    evaluations : int
        Individuals fitted so far.
    generation : int
        Generations of the island that is furthest ahead.
    seconds, seconds_left : float
        Time spent and estimated time left, in seconds.
    best_loss : float
        Smallest training loss.
    front_size : int
        Number of complexities in the archives.
    """

    evaluations: int
    generation: int
    seconds: float
    seconds_left: float
    best_loss: float
    front_size: int


@dataclass
class SearchState:
    """State of a search, which `run` changes in place.

    islands : populations. seconds : spent so far. interrupted : whether the user ended it.
    """

    islands: list[Island]
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def evaluations(self) -> int:
        """Number of individuals fitted so far, on all islands."""
        return sum(island.evaluations for island in self.islands)

    @property
    def generation(self) -> int:
        """Number of generations of the island that is furthest ahead."""
        return max(island.generation for island in self.islands)

    def logbook(self) -> tools.Logbook:
        """Return the records of all islands, generation by generation."""
        joint = tools.Logbook()
        joint.header = ["island", "gen", "nevals", "best", "median", "size"]
        records = [
            {"island": number} | record
            for number, island in enumerate(self.islands)
            for record in island.logbook
        ]
        joint.extend(sorted(records, key=lambda record: record["gen"]))
        return joint

    def hall_of_fame(self) -> tools.ParetoFront:
        """Return the archived trees that no other one beats in both score and complexity."""
        hall = tools.ParetoFront()
        hall.update([tree for island in self.islands for tree in island.archive.values()])
        return hall

    def front(self, measure: str) -> list[Individual]:
        """Return the archived individuals that beat all simpler ones by `measure`, "score" or "loss".

        From simple to complex.
        """
        best: dict[tuple[str, int], Individual] = {}
        for island in self.islands:
            for place, tree in island.archive.items():
                if place not in best or getattr(tree, place[0]) < getattr(best[place], place[0]):
                    best[place] = tree
        return front_of(best, measure)


def start_state(problem: Problem) -> SearchState:
    """Return the state before the first generation."""
    return SearchState([start_island(problem, number) for number in range(problem.island_count)])


def migrate(islands: list[Island]) -> None:
    """Copy the best twentieth of each island to the next one on a ring, in place."""
    visitors = [
        sorted(island.population, key=lambda tree: tree.score)[: max(1, len(island.population) // 20)]
        for island in islands
    ]
    for number, island in enumerate(islands):
        island.population.extend(visitors[number - 1])


def run(
    state: SearchState,
    problem: Problem,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    began: float | None = None,
) -> SearchState:
    """Advance `state` in place until the budget is spent or the user interrupts, and return it.

    began : the time of `time.monotonic` from which the time limit counts, by default now.
    """
    several = problem.island_count > 1
    stride = MIGRATION_INTERVAL if several else 1
    began = time.monotonic() if began is None else began
    state.seconds = time.monotonic() - began
    try:
        while not _is_spent(state, problem):
            # Islands advance one after another, so that each may use its share of the time left.
            share = (search_seconds(state, problem) - state.seconds) / problem.island_count
            for island in state.islands:
                advance(island, problem, stride, share)
            if several:
                migrate(state.islands)
            state.seconds = time.monotonic() - began
            if on_progress is not None:
                on_progress(report(state, problem))
    except KeyboardInterrupt:
        # The formulas found so far are a valid result, but not that of the whole budget.
        state.interrupted = True
    return state


def search_seconds(state: SearchState | None, problem: Problem) -> float:
    """Return the seconds after which the search must end, so that its formulas are finished in time.

    state : None before the first generation.
    """
    limit = problem.settings.limit_seconds
    if limit is None:
        return math.inf
    spare = MOST_SPARE * limit
    if state is not None and state.evaluations:
        finished = len({id(tree) for measure in ("score", "loss") for tree in state.front(measure)})
        # A polished formula takes several fits, to all observations, and a refit without each case about one.
        fits = finished * (POLISH_FITS / problem.drawn_share + problem.case_count)
        spare = min(spare, fits * state.seconds / state.evaluations)
    return limit - spare


def _is_spent(state: SearchState, problem: Problem) -> bool:
    late = state.seconds >= search_seconds(state, problem)
    return late or all(is_spent(island, problem) for island in state.islands)


def report(state: SearchState, problem: Problem) -> Progress:
    """Return the progress of a state, with the time left estimated from the speed so far."""
    settings = problem.settings
    left = math.inf
    if settings.evaluations is not None and state.evaluations:
        left = state.seconds * (settings.evaluations / state.evaluations - 1.0)
    if settings.limit_seconds is not None:
        left = min(left, settings.limit_seconds - state.seconds)
    if _is_spent(state, problem):
        left = 0.0
    archived = [tree for island in state.islands for tree in island.archive.values()]
    return Progress(
        state.evaluations,
        state.generation,
        state.seconds,
        max(left, 0.0),
        min((tree.loss for tree in archived), default=math.inf),
        len({tree.complexity for tree in archived}),
    )
