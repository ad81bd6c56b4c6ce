"""The state of a search as JSON: a checkpoint file, from which the same run resumes."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from deap import tools
from trainlaw.evolve.leaves import Node
from trainlaw.evolve.search.individuals import Fitness, Individual
from trainlaw.evolve.search.islands import Island, Milestone
from trainlaw.evolve.search.loop import SearchState
from trainlaw.evolve.search.problem import Problem
from trainlaw.formulas import InputError
from trainlaw.formulas.files.text_files import read_text, write_text_atomically

_MAX_BYTES = 512 * 2**20
_COUNTS = ("evaluations", "generation", "barren", "best", "stale", "restarts")  # fields of an island
# What a file of another shape raises on its way to islands.
_BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
)
# Settings that may differ when a run resumes, at the values under which the fingerprint is taken.
FREE_SETTINGS: dict[str, Any] = {
    "evaluations": 1,
    "limit_seconds": None,
    "threads": 1,
    "checkpoint": None,
    "checkpoint_seconds": 1.0,
}


def fingerprint(problem: Problem) -> str:
    """Return the sha256 of the data, the features and the settings that determine the course of a search.

    The numbers of the nodes are part of it: a checkpoint of a version with others is refused, not misread.
    """
    digest = hashlib.sha256(repr(replace(problem.settings, **FREE_SETTINGS)).encode())
    digest.update(repr((problem.features, problem.target)).encode())
    digest.update(repr([(node.name, node.ret.__name__) for node in problem.grammar.nodes]).encode())
    for field in (*problem.rows, *(problem.all_rows or ())):
        digest.update(np.ascontiguousarray(field).tobytes())
    return digest.hexdigest()


def save_state(state: SearchState, problem: Problem, path: Path) -> None:
    """Write the state whole or not at all: a reader finds the old file or the new one."""
    content = {
        "fingerprint": fingerprint(problem),
        "islands": [island_json(island, problem) for island in state.islands],
        "seconds": state.seconds,
    }
    write_text_atomically(path, json.dumps(content))


def island_json(island: Island, problem: Problem) -> dict[str, Any]:
    """Return all of an island as plain JSON; an individual that occurs twice is written once."""
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


def load_state(problem: Problem, path: Path) -> SearchState:
    """Return the state that `save_state` wrote; InputError for another file, other data or other settings."""
    try:
        content = json.loads(read_text(path, _MAX_BYTES))
        if content["fingerprint"] != fingerprint(problem):
            raise InputError(
                f"expected the checkpoint of this search, got one of other data or settings in {path}: "
                "name another file"
            )
        islands = [island_from_json(island, problem) for island in content["islands"]]
        return SearchState(islands, content["seconds"])
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(
            f"expected a checkpoint, got something else in {path} ({error}): delete it"
        ) from None


def island_from_json(content: dict[str, Any], problem: Problem) -> Island:
    """Return the island of which `island_json` gave `content`."""
    trees = [_tree_from_json(tree, problem.grammar.nodes) for tree in content["trees"]]
    random, generator = Random(0), np.random.default_rng(0)
    # JSON has no tuples, and Python's generator accepts nothing else.
    version, internal, following = content["random_state"]
    random.setstate((version, tuple(internal), following))
    generator.bit_generator.state = content["generator"]
    logbook = tools.Logbook()
    logbook.extend(dict(record) for record in content["logbook"])
    island = Island(
        [trees[place] for place in content["population"]],
        {(measure, complexity): trees[place] for measure, complexity, place in content["archive"]},
        dict(content["tried"]),
        random,
        generator,
        logbook,
        *(content[name] for name in _COUNTS),
    )
    # Checkpoints of earlier versions have none.
    island.history = [Milestone(*found) for found in content.get("history", ())]
    return island


def _tree_json(tree: Individual) -> dict[str, Any]:
    return {
        "nodes": [node.kind for node in tree],
        "constants": [node.constant for node in tree if node.constant is not None],
        "affine": tree.affine,
        "loss": tree.loss,
        "score": tree.score,
        "cases": tree.cases.tolist(),
        "complexity": tree.complexity,
    }


def _tree_from_json(content: dict[str, Any], nodes: Sequence[Node]) -> Individual:
    values = iter(content["constants"])
    prototypes = [nodes[number] for number in content["nodes"]]
    nodes = [node if node.constant is None else node.holding(_number(next(values))) for node in prototypes]
    cases = np.array(content["cases"])
    fitness = Fitness(content["loss"], cases, content["score"], content["complexity"])
    return Individual(nodes, fitness, tuple(content["affine"]))


def _number(value: float | list[float]) -> float | tuple[float, ...]:
    """Return a constant as leaves hold it: JSON has no tuples."""
    return tuple(value) if isinstance(value, list) else value
