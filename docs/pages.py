"""The pages of the documentation, README.md among them, and the one way to bring them up to date."""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
# For `tools`, which is not installed; last, since `formulas` and `datasets` are also other projects.
sys.path.append(str(Path(__file__).resolve().parents[1]))

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
