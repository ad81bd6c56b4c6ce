"""Runs the linter, the type checker and the docstring checker as the ordinary test command."""

import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FACES = (
    "trainlaw",
    "trainlaw.formulas",
    "trainlaw.datasets",
    "trainlaw.evolve",
    "trainlaw.validate",
)
# Errors that are left per folder; a folder that is not listed has none. The numbers may only fall.
RATCHET = Path(__file__).with_name("mypy_errors.json")


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_linter_finds_nothing():
    done = run("ruff", "check", "--no-cache", ".", cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_formatter_changes_nothing():
    done = run("ruff", "format", "--no-cache", "--check", ".", cwd=ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_types_are_strict(installed_tree):
    done = run("mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p", "trainlaw", cwd=installed_tree)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    found = Counter(re.split(r"[/\\:]", line)[1] for line in lines)
    allowed = json.loads(RATCHET.read_text(encoding="utf-8"))
    worse = [line for line in lines if found[(name := re.split(r"[/\\:]", line)[1])] > allowed.get(name, 0)]
    assert worse == []
    assert {name: found[name] for name in allowed} == allowed, (
        "fewer errors: lower the numbers of mypy_errors.json"
    )


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


@pytest.mark.parametrize("name", public_objects())
def test_public_docstrings_have_numpydoc_sections(name):
    from numpydoc.validate import validate

    checked = set(settings()["numpydoc_validation"]["checks"])
    if "Attributes\n    ----------" in (public_objects()[name].__doc__ or ""):
        checked.discard("PR01")  # the fields of a dataclass are described once, as its attributes
    assert [f"{code}: {text}" for code, text in validate(name)["errors"] if code in checked] == []
