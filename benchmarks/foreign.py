"""Equations that no author of the engine wrote: a published list, dynamical systems and random trees."""

import math
import re
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
from trainlaw.formulas import parse_text, variables

from benchmarks.data_sets import systems
from benchmarks.problems import BenchmarkProblem, Ranges, make_problem

LIST = Path(__file__).with_name("feynman.txt")
# Random trees: operations of each and their weights, the range of every variable, and numbers in the leaves.
BINARY = {"+": 4, "-": 4, "*": 4, "/": 4}
UNARY = {"sqrt": 3, "exp": 1, "log": 2, "sin": 1, "cos": 1, "square": 3}
RANGE, NUMBERS = (1.0, 4.0), (1, 2, 3, 5, 0.5)
# A tree counts if its values spread by this share of their size at least, and by no more than this factor.
LEAST_SPREAD, MOST_SPREAD = 0.02, 1e4


def published(noise: float, rows: int = 1000) -> list[BenchmarkProblem]:
    """Return the equations of the list, with noise on the training rows, in standard deviations.

    >>> len(published(0.0, rows=10))
    117
    """
    found = []
    for line in LIST.read_text().splitlines():
        if not line.startswith("#"):
            name, text, *given = line.split(" | ")
            ranges: Ranges = {}
            for low, high, *names in map(str.split, given):
                ranges |= dict.fromkeys(names, (float(low), float(high)))
            text = re.sub(r"\bpi\b", repr(math.pi), text)
            found.append(make_problem(name, text, ranges, noise, rows, seed=[len(found)]))
    return found


def dynamical(noise: float) -> list[BenchmarkProblem]:
    """Return the right-hand sides of the systems of Strogatz, which have no noise."""
    known = systems() if noise == 0.0 else []
    return [replace(problem, name=f"{problem.name} noise 0") for problem in known]


def random_trees(noise: float, count: int = 100, rows: int = 1000, seed: int = 7) -> list[BenchmarkProblem]:
    """Return equations of random trees of 3 to 7 operations over 1 to 4 variables.

    Trees are drawn place by place, as Lample and Charton did ("Deep learning for symbolic mathematics",
    2020), not by the grammar of the search.
    """
    random = Random(seed)
    found: dict[str, BenchmarkProblem] = {}
    while len(found) < count:
        text = _tree(random.randint(3, 7), "abcd"[: random.randint(1, 4)], random)
        names = sorted(variables(parse_text(text)))
        if text in found or not names:
            continue
        with np.errstate(all="ignore"):
            problem = make_problem(
                f"tree {len(found)}", text, dict.fromkeys(names, RANGE), noise, rows, seed=[seed, len(found)]
            )
        exact = problem.test_y
        spread = np.std(exact) / (np.mean(np.abs(exact)) + 1e-300)
        if np.all(np.isfinite(exact)) and np.all(np.isfinite(problem.train_y)):
            middle = np.median(np.abs(exact))
            if spread > LEAST_SPREAD and np.max(np.abs(exact)) < MOST_SPREAD * middle:
                found[text] = problem
    return list(found.values())


def _tree(operations: int, names: str, random: Random) -> str:
    """Return the text of a random tree with as many operations."""
    if operations == 0:
        return random.choice(names) if random.random() < 0.8 else str(random.choice(NUMBERS))
    if random.random() < 0.35:
        name = random.choices([*UNARY], [*UNARY.values()])[0]
        return f"{name}({_tree(operations - 1, names, random)})"
    sign = random.choices([*BINARY], [*BINARY.values()])[0]
    left = random.randint(0, operations - 1)
    first, second = _tree(left, names, random), _tree(operations - 1 - left, names, random)
    return f"({first} {sign} {second})"
