"""Run islands on a `concurrent.futures` executor: in processes of this machine, or on other machines.

Such an executor is `ProcessPoolExecutor`, or dask's `Client.get_executor()`. An island is sent as plain JSON:
the types of its trees exist in one process only, the numbers of the nodes are the same in all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
from deap import tools
from trainlaw.evolve.leaves import Node
from trainlaw.evolve.search.individuals import Fitness, Individual
from trainlaw.evolve.search.islands import Island, Milestone, advance
from trainlaw.evolve.search.loop import AdvanceAll
from trainlaw.evolve.search.problem import Problem, make_problem

_COUNTS = ("evaluations", "generation", "barren")  # fields of an island


class Executor(Protocol):
    """Anything with the `map` of `concurrent.futures.Executor`."""

    def map(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Return the results of `function` for each set of arguments, in order."""


@dataclass(frozen=True)
class ProblemArguments:
    """The arguments of `make_problem` by name; equal for one search, so that a worker makes it once."""

    arguments: Mapping[str, Any] = field(compare=False)
    search: str = field(default_factory=lambda: uuid4().hex)


@lru_cache(maxsize=1)
def _cached_problem(arguments: ProblemArguments) -> Problem:
    """Return the problem, made once in each process."""
    return make_problem(**arguments.arguments)


def _advance_elsewhere(
    arguments: ProblemArguments, content: dict[str, Any], generations: int, seconds: float
) -> dict[str, Any]:
    """Advance one island in a worker process; the island is plain JSON before and after."""
    problem = _cached_problem(arguments)
    return island_json(advance(island_from_json(content, problem), problem, generations, seconds))


def advance_on(executor: Executor, problem: Problem, arguments: Mapping[str, Any]) -> AdvanceAll:
    """Return a function that advances islands on the executor, with the same result as in this process.

    arguments : those of `make_problem`; a worker uses one thread.
    """
    sent = ProblemArguments({**arguments, "settings": replace(arguments["settings"], threads=1)})

    def together(islands: list[Island], generations: int, seconds: float) -> list[Island]:
        count = len(islands)
        contents = [island_json(island) for island in islands]
        done = executor.map(
            _advance_elsewhere, [sent] * count, contents, [generations] * count, [seconds] * count
        )
        return [island_from_json(content, problem) for content in done]

    return together


def island_json(island: Island) -> dict[str, Any]:
    """Return an island as plain JSON; an individual that occurs twice is written once."""
    trees = {id(tree): tree for tree in [*island.population, *island.archive.values()]}
    places = {key: place for place, key in enumerate(trees)}
    return {
        "trees": [_tree_json(tree) for tree in trees.values()],
        "population": [places[id(tree)] for tree in island.population],
        "archive": [[*place, places[id(tree)]] for place, tree in island.archive.items()],
        "tried": [[key, count] for key, count in island.tried.items()],
        "random_state": island.random.getstate(),
        "generator": island.generator.bit_generator.state,
        **{name: getattr(island, name) for name in _COUNTS},
        "logbook": list(island.logbook),
        "history": island.history,
    }


def island_from_json(content: Mapping[str, Any], problem: Problem) -> Island:
    """Return the island of which `island_json` gave `content`."""
    trees = [_tree_from_json(tree, problem.grammar.nodes) for tree in content["trees"]]
    random, generator = Random(0), np.random.default_rng(0)
    # JSON has no tuples, and Python's generator accepts nothing else.
    version, internal, following = content["random_state"]
    random.setstate((version, tuple(internal), following))
    generator.bit_generator.state = content["generator"]
    logbook = tools.Logbook()
    logbook.extend(dict(record) for record in content["logbook"])
    return Island(
        [trees[place] for place in content["population"]],
        {(measure, complexity): trees[place] for measure, complexity, place in content["archive"]},
        dict(content["tried"]),
        random,
        generator,
        logbook,
        history=[Milestone(*found) for found in content["history"]],
        **{name: content[name] for name in _COUNTS},
    )


def _tree_json(tree: Individual) -> dict[str, Any]:
    return {
        "nodes": [node.kind for node in tree],
        "constants": [node.constant for node in tree if node.constant is not None],
        "loss": tree.loss,
        "score": tree.score,
        "cases": tree.cases.tolist(),
        "complexity": tree.complexity,
    }


def _tree_from_json(content: Mapping[str, Any], nodes: Sequence[Node]) -> Individual:
    values = iter(content["constants"])
    prototypes = [nodes[number] for number in content["nodes"]]
    fitness = Fitness(content["loss"], np.array(content["cases"]), content["score"], content["complexity"])
    return Individual(
        [node if node.constant is None else node.holding(next(values)) for node in prototypes], fitness
    )
