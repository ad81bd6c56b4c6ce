"""The search engine compared with third-party engines on this machine: tables, CSV files and a page.

python -m benchmarks.engine                               all parts
python -m benchmarks.engine --parts raw                   one part

`pip install .[peers]` installs the third-party engines.
"""

import argparse
import datetime
import importlib.metadata
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path

from trainlaw.app.studies.clusters import task_place

from benchmarks.first_front import first_front_rows
from benchmarks.held_out import held_out_rows
from benchmarks.limits import limit_rows
from benchmarks.planted import planted_rows, planted_summary
from benchmarks.raw import raw_rows
from benchmarks.scaling import scaling_rows
from benchmarks.tables import table_lines, write_csv

PARTS = ("raw", "scaling", "limits", "first-front", "planted", "held-out")
PACKAGES = ("trainlaw", "deap", "numba", "numpy", "pyoperon", "gplearn")
PAGE = Path("docs/benchmarks.md")
Part = Callable[[argparse.Namespace], None]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the requested parts and write `OUT/*.csv`, `OUT/*.md` and, with --page, `docs/benchmarks.md`.

    Sections of other parts stay as in the last run in `OUT`.
    """
    options = _options(arguments)
    for part in options.parts:
        _RUN[part](options)
    found = [options.out / f"{part}.md" for part in PARTS]
    sections = ["# Benchmarks of the engine\n", *(path.read_text() for path in found if path.exists())]
    text = "\n".join(sections)
    print(text)
    (options.out / "benchmarks.md").write_text(text)
    if options.page:
        PAGE.write_text(text)


def _raw(options: argparse.Namespace) -> None:
    table = raw_rows(options.threads, options.repeats, "pyoperon" in options.engines)
    for row in table:
        row["ratio"] = row["trainlaw"] / row["pyoperon"] if row["pyoperon"] else None
    _section("raw", "Raw speed (trainlaw in float64, pyoperon in float32)", table, options)


def _planted(options: argparse.Namespace) -> None:
    with task_place(options.cluster) as place:
        rows = planted_rows(options.planted_seeds, options.threads, options.only, place=place)
    write_csv(options.out / "planted_runs.csv", rows)
    title = "Planted formulas recovered (5 % noise; 60 s per search, 120 s for layers)"
    _section("planted", title, planted_summary(rows), options)


def _held_out(options: argparse.Namespace) -> None:
    with task_place(options.cluster) as place:
        rows = held_out_rows(options.fold_seconds, options.threads, options.engines, place)
    title = "Errors on held-out GPUs (fp32-2026, one fold per GPU group, one thread per search)"
    _section("held-out", title, rows, options)


def _plain(name: str, title: str, rows: Callable[[argparse.Namespace], list[dict[str, object]]]) -> Part:
    """Return a part that is one table."""
    return lambda options: _section(name, title, rows(options), options)


_RUN: dict[str, Part] = {
    "raw": _raw,
    "scaling": _plain("scaling", "Scaling of a generation", lambda options: scaling_rows(options.full)),
    "limits": _plain("limits", "Time limits and memory of a fit", lambda options: limit_rows()),
    "first-front": _plain(
        "first-front", "From the start of the process to a front", lambda options: first_front_rows()
    ),
    "planted": _planted,
    "held-out": _held_out,
}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The search engine compared with third-party engines.")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    engines = ("trainlaw", "pyoperon", "gplearn")
    parser.add_argument(
        "--engines", nargs="+", choices=engines, default=engines, help="gplearn: held-out only"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="planted formulas whose name contains this")
    parser.add_argument("--planted-seeds", type=int, default=10)
    parser.add_argument("--fold-seconds", type=float, default=60.0, help="time limit per fold, part held-out")
    parser.add_argument("--full", action="store_true", help="scaling up to 1e6 rows")
    parser.add_argument(
        "--cluster", default="", help="tcp://HOST:PORT, local:N or a TOML file, for planted and held-out"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--page", action="store_true", help="also write docs/benchmarks.md")
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


def _section(name: str, title: str, table: list[dict[str, object]], options: argparse.Namespace) -> None:
    """Write the table of one part as CSV and as a section of the page, with date and machine."""
    write_csv(options.out / f"{name}.csv", table)
    lines = [f"## {title}", "", _machine(options.threads), ""]
    (options.out / f"{name}.md").write_text("\n".join([*lines, *table_lines(table)]) + "\n")


if __name__ == "__main__":
    main()
