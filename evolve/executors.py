"""Run islands on a `concurrent.futures` executor: other processes here, or other machines.

Such an executor is `ProcessPoolExecutor`, or dask's `Client.get_executor()`. Only plain arrays and JSON are
sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

from trainlaw.evolve.checkpoint import fingerprint, island_from_json, island_json
from trainlaw.evolve.search.islands import Island, advance
from trainlaw.evolve.search.loop import AdvanceAll
from trainlaw.evolve.search.problem import Problem, make_problem


class Executor(Protocol):
    """Anything with the `map` of `concurrent.futures.Executor`."""

    def map(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Return the results of `function` for each set of arguments, in order."""


@dataclass(frozen=True)
class ProblemArguments:
    """The arguments of `make_problem` by name, equal where they make the same problem.

    identity : the problem's fingerprint. So a worker process can cache the problem that it made.
    """

    arguments: Mapping[str, Any] = field(compare=False)
    identity: str


def problem_arguments(problem: Problem, arguments: Mapping[str, Any]) -> ProblemArguments:
    """Return what another process needs to make the same problem, for one thread."""
    single = replace(arguments["settings"], threads=1, checkpoint=None)
    return ProblemArguments({**arguments, "settings": single}, fingerprint(problem))


@lru_cache(maxsize=1)
def _cached_problem(arguments: ProblemArguments) -> Problem:
    """Return the problem, made once in each process."""
    return make_problem(**arguments.arguments)


def _advance_elsewhere(
    arguments: ProblemArguments, content: dict[str, Any], generations: int, seconds: float
) -> dict[str, Any]:
    """Advance one island in a worker process; the island is plain JSON before and after."""
    problem = _cached_problem(arguments)
    island = advance(island_from_json(content, problem), problem, generations, seconds)
    return island_json(island, problem)


def advance_on(executor: Executor, problem: Problem, arguments: ProblemArguments) -> AdvanceAll:
    """Return a function that advances islands on the executor, with the same result as in this process."""

    def together(islands: list[Island], generations: int, seconds: float) -> list[Island]:
        count = len(islands)
        contents = [island_json(island, problem) for island in islands]
        done = executor.map(
            _advance_elsewhere, [arguments] * count, contents, [generations] * count, [seconds] * count
        )
        return [island_from_json(content, problem) for content in done]

    return together
