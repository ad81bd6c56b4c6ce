"""The folder of compiled code: next to the source, in the user's cache, or in a temporary folder.

An installation may be read-only and a home missing; without any place every start compiles everything.
"""

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from numba.core import config as numba_config

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


def prepare_cache(source: Path, user: Path) -> bool:
    """Return whether numba can keep compiled code; point it to a temporary folder where it has no other.

    source : folder of the source. user : numba's folder in the user's cache.
    """
    if config.CACHE_DIR or can_write(source / "__pycache__") or can_write(user):
        return True
    try:
        folder = Path(tempfile.gettempdir()) / f"trainlaw-numba-{os.getuid() if hasattr(os, 'getuid') else 0}"
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        folder = source
    if not (_is_private(folder) and can_write(folder)):
        print("trainlaw: compiled code cannot be kept on disk: every start compiles it", file=sys.stderr)
        return False
    print(f"trainlaw: compiled code is kept in {folder}, as no cache folder is writable", file=sys.stderr)
    config.CACHE_DIR = str(folder)
    return True


def _is_private(folder: Path) -> bool:
    """Return whether only this user can write in a folder, whose files are executed."""
    found = folder.lstat()
    is_ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return stat.S_ISDIR(found.st_mode) and is_ours and not found.st_mode & 0o022


def _user_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"


#: Whether compiled functions are kept; for the `cache` of each.
CACHED = prepare_cache(Path(__file__).parent, _user_folder())
