"""The engine against its peers on this machine: `python -m benchmarks.engine`, a table, a CSV and a page.

Peers are installed by `pip install .[peers]`. Parts run alone: `--parts raw`; small: `--seeds 1 --budgets 5`.
"""

import argparse
import csv
import datetime
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import PEERS
from benchmarks.problems import own_problems, read_problems
from benchmarks.quality import quality_rows, summary_rows
from benchmarks.raw import raw_rows
from benchmarks.scaling import scaling_rows

PARTS = ("raw", "quality", "scaling")
PACKAGES = ("trainlaw", "deap", "numba", "numpy", "pyoperon", "gplearn")
PAGE = Path("docs/benchmarks.md")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the parts asked for and writes `OUT/*.csv` and, unless told not to, `docs/benchmarks.md`."""
    options = _options(arguments)
    sections = ["# Benchmarks of the engine", "", _machine(options.threads), ""]
    if "raw" in options.parts:
        table = raw_rows(options.threads, options.repeats, "pyoperon" in options.peers)
        for row in table:
            row["ratio"] = row["ours"] / row["pyoperon"] if row["pyoperon"] else None
        sections += _section("raw", "Raw speed (ours in float64, pyoperon in float32)", table, options.out)
    if "quality" in options.parts:
        problems = read_problems(options.problems) if options.problems else own_problems()
        problems = [problem for problem in problems if options.only in problem.name]
        rows = quality_rows(problems, options.budgets, options.seeds, options.threads, options.peers)
        _write_csv(options.out / "quality.csv", rows)
        sections += _section("quality_summary", "Quality at equal time", summary_rows(rows), options.out)
    if "scaling" in options.parts:
        sections += _section("scaling", "Scaling of a generation", scaling_rows(options.full), options.out)
    text = "\n".join(sections)
    print(text)
    (options.out / "benchmarks.md").write_text(text + "\n")
    if options.page:
        PAGE.write_text(text + "\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmarks of the engine against its peers.")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--peers", nargs="+", choices=tuple(PEERS), default=tuple(PEERS))
    parser.add_argument("--budgets", nargs="+", type=float, default=(10.0, 30.0), help="seconds per fit")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--problems", type=Path, help="folder with problems.json instead of the own problems")
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--full", action="store_true", help="scaling up to 1e6 rows")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md too")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def _machine(threads: int) -> str:
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} not installed")
    date = datetime.datetime.now(datetime.UTC).date()
    return (
        f"{date}, {platform.machine()} with {os.cpu_count()} cores, {threads} threads used, "
        f"Python {platform.python_version()}; {', '.join(versions)}."
    )


def _section(name: str, title: str, table: list[dict[str, object]], out: Path) -> list[str]:
    _write_csv(out / f"{name}.csv", table)
    heads = list(table[0])
    lines = [f"## {title}", "", "| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(_shown(row[head]) for head in heads) + " |" for row in table]
    return [*lines, ""]


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _write_csv(path: Path, table: Sequence[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()
