"""The pages of the documentation, README.md among them, and the one way to bring them up to date."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import figures
import printed

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent


def pages() -> Iterator[Path]:
    """Yield every page, README.md first."""
    yield ROOT / "README.md"
    yield from sorted(DOCS.rglob("*.md"))


def current(text: str, slow: bool = False) -> str:
    """Return the text of a page with its figures and the output of its commands as they are now."""
    return printed.rerun(figures.filled(text), slow)


NOTEBOOK = DOCS / "tutorials" / "notebook.md"
_CELL = re.compile(r"^```(python|text)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def notebook(text: str) -> str:
    """Return a page as a Jupyter notebook: Python as cells, each `text` as the output of the one before."""
    cells: list[dict[str, object]] = []
    place = 0
    for found in _CELL.finditer(text):
        _add_words(cells, text[place : found.start()])
        lines = found[2].rstrip("\n").splitlines(keepends=True)
        if found[1] == "python":
            cells.append(
                {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines}
            )
        else:
            cells[-1]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}]
        place = found.end()
    _add_words(cells, text[place:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"


def _add_words(cells: list[dict[str, object]], text: str) -> None:
    if text.strip():
        source = text.strip().splitlines(keepends=True)
        cells.append({"cell_type": "markdown", "metadata": {}, "source": source})
