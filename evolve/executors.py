"""Islands on an executor: other processes here, or other machines; only the executor differs.

An executor is what `concurrent.futures` calls one, such as its `ProcessPoolExecutor`, or dask's
`Client.get_executor()`. What travels are plain arrays and JSON.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from trainlaw.evolve.checkpoint import fingerprint, island_json, island_of
from trainlaw.evolve.search.islands import Island, advance
from trainlaw.evolve.search.loop import AdvanceAll
from trainlaw.evolve.search.problem import Problem, make_problem


class Executor(Protocol):
    """Whatever maps a function over arguments, as `concurrent.futures.Executor` does."""

    def map(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Results of `function` for each set of arguments, in order."""


@dataclass(frozen=True, eq=False)
class ProblemFacts:
    """The arguments of `make_problem` by name, to be sent where the problem is made again."""

    arguments: Mapping[str, Any]
    identity: str

    def __eq__(self, other: object) -> bool:
        """Whether both make the same problem."""
        return isinstance(other, ProblemFacts) and self.identity == other.identity

    def __hash__(self) -> int:
        """Hash of the problem's identity."""
        return hash(self.identity)


def facts_of(problem: Problem, arguments: Mapping[str, Any]) -> ProblemFacts:
    """What another process needs for the same problem, on one thread."""
    single = replace(arguments["settings"], threads=1, checkpoint=None)
    return ProblemFacts({**arguments, "settings": single}, fingerprint(problem))


@lru_cache(maxsize=1)
def _problem_of(facts: ProblemFacts) -> Problem:
    """The problem, made once in each process."""
    return make_problem(**facts.arguments)


def _advance_elsewhere(
    facts: ProblemFacts, content: dict[str, Any], generations: int, seconds: float
) -> dict[str, Any]:
    problem = _problem_of(facts)
    return island_json(advance(island_of(content, problem), problem, generations, seconds), problem)


def advance_on(executor: Executor, problem: Problem, facts: ProblemFacts) -> AdvanceAll:
    """A way to advance islands on the executor; the same result as here, island by island."""

    def together(islands: list[Island], generations: int, seconds: float) -> list[Island]:
        count = len(islands)
        contents = [island_json(island, problem) for island in islands]
        done = executor.map(
            _advance_elsewhere, [facts] * count, contents, [generations] * count, [seconds] * count
        )
        return [island_of(content, problem) for content in done]

    return together
