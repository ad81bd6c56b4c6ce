"""Quality at equal time: what ours and the peers find on problems with a known law."""

import math
from collections.abc import Sequence

import numpy as np
from trainlaw.formulas import TrainlawError, complexity, parse_text, tidy

from benchmarks.peers import PEERS, PeerResult
from benchmarks.problems import BenchmarkProblem

# Share of the test variance left over below which a formula counts as the law itself, numerically.
EXACT_SHARE = 1e-12


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
    """R2, median absolute percentage error, exactness by number and by form, nodes, seconds, text."""
    truth = problem.test_y
    error = np.nan_to_num(result.predicted, nan=np.inf, posinf=np.inf, neginf=np.inf) - truth
    left = float(np.mean(error**2) / np.var(truth))
    return {
        "r2": 1.0 - left,
        "median_ape_percent": float(np.median(np.abs(error / truth)) * 100.0),
        "exact_values": problem.kind == "equation" and left < EXACT_SHARE,
        "exact_form": same_form(problem, result.text),
        "nodes": result.size,
        "seconds": result.seconds,
        "formula": result.text,
    }


def same_form(problem: BenchmarkProblem, text: str) -> bool:
    """Whether sympy reduces the difference of the formula and the law to zero, constants to 4 digits."""
    if problem.law is None or problem.kind != "equation":
        return False
    try:
        found = tidy(parse_text(text))
    except TrainlawError:
        return False
    if complexity(found) > 4 * complexity(problem.law):
        return False
    return _sympy_agrees(problem, found)


def _sympy_agrees(problem: BenchmarkProblem, found: object) -> bool:
    import sympy
    from trainlaw.formulas import to_sympy

    difference = to_sympy(found) - to_sympy(problem.law)
    rounded = difference.xreplace(
        {number: sympy.Float(f"{float(number):.4g}") for number in difference.atoms(sympy.Float)}
    )
    simplified = sympy.simplify(sympy.nsimplify(rounded, rational=True, tolerance=1e-6))
    return simplified == 0


def summary_rows(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Per budget and peer: share of equations with R2 > 0.999, exact ones, median error on the models."""
    table = []
    for budget in sorted({row["budget_s"] for row in rows}):
        for peer in dict.fromkeys(row["peer"] for row in rows):
            own = [row for row in rows if row["budget_s"] == budget and row["peer"] == peer]
            equations = [row for row in own if row["kind"] == "equation"]
            models = [float(row["median_ape_percent"]) for row in own if row["kind"] == "perfmodel"]
            table.append(
                {
                    "budget_s": budget,
                    "peer": peer,
                    "R2 > 0.999": f"{sum(float(row['r2']) > 0.999 for row in equations)}/{len(equations)}",
                    "exact values": sum(bool(row["exact_values"]) for row in equations),
                    "exact form": sum(bool(row["exact_form"]) for row in equations),
                    "models, median APE %": round(float(np.median(models)), 2) if models else math.nan,
                    "median nodes": float(np.median([int(row["nodes"]) for row in own])),
                }
            )
    return table
