"""Growth of the time of a generation with rows, population and threads, and peak memory."""

import resource
import time
from collections.abc import Sequence

from trainlaw.evolve.search.islands import start_island, step

from benchmarks.raw import ARITHMETIC, trainlaw_generations_per_second, trainlaw_problem

#: Rows and trees of the comparison of threads, and its generations.
ROWS, TREES, GENERATIONS = 1_000, 1_000, 60


def seconds_by_threads(threads: Sequence[int], generations: int = GENERATIONS) -> list[float]:
    """Return the mean seconds of a generation for each number of threads.

    All make the same generations, in turn, so that a change of the processor's speed meets all of them.
    """
    problems = [trainlaw_problem(ARITHMETIC, ROWS, number, TREES) for number in threads]
    islands = [start_island(problem, 0) for problem in problems]
    spent = [0.0] * len(threads)
    for generation in range(-2, generations):  # two for warming up
        for place, (problem, island) in enumerate(zip(problems, islands, strict=True)):
            began = time.perf_counter()
            step(island, problem)
            spent[place] += time.perf_counter() - began if generation >= 0 else 0.0
    return [seconds / generations for seconds in spent]


def scaling_rows(full: bool) -> list[dict[str, object]]:
    """Return seconds per generation by rows, population, threads; `full`: up to 1e6 rows and 1e4 trees."""
    sizes = (1_000, 10_000, 100_000, 1_000_000) if full else (1_000, 10_000)
    populations = (100, 1_000, 10_000) if full else (100, 1_000)
    cases = [(rows, 100, 2) for rows in sizes] + [(1_000, population, 2) for population in populations]
    table = [
        _row(rows, population, threads, 1.0 / trainlaw_generations_per_second(rows, threads, 2, population))
        for rows, population, threads in cases
    ]
    threads = (1, 2)
    by_threads = zip(threads, seconds_by_threads(threads), strict=True)
    return [*table, *(_row(ROWS, TREES, number, seconds) for number, seconds in by_threads)]


def _row(rows: int, population: int, threads: int, seconds: float) -> dict[str, object]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return {
        "rows": rows,
        "population": population,
        "threads": threads,
        "seconds": seconds,
        "peak memory GiB": peak,
    }
