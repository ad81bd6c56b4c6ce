"""Quality at equal time: what ours and the peers find on problems with a known law."""

import multiprocessing
from collections.abc import Sequence

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
from trainlaw.formulas.expression import with_constants
from trainlaw.formulas.sympy_bridge import to_sympy

from benchmarks.peers import PEERS, PeerResult
from benchmarks.problems import BenchmarkProblem

# Share of the test variance left over below which a formula with its constants fitted anew, in float64,
# counts as the law itself: far below what an approximation of the size of the law leaves.
EXACT_SHARE = 1e-18
# Above this share the constants of a formula are not fitted anew.
NEAR_SHARE = 1e-3
# A recovered law is at most so many times as complex as the law as it was written.
MOST_TIMES = 3
SYMPY_SECONDS = 20.0


def quality_rows(
    problems: Sequence[BenchmarkProblem],
    budgets: Sequence[float],
    seeds: int,
    threads: int,
    peers: Sequence[str],
) -> list[dict[str, object]]:
    """One row per problem, budget, seed and peer."""
    rows = []
    for budget in budgets:
        for problem in problems:
            for seed in range(seeds):
                for peer in peers:
                    result = PEERS[peer](problem, budget, seed, threads)
                    rows.append(
                        {
                            "problem": problem.name,
                            "kind": problem.kind,
                            "budget_s": budget,
                            "seed": seed,
                            "peer": peer,
                        }
                        | measures(problem, result)
                    )
                    print(" ".join(str(value)[:60] for value in rows[-1].values()), flush=True)
    return rows


def measures(problem: BenchmarkProblem, result: PeerResult) -> dict[str, object]:
    """R2, median absolute percentage error, recovery by numbers and by sympy, nodes, seconds, text."""
    truth = problem.test_y
    error = np.nan_to_num(result.predicted, nan=np.inf, posinf=np.inf, neginf=np.inf) - truth
    left = float(np.mean(error**2) / np.var(truth))
    law = problem.law if problem.kind == "equation" else None
    texts = (result.text, *result.others) if law else ()
    found = [refitted(problem, law, text) for text in texts]
    known = [formula for formula in found if formula is not None]
    return {
        "r2": 1.0 - left,
        "median_ape_percent": float(np.median(np.abs(error / truth)) * 100.0),
        "recovered": bool(found) and found[0] is not None,
        "recovered_on_front": bool(known),
        "sympy_agrees": bool(known) and sympy_agrees(known[0], law),
        "nodes": result.size,
        "seconds": result.seconds,
        "formula": result.text,
    }


def refitted(problem: BenchmarkProblem, law: Expression, text: str) -> Expression | None:
    """The formula of `text` with its constants fitted to the law's own values on the test rows, if it then
    is the law and no more than `MOST_TIMES` as complex; else None.

    So noise in the training rows does not count against a formula of the right form, and a long
    approximation does not count as the law.
    """
    try:
        found = tidy(parse_text(text))
    except TrainlawError:
        return None
    if complexity(found) > MOST_TIMES * complexity(law):
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


def sympy_agrees(found: Expression, law: Expression) -> bool:
    """Whether sympy, in a process of its own, reduces the difference to zero, constants to 4 digits; False
    after `SYMPY_SECONDS`.
    """
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    child = context.Process(target=_reduce, args=(to_text(found), to_text(law), answer), daemon=True)
    child.start()
    child.join(SYMPY_SECONDS)
    if child.is_alive():
        child.kill()
        return False
    return not answer.empty() and answer.get()


def _reduce(found: str, law: str, answer: multiprocessing.SimpleQueue) -> None:
    import sympy

    expanded = sympy.expand(to_sympy(parse_text(found)))
    rounded = expanded.xreplace(
        {number: sympy.Float(f"{float(number):.4g}") for number in expanded.atoms(sympy.Float)}
    )
    difference = rounded - to_sympy(parse_text(law))
    answer.put(bool(sympy.simplify(sympy.nsimplify(difference, rational=True, tolerance=1e-6)) == 0))


def summary_rows(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Per budget and peer: share of equations with R2 > 0.999 and recovered, median error on the models."""
    table = []
    for budget in sorted({row["budget_s"] for row in rows}):
        for peer in dict.fromkeys(row["peer"] for row in rows):
            own = [row for row in rows if row["budget_s"] == budget and row["peer"] == peer]
            equations = [row for row in own if row["kind"] == "equation"]
            if not own:
                continue
            models = [float(row["median_ape_percent"]) for row in own if row["kind"] == "perfmodel"]
            table.append(
                {
                    "budget_s": budget,
                    "peer": peer,
                    "R2 > 0.999": f"{sum(float(row['r2']) > 0.999 for row in equations)}/{len(equations)}",
                    "recovered on the front": f"{sum(bool(row['recovered_on_front']) for row in equations)}",
                    "recovered, chosen": f"{sum(bool(row['recovered']) for row in equations)}",
                    "sympy agrees": sum(bool(row["sympy_agrees"]) for row in equations),
                    "models, median APE %": round(float(np.median(models)), 2) if models else "not run",
                    "median nodes": float(np.median([int(row["nodes"]) for row in own])),
                }
            )
    return table
