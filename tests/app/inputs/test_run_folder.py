import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from trainlaw.app.inputs import run_folder
from trainlaw.app.inputs.run_folder import (
    check_target,
    free_run_folder,
    new_run_folder,
    other_journals,
    study_place,
)
from trainlaw.formulas import InputError


def make_run(folder, moment):
    folder.mkdir()
    for name in ("formula.json", "provenance.json"):
        (folder / name).write_text("{}")
        os.utime(folder / name, (moment, moment))


def test_folder_appears_whole(tmp_path):
    target = tmp_path / "run"
    with new_run_folder(target) as folder:
        (folder / "formula.json").write_text("{}")
        assert not target.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (target / "formula.json").read_text() == "{}"


def test_nothing_is_left_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), new_run_folder(tmp_path / "run") as folder:
        (folder / "formula.json").write_text("{}")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_an_existing_run_is_kept_unless_told(tmp_path):
    make_run(tmp_path / "run", 1)
    with pytest.raises(InputError, match="--overwrite"), new_run_folder(tmp_path / "run"):
        pass
    assert (tmp_path / "run" / "formula.json").exists()
    with new_run_folder(tmp_path / "run", overwrite=True) as folder:
        (folder / "new").write_text("")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["new"]


def test_what_is_no_run_is_never_overwritten(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear").write_text("")
    (tmp_path / "file").write_text("")
    for name in ("letters", "file"):
        with pytest.raises(InputError, match="not a run folder"):
            check_target(tmp_path / name, overwrite=True)
    with pytest.raises(InputError, match="no such folder"):
        check_target(tmp_path / "nowhere" / "run", overwrite=False)


def test_free_names_are_numbered(tmp_path):
    assert free_run_folder(tmp_path).name == "trainlaw-run"
    (tmp_path / "trainlaw-run").mkdir()
    (tmp_path / "trainlaw-run-2").mkdir()
    assert free_run_folder(tmp_path).name == "trainlaw-run-3"


def unfinished(folder, name, study="a" * 64):
    """Leave what a killed study leaves; return its journal."""
    path = folder / f".{name}.{study[:12]}.journal"
    path.write_text("")
    return path


def interrupted(folder):
    make_run(folder, 1)
    (folder / "provenance.json").write_text('{"missing": ["1 of 3 folds are missing"]}')


def place_of(*arguments, **settings):
    with study_place(*arguments, **settings) as place:
        return place


def test_a_replaced_run_is_there_at_every_moment(tmp_path, monkeypatch):
    make_run(tmp_path / "run", 1)
    with new_run_folder(tmp_path / "run", overwrite=True) as folder:
        (folder / "formula.json").write_text("new")
        assert (tmp_path / "run" / "formula.json").read_text() == "{}"
    assert (tmp_path / "run" / "formula.json").read_text() == "new"
    # Where the system cannot swap folders in one step.
    monkeypatch.setattr(run_folder, "_EXCHANGE", -1)
    with new_run_folder(tmp_path / "run", overwrite=True) as folder:
        (folder / "formula.json").write_text("newer")
    assert (tmp_path / "run" / "formula.json").read_text() == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_file_of_another_origin_is_never_removed(tmp_path):
    make_run(tmp_path / "run", 1)
    (tmp_path / "run" / "notes.txt").write_text("dear")
    with pytest.raises(InputError, match=r"notes\.txt.*move it"):
        check_target(tmp_path / "run", overwrite=True)
    (tmp_path / "late").mkdir()
    with pytest.raises(InputError, match="exists"), new_run_folder(tmp_path / "new"):
        (tmp_path / "late").rename(tmp_path / "new")
    assert (tmp_path / "run" / "notes.txt").exists() and (tmp_path / "new").is_dir()


def test_a_second_study_of_a_folder_is_refused_or_takes_another_name(in_empty_folder):
    with study_place(in_empty_folder / "run", "a" * 64) as place:
        with pytest.raises(InputError, match=rf"another study.*process {os.getpid()}, since"):
            place_of(in_empty_folder / "run", "b" * 64)
        assert place.journal.name == ".run.aaaaaaaaaaaa.journal"
    with study_place(None, "a" * 64) as first:
        assert [first.target.name, place_of(None, "a" * 64).target.name] == ["trainlaw-run", "trainlaw-run-2"]
    assert list(in_empty_folder.iterdir()) == []


def test_the_lock_of_a_dead_process_is_no_hindrance(in_empty_folder):
    (in_empty_folder / ".run.lock").write_text("process 1, since 2020-01-01T00:00:00+00:00\n")
    assert place_of(in_empty_folder / "run", "a" * 64).target.name == "run"


def test_windows_locks_a_byte_of_the_file(in_empty_folder, monkeypatch):
    held = set()

    def locking(file, mode, length):
        byte = (os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR))
        if byte in held:
            raise OSError("another process has it")
        held.add(byte)

    monkeypatch.setattr(run_folder, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking), raising=False)
    monkeypatch.setattr(run_folder, "sys", SimpleNamespace(platform="win32"))
    with study_place(in_empty_folder / "run", "a" * 64):
        with pytest.raises(InputError, match=rf"another study.*process {os.getpid()}, since"):
            place_of(in_empty_folder / "run", "b" * 64)
    assert held


def test_what_a_killed_study_left_half_written_is_replaced(in_empty_folder):
    with study_place(in_empty_folder / "run", "a" * 64) as place:
        place.working.mkdir()
        (place.working / "old.csv").write_text("half")
        with new_run_folder(place.target, place.may_replace, place.working) as folder:
            (folder / "formula.json").write_text("{}")
    assert [path.name for path in in_empty_folder.rglob("*")] == ["run", "formula.json"]


def test_the_same_study_goes_on_and_another_begins_anew(in_empty_folder):
    unfinished(in_empty_folder, "trainlaw-run-7")
    assert place_of(None, "a" * 64).target.name == "trainlaw-run-7"
    assert place_of(None, "a" * 64, resume=True).journal.is_file()
    place = place_of(None, "b" * 64)
    assert place.target.name == "trainlaw-run" and not place.journal.is_file()
    assert [path.name for path in other_journals(place_of(in_empty_folder / "trainlaw-run-7", "b" * 64))] == [
        ".trainlaw-run-7.aaaaaaaaaaaa.journal"
    ]
    for into in (None, in_empty_folder / "trainlaw-run"):
        with pytest.raises(InputError, match="got none"):
            place_of(into, "b" * 64, resume=True)


def test_only_an_interrupted_folder_of_the_same_study_is_replaced_unasked(in_empty_folder):
    target = in_empty_folder / "run"
    interrupted(target)
    with pytest.raises(InputError, match="--overwrite"):
        place_of(target, "a" * 64)
    unfinished(in_empty_folder, "run")
    assert place_of(target, "a" * 64).may_replace
    (target / "provenance.json").write_text('{"missing": []}')
    with pytest.raises(InputError, match="--overwrite"):
        place_of(target, "a" * 64)


def test_a_full_disk_or_a_folder_without_rights_is_found_before_the_searches(in_empty_folder, monkeypatch):
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"cannot write in .*Permission denied; choose another"):
        place_of(in_empty_folder / "run", "a" * 64)
    monkeypatch.setattr(run_folder.shutil, "disk_usage", lambda path: SimpleNamespace(free=10**6))
    with pytest.raises(InputError, match=r"expected 67 MB of free space .* got 1\.0 MB"):
        place_of(in_empty_folder / "run", "a" * 64)


def refuse(*arguments, **settings):
    raise PermissionError(13, "Permission denied")
