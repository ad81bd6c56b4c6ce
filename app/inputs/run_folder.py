"""A run folder: plain files that appear together or not at all; and the place of a study while it runs."""

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from trainlaw.formulas import InputError
from trainlaw.formulas.files.text_files import make_durable, read_json

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

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


#: Those that take seconds to make, which an interrupted study does not have.
SLOW_FILES = ("formula.xlsx", "report.html")
#: Folder of the formulas of few constants in a run folder, each named by its number of constants.
FRONT_FOLDER = "front"
# What `trainlaw calibrate` writes beyond these.
_FURTHER_FILES = (FRONT_FOLDER, "page.html", "calibration.csv")
# Several times a run folder with its journal.
_LEAST_BYTES = 64 * 2**20
_LOCKED_BYTE = 2**20


def free_run_folder(parent: Path) -> Path:
    """The first of `trainlaw-run`, `trainlaw-run-2`, ... that does not exist in `parent`."""
    return next(folder for folder in _numbered(parent) if not folder.exists())


def _numbered(parent: Path) -> Iterator[Path]:
    yield parent / DEFAULT_NAME
    for number in count(2):
        yield parent / f"{DEFAULT_NAME}-{number}"


def check_target(target: Path, overwrite: bool) -> None:
    """Refuses a target that would destroy something.

    target : the folder to be written; overwrite : whether an existing run may be replaced.
    Raises InputError where the target exists and may not be replaced, is no run folder, or has no parent.
    """
    if not target.parent.is_dir():
        raise InputError(f"{target.parent}: no such folder; create it, or choose another with --out")
    if not target.exists():
        return
    if not overwrite:
        raise InputError(f"{target} exists; choose another folder with --out, or say --overwrite")
    if not target.is_dir() or (any(target.iterdir()) and not (target / "formula.json").is_file()):
        raise InputError(f"{target} is not a run folder, so it is not overwritten; choose another with --out")
    for path in sorted(target.iterdir()):
        if path.name not in (*RUN_FILES, *_FURTHER_FILES) and not path.match("platforms-*.csv"):
            raise InputError(
                f"{target} also contains {path.name}, which is no file of a run; move it, or choose another "
                "folder with --out"
            )


@contextmanager
def new_run_folder(target: Path, overwrite: bool = False, working: Path | None = None) -> Iterator[Path]:
    """Gives an empty folder to fill; it becomes `target` when the block ends without an error.

    target : final path; overwrite : whether an existing run folder may be replaced. working : the folder's
    name meanwhile, of which the caller knows that no other process has it: what a killed one left there is
    removed. By default a new name.
    Raises InputError as `check_target` does.
    """
    check_target(target, overwrite)
    # Same parent, so that the final move is a rename within one file system.
    if working is None:
        working = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    else:
        shutil.rmtree(working, ignore_errors=True)
        working.mkdir()
    try:
        yield working
        working.chmod(0o755)
        # Only what is durable may replace a journal.
        for path in working.rglob("*"):
            make_durable(path)
        check_target(target, overwrite)
        if target.exists():
            _swap(working, target)
        else:
            working.rename(target)
        make_durable(target.parent)
    finally:
        # After a swap this is what was replaced.
        shutil.rmtree(working, ignore_errors=True)


_CURRENT_FOLDER, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def _swap(new: Path, old: Path) -> None:
    """Exchange two folders, in one step where the system can; there is no moment without either."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    names = (_CURRENT_FOLDER, os.fsencode(new), _CURRENT_FOLDER, os.fsencode(old), _EXCHANGE)
    if rename is None or rename(*names) != 0:
        aside = new.with_name(f"{new.name}-old")
        old.rename(aside)
        new.rename(old)
        aside.rename(new)


@dataclass(frozen=True)
class StudyPlace:
    """Where a study writes.

    target : its run folder. journal : the file of its finished results, next to the folder; present where the
    study continues. working : the folder while its files are written. may_replace : whether a run folder
    that exists may be replaced.
    """

    target: Path
    journal: Path
    working: Path
    may_replace: bool


@contextmanager
def study_place(
    into: Path | None, study: str, *, overwrite: bool = False, resume: bool = False
) -> Iterator[StudyPlace]:
    """Give the place of a study, which no other study can have until the block ends.

    into : the folder to write; by default that of an unfinished run of this study in the current folder, or
    the next free one. study : its identity, text of hexadecimal digits. resume : only an unfinished one.
    Raises InputError as `check_target`, where another study has the folder, where it cannot be written or the
    disk is full, and where nothing is to be resumed.
    """
    for target in _candidates(into, study, resume):
        journal = _journal_of(target, study)
        goes_on = journal.is_file()
        replaces_part = goes_on and is_interrupted(target)
        if into is None and target.exists() and not replaces_part:
            continue
        may_replace = overwrite or replaces_part
        check_target(target, may_replace)
        _check_room(target.parent)
        with _locked(target) as owner:
            if owner is None:
                yield StudyPlace(target, journal, journal.with_suffix(".part"), may_replace)
                return
        if into is not None:
            raise InputError(f"{target}: another study writes it ({owner}); choose another with --out")
    raise InputError("expected an unfinished run of this study to resume, got none; run it without --resume")


def _candidates(into: Path | None, study: str, resume: bool) -> Iterable[Path]:
    if into is not None:
        return [into] if not resume or _journal_of(into, study).is_file() else []
    here = Path.cwd()
    unfinished = sorted(here.glob(f".*{_ending(study)}"))
    begun = [here / path.name.removeprefix(".").removesuffix(_ending(study)) for path in unfinished]
    return begun if resume else chain(begun, _numbered(here))


def _ending(study: str) -> str:
    return f".{study[:12]}.journal"


def _journal_of(target: Path, study: str) -> Path:
    return target.with_name(f".{target.name}{_ending(study)}")


def other_journals(place: StudyPlace) -> list[Path]:
    """Return the journals of other studies of the same folder, which are left alone."""
    found = place.target.parent.glob(f".{place.target.name}.*.journal")
    return sorted(path for path in found if path != place.journal)


def is_interrupted(target: Path) -> bool:
    """Return whether this is the run folder of a study that lacks something."""
    try:
        facts = read_json(target / "provenance.json")
    except InputError:
        return False
    return isinstance(facts, dict) and bool(facts.get("missing"))


def _check_room(parent: Path) -> None:
    free = shutil.disk_usage(parent).free
    if free < _LEAST_BYTES:
        raise InputError(
            f"{parent}: expected {_LEAST_BYTES / 1e6:.0f} MB of free space for a run folder, got "
            f"{free / 1e6:.1f} MB; make room, or choose another folder with --out"
        )


@contextmanager
def _locked(target: Path) -> Iterator[str | None]:
    """Hold the lock file next to `target`: None, or who holds it.

    The system frees the lock of a process however it ends, so the file of a dead one is no hindrance.
    """
    path = target.with_name(f".{target.name}.lock")
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write in {path.parent}: {error.strerror}; choose another folder with --out"
        ) from None
    with file:
        if not _is_ours(file.fileno(), path):
            file.seek(0)
            yield file.read(200).strip() or "it has just begun"
            return
        file.truncate(0)
        file.write(f"process {os.getpid()}, since {datetime.now(UTC).isoformat(timespec='seconds')}\n")
        file.flush()
        try:
            yield None
        finally:
            # Windows keeps a file that is open; an unlocked one is no hindrance.
            with suppress(PermissionError):
                path.unlink(missing_ok=True)


def _is_ours(file: int, path: Path) -> bool:
    """Lock an open file; False where another process has it, or has just removed it."""
    try:
        if sys.platform == "win32":
            # Windows locks bytes, for readers too: one beyond the text, which others read.
            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False
