"""Exact recovery of unseen equations: trainlaw and pyoperon, each with the same processor time on one thread.

Processor time instead of wall time, so that other work on the machine does not change the result. trainlaw
stops by itself once only rounding is left.

python -m benchmarks.unseen --count 30 --budgets 10 30
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas.algebra.expression import count_nodes

from benchmarks.engine import table_lines, write_csv
from benchmarks.equations import TEST_SEED, unseen_equations, with_irrelevant
from benchmarks.problems import BenchmarkProblem
from benchmarks.quality import measures
from benchmarks.third_party import UNTYPED_SYMBOLS, EngineResult, named

# Evaluations of the run of pyoperon that measures how much of a processor it gets.
TRIAL_EVALUATIONS = 100_000
Engine = Callable[[BenchmarkProblem, float, int], EngineResult]


def run_trainlaw(problem: BenchmarkProblem, seconds: float, seed: int, **changed: Any) -> EngineResult:
    """Run an untyped search with some settings changed, for at most `seconds` of processor time."""
    began = time.process_time()

    def stop_in_time(_: object) -> None:
        if time.process_time() - began > seconds:
            raise KeyboardInterrupt  # which a search answers with what it has found

    settings = SearchSettings(evaluations=10**9, random_seed=seed, typed=False, **changed)
    estimator = FormulaRegressor(problem.features, problem.target, settings, progress=stop_in_time)
    estimator.fit(problem.train_x, problem.train_y)
    formula = estimator.formula_
    return EngineResult(
        estimator.predict(problem.test_x), formula.text(None), count_nodes(formula.expression),
        time.process_time() - began, tuple(member.formula.text(None) for member in estimator.front_),
    )  # fmt: skip


def run_pyoperon(problem: BenchmarkProblem, seconds: float, seed: int) -> EngineResult:
    """Run pyoperon for `seconds` of processor time, which a trial run translates to a limit of wall time."""
    began, wall = time.process_time(), time.monotonic()
    _operon(seed, 3600, TRIAL_EVALUATIONS).fit(problem.train_x.copy(), problem.train_y.copy())
    stretch = (time.monotonic() - wall) / (time.process_time() - began)
    began = time.process_time()
    estimator = _operon(seed, max(round(stretch * seconds), 1), 10**9)
    estimator.fit(problem.train_x.copy(), problem.train_y.copy())
    spent = time.process_time() - began
    text = named(estimator.get_model_string(estimator.model_, 17), problem, 1)
    front = [estimator.get_model_string(member["tree"], 17) for member in estimator.pareto_front_]
    size = len(text.replace("(", " ").replace(")", " ").split())
    with np.errstate(all="ignore"):
        predicted = np.asarray(estimator.predict(problem.test_x.copy()), dtype=np.float64)
    return EngineResult(predicted, text, size, spent, tuple(named(member, problem, 1) for member in front))


def _operon(seed: int, wall_seconds: int, evaluations: int) -> Any:
    from pyoperon.sklearn import SymbolicRegressor  # noqa: PLC0415  # optional

    return SymbolicRegressor(
        allowed_symbols=UNTYPED_SYMBOLS,
        optimizer_iterations=5,
        objectives=["r2", "length"],
        model_selection_criterion="mean_squared_error",
        generations=1_000_000,
        n_threads=1,
        random_state=seed,
        max_time=wall_seconds,
        max_evaluations=evaluations,
    )


ENGINES: dict[str, Engine] = {
    "trainlaw": run_trainlaw,
    "trainlaw-unscreened": partial(run_trainlaw, screening=0),
    "pyoperon": run_pyoperon,
}


def unseen_rows(
    problems: Sequence[BenchmarkProblem],
    budgets: Sequence[float],
    seeds: int,
    engines: Sequence[str],
    out: Path,
) -> list[dict[str, object]]:
    """Return one row per budget, problem, seed and engine, engines in turn; rows are written as they come."""
    rows: list[dict[str, object]] = []
    for budget in budgets:
        for problem in problems:
            for seed in range(seeds):
                for engine in engines:
                    result = ENGINES[engine](problem, budget, seed)
                    rows.append(
                        {"problem": problem.name, "noise": problem.name.split()[-1], "budget_s": budget,
                         "seed": seed, "engine": engine}
                        | measures(problem, replace(result, seconds=round(result.seconds, 2)))
                    )  # fmt: skip
                    print(" ".join(str(value)[:60] for value in rows[-1].values()), flush=True)
                    write_csv(out, rows)
    return rows


def unseen_summary(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return counts of recovered equations by budget, noise and engine."""
    table = []
    for key in dict.fromkeys((row["budget_s"], row["noise"], row["engine"]) for row in rows):
        runs = [row for row in rows if (row["budget_s"], row["noise"], row["engine"]) == key]
        table.append(
            {
                "budget, s of processor time": key[0],
                "noise": key[1],
                "engine": key[2],
                "recovered, chosen": f"{sum(bool(row['recovered']) for row in runs)}/{len(runs)}",
                "recovered on the front": f"{sum(bool(row['recovered_on_front']) for row in runs)}",
                "R2 > 0.999": f"{sum(float(str(row['r2'])) > 0.999 for row in runs)}",
                "median nodes": float(np.median([int(str(row["nodes"])) for row in runs])),
                "mean s of processor time": float(np.mean([float(str(row["seconds"])) for row in runs])),
            }
        )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the comparison, print its table and write `unseen_runs.csv` and `unseen.md` to --out."""
    parser = argparse.ArgumentParser(description="Exact recovery of unseen equations.")
    parser.add_argument("--count", type=int, default=30, help="equations")
    parser.add_argument("--noise", nargs="+", default=("0", "0.01"))
    parser.add_argument("--budgets", nargs="+", type=float, default=(10.0, 30.0), help="processor seconds")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--engines", nargs="+", choices=tuple(ENGINES), default=tuple(ENGINES))
    parser.add_argument("--equations", type=int, default=TEST_SEED, help="seed of the equations")
    parser.add_argument(
        "--irrelevant", type=int, default=0, help="columns that the target does not depend on"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    problems = [
        with_irrelevant(problem, options.irrelevant)
        for problem in unseen_equations(options.equations, options.count)
        if problem.name.split()[-1] in options.noise
    ]
    rows = unseen_rows(
        problems, options.budgets, options.seeds, options.engines, options.out / "unseen_runs.csv"
    )
    table = unseen_summary(rows)
    more = f", {options.irrelevant} irrelevant columns" if options.irrelevant else ""
    title = f"## Unseen equations, one thread{more} (`python -m benchmarks.unseen`)"
    lines = [title, "", *table_lines(table)]
    (options.out / "unseen.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
