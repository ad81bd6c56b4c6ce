"""Runs the linter, the type checker and the docstring checker as the ordinary test command."""

import importlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

from .rows import each_row

ROOT = Path(__file__).resolve().parents[1]
# Not the whole checkout: an installation leaves a copy in build/, where imports sort otherwise.
CODE = ("formulas", "datasets", "evolve", "validate", "app", "tests", "benchmarks", "tools", "docs")
FACES = ("trainlaw", "trainlaw.formulas", "trainlaw.datasets", "trainlaw.evolve", "trainlaw.validate")


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, check=False
    )


@each_row("command", [("check",), ("format", "--check")])
def test_linter_and_formatter_find_nothing(command):
    done = run("ruff", *command, "--no-cache", *CODE, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_types_are_strict(installed_tree):
    # The tree is new in every run, so a cache would only be written.
    options = ("--no-incremental", "--config-file", str(ROOT / "pyproject.toml"))
    done = run("mypy", *options, "-p", "trainlaw", cwd=installed_tree)
    assert done.returncode == 0, done.stdout + done.stderr


def public_objects() -> dict[str, object]:
    """Return the classes and functions of the packages' faces, by the name under which they are defined."""
    found = {}
    for face in FACES:
        module = importlib.import_module(face)
        for name in getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]:
            item = getattr(module, name)
            if (inspect.isclass(item) or inspect.isfunction(item)) and item.__module__.startswith(
                "trainlaw."
            ):
                found[f"{item.__module__}.{item.__qualname__}"] = item
    return found


@each_row("name", public_objects())
def test_public_docstrings_have_numpydoc_sections(name):
    from numpydoc.validate import validate

    checked = set(settings()["numpydoc_validation"]["checks"])
    if "Attributes\n----------" in (inspect.getdoc(public_objects()[name]) or ""):
        checked.discard("PR01")  # the fields of a dataclass are described once, as its attributes
    assert [f"{code}: {text}" for code, text in validate(name)["errors"] if code in checked] == []
