"""Links the folders of the checkout as they are installed, for tools that cannot follow an editable install.

Run `python -m tools.link_tree` once per checkout. Editors, mypy, pyright and import-linter then find the
names `trainlaw.*` below `build/links`; the links lead to the checkout, so edits show at once.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("formulas", "datasets", "evolve", "validate", "app")


def link_tree(root: Path) -> None:
    """Make the package `trainlaw` below `root`: a link per file of the facade and per folder."""
    package = root / "trainlaw"
    package.mkdir(parents=True, exist_ok=True)
    facade = [path for path in (ROOT / "app" / "facade").iterdir() if path.is_file()]
    for target in [*facade, *(ROOT / folder for folder in FOLDERS)]:
        link = package / target.name
        if not link.is_symlink():
            link.symlink_to(target)


if __name__ == "__main__":
    link_tree(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "links")
