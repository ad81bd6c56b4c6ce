"""The product's code as syntax trees, each file parsed once for all tests that look at it."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def parsed(path: Path) -> ast.Module:
    # The collector would look at half a million new nodes again and again.
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(parsed(path)))


def code_in(*folders: str) -> list[Path]:
    """Return the paths of all files of code in folders of the checkout."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
