"""Make the built-in formulas and all that follows from them: `python -m tools.builtin [NAME ...]`.

It runs the study behind each formula, writes the formulas that changed into `app/builtin`, then transcripts,
pages and pictures, and says what changed. It runs from the root of a checkout. Interrupted, it continues:
finished parts are kept in `build/builtin`, by the sha256 of the code, data and recipe behind them.

    python -m tools.builtin --list             the recipes
    python -m tools.builtin short multi        these alone
    python -m tools.builtin --check            compare, write nothing; status 1 where a formula differs
    python -m tools.builtin --only-formulas    no transcripts, pages and pictures
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

from trainlaw.formulas import Formula, load_formula

from tools.builtin.formula_files import FOLDER, differences, short_description, write_formula
from tools.builtin.kinds import KINDS
from tools.builtin.recipes import RECIPES, Recipe
from tools.builtin.work import ROOT, is_done, mark_done, printed_files, work_folder

# Tests that write what they compare: transcripts, and values of features and baselines.
_GOLDEN = ("tests/app/commands/test_transcripts.py", "tests/datasets/features", "tests/validate/baselines")
_SHOWN_ENTRIES = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the options say; the status is 1 where --check finds a difference or a step fails."""
    names = [recipe.name for recipe in RECIPES]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="print the recipes")
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--only-formulas", action="store_true", help="without what follows from them")
    parser.add_argument("--workers", type=int, default=2, help="processes of a study (2)")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in names]
    if unknown:
        parser.error(f"expected recipes among {', '.join(names)}, got {unknown[0]!r}")
    recipes = [recipe for recipe in RECIPES if not asked.names or recipe.name in asked.names]
    if asked.list:
        print("\n".join(map(_recipe_line, recipes)))
        return 0
    before = printed_files()
    changed = [name for recipe in recipes for name in _remade(recipe, asked.workers, asked.check)]
    if asked.check:
        print(f"{len(changed)} formulas differ" if changed else "all formulas are what is found again")
        return 1 if changed else 0
    failed = [] if asked.only_formulas else list(_failed_steps())
    after = printed_files()
    files = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    print("\n  ".join(["files that changed:", *files]) if files else "no file changed")
    return 1 if failed else 0


def _recipe_line(recipe: Recipe) -> str:
    made = f"trainlaw study {recipe.command}" if recipe.options else f"{recipe.kind}: {recipe.note}"
    return f"{recipe.name:12} {recipe.file:16} {made}"


def _remade(recipe: Recipe, workers: int, only_compare: bool) -> Iterator[str]:
    """Make the formulas of a recipe, say how each differs from the stored one, and yield those that do.

    only_compare : leave the stored files as they are.
    """
    for name, formula in KINDS[recipe.kind].make(recipe, work_folder(recipe), workers).items():
        path = FOLDER / name
        old = load_formula(path) if path.is_file() else None
        print("\n".join(comparison_lines(name, old, formula)), flush=True)
        if old is None or differences(old, formula):
            yield name
            if not only_compare:
                write_formula(formula, path)


def comparison_lines(name: str, old: Formula | None, new: Formula) -> Iterator[str]:
    """Yield lines that say how the formula of a file differs from the stored one; old : None for none."""
    if old is None:
        yield f"{name}: new, {short_description(new)}: {new.text()}"
        return
    different = differences(old, new)
    if not different:
        yield f"{name}: as stored, {short_description(new)}"
        return
    verdict = "the same text" if old.text() == new.text() else "ANOTHER TEXT"
    yield f"{name}: {verdict}, {short_description(old)} -> {short_description(new)}"
    if old.text() != new.text():
        yield from (f"  stored: {old.text()}", f"  found:  {new.text()}")
    rest = len(different) - _SHOWN_ENTRIES
    more = f" and {rest} more" if rest > 0 else ""
    yield f"  entries that differ: {', '.join(different[:_SHOWN_ENTRIES])}{more}"


def _failed_steps() -> Iterator[str]:
    """Write what follows from the formulas, where it is not up to date; yield the steps that failed."""
    built_in = next(recipe for recipe in RECIPES if recipe.name == "built-in")
    run = work_folder(built_in) / "run"
    steps = {
        "transcripts": ("-m", "pytest", "-q", "-n", "0", "--overwrite-golden", *_GOLDEN),
        "pages": ("docs/build.py", "--rewrite", "--slow"),
        "pictures": ("docs/build.py", "--pictures", *(("--run", str(run)) if run.is_dir() else ())),
    }
    done = []
    for name, words in steps.items():
        if is_done(name):
            print(f"{name}: up to date")
            done.append(name)
            continue
        print(f"{name}: python {' '.join(words)}", flush=True)
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        if subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=False).returncode:
            print(f"{name}: FAILED")
            yield name
        else:
            done.append(name)
            # Each step changes files that the others depend on.
            mark_done(done)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command continues")
