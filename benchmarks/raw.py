"""Raw speed: fits and generations per second, of trainlaw and pyoperon."""

import time
from collections.abc import Callable
from random import Random

import numpy as np
from trainlaw.evolve import SearchSettings
from trainlaw.evolve.search.individuals import Forest, Individual, forest_of
from trainlaw.evolve.search.islands import start_island, step
from trainlaw.evolve.search.problem import make_problem
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec

ARITHMETIC = ("add", "sub", "mul", "div")
FULL = (*ARITHMETIC, "exp", "log", "sqrt", "sin", "cos", "tanh", "square")
TREES = 1000
FEATURES = 5


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the shortest of some repetitions, after one for warming up."""
    work()
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return min(spent)


def sample_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns, (rows, FEATURES), from 1 to 2, and a target, (rows,), without an exact small tree."""
    generator = np.random.default_rng(0)
    X = generator.uniform(1.0, 2.0, (rows, FEATURES))
    return X, X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + generator.normal(0.0, 0.1, rows)


def trainlaw_problem(operators: tuple[str, ...], rows: int, threads: int, population: int = TREES):
    """Return an untyped problem over the sample rows."""
    X, y = sample_rows(rows)
    features = tuple(FeatureSpec(f"x{i}", f"x{i}", DIMENSIONLESS, f"column {i}") for i in range(FEATURES))
    settings = SearchSettings(
        operators=operators,
        typed=False,
        population=population,
        threads=threads,
        max_nodes=50,
        evaluations=10**9,
    )
    return make_problem(X, y, features, FeatureSpec("y", "y", DIMENSIONLESS, "target"), settings)


def trainlaw_trees(operators: tuple[str, ...]) -> Forest:
    """Return `TREES` random trees of 20 to 40 nodes."""
    grammar = trainlaw_problem(operators, 10, 1).grammar
    trees: list[Individual] = []
    random = Random(0)
    while len(trees) < TREES:
        tree = Individual(grammar.grow(grammar.target, 8, random))
        if 20 <= len(tree) <= 40:
            trees.append(tree)
    return forest_of(trees, grammar)


def trainlaw_fits_per_second(rows: int, threads: int, repeats: int) -> float:
    """Return individuals per second with five Levenberg-Marquardt steps."""
    problem = trainlaw_problem(ARITHMETIC, rows, threads)
    trees = trainlaw_trees(ARITHMETIC).trees()
    return TREES / best_seconds(lambda: problem.fit(trees, 5), repeats)


def clock_of(threads: int) -> Callable[[], float]:
    """Return the clock of a measurement: of the processor for one thread, whatever else the machine does."""
    return time.process_time if threads == 1 else time.perf_counter


def trainlaw_generations_per_second(
    rows: int,
    threads: int,
    generations: int,
    population: int = TREES,
    operators: tuple[str, ...] = ARITHMETIC,
) -> float:
    """Return generations per second: parents, variation, fit, survival."""
    clock, problem = clock_of(threads), trainlaw_problem(operators, rows, threads, population)
    island = start_island(problem, 0)
    for _ in range(2):
        step(island, problem)
    began, before = clock(), island.evaluations
    for _ in range(generations):
        step(island, problem)
    # Duplicates are not fitted again, so the evaluations are counted.
    return (island.evaluations - before) / population / (clock() - began)


def pyoperon_generations_per_second(
    rows: int,
    threads: int,
    generations: int,
    population: int = TREES,
    operators: tuple[str, ...] = ARITHMETIC,
) -> float:
    """Return generations per second of pyoperon's NSGA-II with five Levenberg-Marquardt steps."""
    from pyoperon.sklearn import SymbolicRegressor  # noqa: PLC0415  # optional

    clock, (X, y) = clock_of(threads), sample_rows(rows)

    def seconds(count: int) -> float:
        estimator = SymbolicRegressor(
            allowed_symbols=",".join([*operators, "constant", "variable"]),
            optimizer_iterations=5,
            objectives=["r2", "length"],
            population_size=population,
            generations=count,
            max_evaluations=10**9,
            max_length=50,
            n_threads=threads,
            random_state=1,
        )
        began = clock()
        estimator.fit(X, y)
        return clock() - began

    few = seconds(2)
    return generations / max(seconds(generations + 2) - few, 1e-9)


def raw_rows(threads: int, repeats: int, pyoperon: bool) -> list[dict[str, object]]:
    """Return one row per measure: name, trainlaw, pyoperon (None without it)."""
    table = []
    generations = 5 * repeats
    theirs = pyoperon_generations_per_second(1_000, threads, generations) if pyoperon else None
    full = pyoperon_generations_per_second(1_000, threads, generations, TREES, FULL) if pyoperon else None
    ours = trainlaw_fits_per_second(1_000, threads, repeats)
    individuals = None if theirs is None else theirs * TREES
    table.append(
        {"measure": "individuals/s, 5 fit steps, 1,000 rows", "trainlaw": ours, "pyoperon": individuals}
    )
    ours = trainlaw_generations_per_second(1_000, threads, generations)
    table.append(
        {"measure": "generations/s, 1,000 trees, 1,000 rows, fit", "trainlaw": ours, "pyoperon": theirs}
    )
    ours = trainlaw_generations_per_second(1_000, threads, generations, TREES, FULL)
    table.append({"measure": "the same, full set", "trainlaw": ours, "pyoperon": full})
    return table
