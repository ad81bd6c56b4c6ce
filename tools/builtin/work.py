"""Finished parts by the sha256 of their inputs, from which an interrupted run continues."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from trainlaw.app.studies.definition import LIBRARIES

from tools.builtin.formula_files import FOLDER
from tools.builtin.recipes import Recipe

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "builtin"
# What decides a formula and its errors; commands, pages and other outputs do not.
_DECIDING = ("formulas", "datasets", "evolve", "validate", "app/studies", "app/models", "tools/builtin")
# Files that print what the formulas decide.
_PRINTING = ("README.md", "docs", "tests")
_ENDINGS = (".py", ".toml", ".csv", ".json", ".jinja", ".js", ".md", ".svg", ".txt", ".xz", ".gz", ".png")
_MADE = ("__pycache__", "api")  # folders of compiled code and of generated pages


def work_folder(recipe: Recipe) -> Path:
    """Return the folder of a recipe's finished parts, another one after any change of what decides them."""
    parts = [repr(recipe), *(f"{name} {version(name)}" for name in LIBRARIES), _digest(_DECIDING)]
    return WORK / hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16] / recipe.name


def printed_files() -> Mapping[str, str]:
    """Return the sha256 of each formula file and of each file that prints what follows, by path."""
    return dict(_digests((str(FOLDER), *_PRINTING)))


def is_done(step: str) -> bool:
    """Return whether a step was finished, and nothing that it depends on or writes has changed since."""
    stamp = WORK / f"{step}.sha256"
    return stamp.is_file() and stamp.read_text() == _digest(("app", *_DECIDING, *_PRINTING))


def mark_done(steps: Iterable[str]) -> None:
    """Keep that steps were finished with the files as they are now."""
    WORK.mkdir(parents=True, exist_ok=True)
    now = _digest(("app", *_DECIDING, *_PRINTING))
    for step in steps:
        (WORK / f"{step}.sha256").write_text(now)


def _digest(places: Iterable[str]) -> str:
    return hashlib.sha256(repr(list(_digests(places))).encode()).hexdigest()


def _digests(places: Iterable[str]) -> Iterator[tuple[str, str]]:
    paths = [path for place in places for path in (ROOT / place, *sorted((ROOT / place).rglob("*")))]
    for path in paths:
        if path.is_file() and path.name.endswith(_ENDINGS) and not set(_MADE) & set(path.parts):
            yield str(path.relative_to(ROOT)), hashlib.sha256(path.read_bytes()).hexdigest()
