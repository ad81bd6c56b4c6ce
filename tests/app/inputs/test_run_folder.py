import os

import pytest
from trainlaw.app.inputs.run_folder import check_target, free_run_folder, new_run_folder
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
