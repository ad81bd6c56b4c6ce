"""Exact recovery of unseen equations: trainlaw and pyoperon, each with the same processor time on one thread.

python -m benchmarks.unseen --count 30 --budgets 10 30
python -m benchmarks.unseen --set feynman --count 20 --budgets 10     drawn from a published list

Sets: "unseen", made by the authors of the engine; and of others "feynman", "strogatz" and "trees".
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.equations import TEST_SEED, unseen_equations, with_irrelevant
from benchmarks.foreign import dynamical, published, random_trees
from benchmarks.problems import BenchmarkProblem
from benchmarks.quality import quality_rows
from benchmarks.tables import table_lines
from benchmarks.third_party import ENGINES

FOREIGN = {"feynman": published, "strogatz": dynamical, "trees": random_trees}


def chosen_problems(options: argparse.Namespace) -> list[BenchmarkProblem]:
    """Return the first equations made by the authors, or a random draw from another set."""
    if options.set == "unseen":
        problems = unseen_equations(options.equations, options.count)
        return [problem for problem in problems if problem.name.split()[-1] in options.noise]
    found = []
    for noise in options.noise:
        known = FOREIGN[options.set](float(noise))
        places = Random(options.equations).sample(range(len(known)), min(options.count, len(known)))
        found += [known[place] for place in sorted(places)]
    return found


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
    parser.add_argument("--engines", nargs="+", choices=tuple(ENGINES), default=("trainlaw", "pyoperon"))
    parser.add_argument("--set", choices=("unseen", *FOREIGN), default="unseen")
    parser.add_argument("--equations", type=int, default=TEST_SEED, help="seed of the equations or the draw")
    parser.add_argument(
        "--irrelevant", type=int, default=0, help="columns that the target does not depend on"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    problems = [with_irrelevant(problem, options.irrelevant) for problem in chosen_problems(options)]
    rows = quality_rows(
        problems, options.budgets, options.seeds, options.engines, options.out / "unseen_runs.csv",
        symbolic=False,
    )  # fmt: skip
    table = unseen_summary(rows)
    more = f", {options.irrelevant} irrelevant columns" if options.irrelevant else ""
    title = f"## Unseen equations, one thread{more} (`python -m benchmarks.unseen`)"
    lines = [title, "", *table_lines(table)]
    (options.out / "unseen.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
