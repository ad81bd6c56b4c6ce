"""The pages of the documentation, README.md among them, and the one way to bring them up to date."""

import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))
sys.path.append(str(ROOT))  # for `tools`; last, since `formulas` is also another project

import figures
import printed


def pages() -> Iterator[Path]:
    """Yield every page, README.md first."""
    yield ROOT / "README.md"
    yield from sorted(DOCS.rglob("*.md"))


def current(text: str, slow: bool = False) -> str:
    """Return the text of a page with its figures and the output of its commands as they are now."""
    return printed.rerun(figures.filled(text), slow)
