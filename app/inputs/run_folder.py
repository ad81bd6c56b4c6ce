"""A run folder: plain files that appear together or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainlaw.formulas import InputError

DEFAULT_NAME = "trainlaw-run"
RUN_FILES = (
    "formula.json",
    "front.csv",
    "errors.csv",
    "predictions.csv",
    "study.toml",
    "formula.xlsx",
    "report.html",
    "provenance.json",
)


def free_run_folder(parent: Path) -> Path:
    """The first of `trainlaw-run`, `trainlaw-run-2`, ... that does not exist in `parent`."""
    candidate, number = parent / DEFAULT_NAME, 1
    while candidate.exists():
        number += 1
        candidate = parent / f"{DEFAULT_NAME}-{number}"
    return candidate


def check_target(target: Path, overwrite: bool) -> None:
    """Refuses a target that would destroy something.

    target : the folder to be written; overwrite : whether an existing run may be replaced.
    Raises InputError where the target exists and may not be replaced, is no run folder, or has no parent.
    """
    if not target.parent.is_dir():
        raise InputError(f"{target.parent}: no such folder; create it, or choose another with --into")
    if not target.exists():
        return
    if not overwrite:
        raise InputError(f"{target} exists; choose another folder with --into, or say --overwrite")
    if not target.is_dir() or (any(target.iterdir()) and not (target / "formula.json").is_file()):
        raise InputError(
            f"{target} is not a run folder, so it is not overwritten; choose another with --into"
        )


@contextmanager
def new_run_folder(target: Path, overwrite: bool = False) -> Iterator[Path]:
    """Gives an empty folder to fill; it becomes `target` when the block ends without an error.

    target : final path; overwrite : whether an existing run folder may be replaced.
    Raises InputError as `check_target` does.
    """
    check_target(target, overwrite)
    # Same parent, so that the final move is a rename within one file system.
    working = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield working
        working.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        working.rename(target)
    finally:
        shutil.rmtree(working, ignore_errors=True)
