"""Growth of the time of a generation with rows, population and threads, and peak memory."""

import resource

from benchmarks.raw import our_generations_per_second


def scaling_rows(full: bool) -> list[dict[str, object]]:
    """Return seconds per generation by rows, population, threads; `full`: up to 1e6 rows and 1e4 trees."""
    sizes = (1_000, 10_000, 100_000, 1_000_000) if full else (1_000, 10_000)
    populations = (100, 1_000, 10_000) if full else (100, 1_000)
    cases = [(rows, 100, 2) for rows in sizes]
    cases += [(1_000, population, 2) for population in populations]
    cases += [(1_000, 1_000, threads) for threads in (1, 2)]
    table = []
    for rows, population, threads in cases:
        seconds = 1.0 / our_generations_per_second(rows, threads, 2, population)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        table.append(
            {
                "rows": rows,
                "population": population,
                "threads": threads,
                "seconds": seconds,
                "peak memory GiB": peak,
            }
        )
    return table
