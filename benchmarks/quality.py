"""Quality at equal time: trainlaw and third-party engines on problems with a known formula."""

import multiprocessing
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from trainlaw.formulas import (
    Expression,
    TrainlawError,
    complexity,
    constants,
    evaluate,
    parse_text,
    tidy,
    to_text,
)
from trainlaw.formulas.algebra.expression import with_constants
from trainlaw.formulas.algebra.sympy_bridge import to_sympy

from benchmarks.problems import BenchmarkProblem
from benchmarks.tables import write_csv
from benchmarks.third_party import ENGINES, EngineResult

# A formula whose refitted constants leave a smaller share of the test variance, in float64, counts as the
# true formula: an approximation of similar size leaves far more.
EXACT_SHARE = 1e-18
# Above this share the constants of a formula are not refitted.
NEAR_SHARE = 1e-3
# Largest complexity of a recovered formula, in multiples of that of the true formula as written.
MOST_TIMES = 3
SYMPY_SECONDS = 20.0


def quality_rows(
    problems: Sequence[BenchmarkProblem],
    budgets: Sequence[float],
    seeds: int,
    engines: Sequence[str],
    out: Path,
    *,
    symbolic: bool = True,
) -> list[dict[str, object]]:
    """Return one row per budget, problem, seed and engine, engines in turn; rows are written as they come.

    symbolic : whether sympy compares the formulas as well, which takes up to 20 s each.
    """
    rows: list[dict[str, object]] = []
    for budget, problem, seed, engine in product(budgets, problems, range(seeds), engines):
        key = {"problem": problem.name, "kind": problem.kind, "noise": problem.name.split()[-1]}
        result = ENGINES[engine](problem, budget, seed)
        found = measures(problem, result, symbolic=symbolic)
        rows.append({**key, "budget_s": budget, "seed": seed, "engine": engine, **found})
        print(" ".join(str(value)[:60] for value in rows[-1].values()), flush=True)
        write_csv(out, rows)
    return rows


def measures(problem: BenchmarkProblem, result: EngineResult, *, symbolic: bool = True) -> dict[str, object]:
    """Return R2, median absolute percentage error, recovery by numbers and by sympy, nodes, seconds, text."""
    measured = problem.test_y
    error = np.nan_to_num(result.predicted, nan=np.inf, posinf=np.inf, neginf=np.inf) - measured
    left = float(np.mean(error**2) / np.var(measured))
    truth = problem.truth if problem.kind == "equation" else None
    texts = (result.text, *result.others) if truth else ()
    found = [refitted(problem, truth, text) for text in texts]
    known = [formula for formula in found if formula is not None]
    return {
        "r2": 1.0 - left,
        "median_ape_percent": float(np.median(np.abs(error / measured)) * 100.0),
        "recovered": bool(found) and found[0] is not None,
        "recovered_on_front": bool(known),
        "sympy_agrees": symbolic and bool(known) and sympy_agrees(known[0], truth),
        "nodes": result.size,
        "seconds": round(result.seconds, 2),
        "formula": result.text,
    }


def refitted(problem: BenchmarkProblem, truth: Expression, text: str) -> Expression | None:
    """Return the formula of `text`, constants refitted to the noise-free test rows, or None.

    None if it differs from the true formula or is more than `MOST_TIMES` as complex. Thus noise in the
    training rows does not count against a formula of the right form, and a long approximation is not
    accepted.
    """
    try:
        found = tidy(parse_text(text))
    except TrainlawError:
        return None
    if complexity(found) > MOST_TIMES * complexity(truth):
        return None
    columns = {spec.name: problem.test_x[:, i] for i, spec in enumerate(problem.features)}
    spread = float(np.std(problem.test_y))

    def residuals(values: np.ndarray) -> np.ndarray:
        predicted = evaluate(with_constants(found, list(values)), columns)[0]
        return np.nan_to_num((predicted - problem.test_y) / spread, nan=1e6, posinf=1e6, neginf=-1e6)

    held = np.array(constants(found))
    if held.size and np.mean(residuals(held) ** 2) < NEAR_SHARE:
        held = least_squares(residuals, held, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    if not np.mean(residuals(held) ** 2) < EXACT_SHARE:
        return None
    return with_constants(found, held.tolist())


def sympy_agrees(found: Expression, truth: Expression) -> bool:
    """Return whether sympy reduces the difference to zero, with constants of 4 digits.

    In a separate process; False after `SYMPY_SECONDS`.
    """
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    child = context.Process(target=_reduce, args=(to_text(found), to_text(truth), answer), daemon=True)
    child.start()
    child.join(SYMPY_SECONDS)
    if child.is_alive():
        child.kill()
        return False
    return not answer.empty() and answer.get()


def _reduce(found: str, truth: str, answer: multiprocessing.SimpleQueue) -> None:
    import sympy  # noqa: PLC0415  # only in the child process

    expanded = sympy.expand(to_sympy(parse_text(found)))
    rounded = expanded.xreplace(
        {number: sympy.Float(f"{float(number):.4g}") for number in expanded.atoms(sympy.Float)}
    )
    difference = rounded - to_sympy(parse_text(truth))
    answer.put(bool(sympy.simplify(sympy.nsimplify(difference, rational=True, tolerance=1e-6)) == 0))


def summary_rows(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return shares of equations with R2 > 0.999 and recovered, and median errors, by budget and engine."""
    table = []
    for budget in sorted({row["budget_s"] for row in rows}):
        for engine in dict.fromkeys(row["engine"] for row in rows):
            runs = [row for row in rows if row["budget_s"] == budget and row["engine"] == engine]
            equations = [row for row in runs if row["kind"] == "equation"]
            if not runs:
                continue
            models = [float(row["median_ape_percent"]) for row in runs if row["kind"] == "perfmodel"]
            table.append(
                {
                    "budget_s": budget,
                    "engine": engine,
                    "R2 > 0.999": f"{sum(float(row['r2']) > 0.999 for row in equations)}/{len(equations)}",
                    "recovered on the front": f"{sum(bool(row['recovered_on_front']) for row in equations)}",
                    "recovered, chosen": f"{sum(bool(row['recovered']) for row in equations)}",
                    "sympy agrees": sum(bool(row["sympy_agrees"]) for row in equations),
                    "models, median APE %": round(float(np.median(models)), 2) if models else "not run",
                    "median nodes": float(np.median([int(row["nodes"]) for row in runs])),
                }
            )
    return table
