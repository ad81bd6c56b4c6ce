"""Whether compiled code can be kept: next to the source, or in the user's cache, as numba has it.

An installation may be read-only and a home missing; without any place every start compiles everything.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import config as numba_config
from numba.core.event import install_timer

# Its entries are made when numba starts, which no type checker knows.
config: Any = numba_config


def can_write(folder: Path) -> bool:
    """Return whether a file can be written in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except (OSError, ValueError, RuntimeError):
        return False


def can_keep(source: Path, user: Path) -> bool:
    """Return whether numba can keep compiled code; where it cannot, say what to do.

    source : folder of the source. user : numba's folder in the user's cache.
    """
    if config.CACHE_DIR or can_write(source / "__pycache__") or can_write(user):
        return True
    print(
        "trainlaw: compiled code cannot be kept, so every start compiles it: set NUMBA_CACHE_DIR to a folder",
        file=sys.stderr,
    )
    return False


_CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
#: Whether compiled functions are kept; for the `cache` of each.
CACHED = can_keep(Path(__file__).parent, Path(_CACHE) / "numba")


def compiling_seconds(run: Callable[[], object]) -> float:
    """Run what calls compiled functions; return its seconds, or 0 where the disk already had all of them."""
    began, spent = time.monotonic(), list[float]()
    with install_timer("numba:compile", spent.append):
        run()
    return time.monotonic() - began if spent else 0.0
