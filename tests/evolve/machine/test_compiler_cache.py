"""A read-only installation with a home that cannot be written: compiled code goes elsewhere, or nowhere."""

from pathlib import Path

import pytest
from trainlaw.evolve.machine import compiler_cache
from trainlaw.evolve.machine.compiler_cache import prepare_cache


@pytest.fixture
def read_only(monkeypatch, tmp_path):
    """Nothing can be written but `tmp_path/temporary`."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(compiler_cache, "can_write", lambda folder: temporary in Path(folder).parents)
    monkeypatch.setattr(compiler_cache.tempfile, "gettempdir", lambda: str(temporary))
    monkeypatch.setattr(compiler_cache.config, "CACHE_DIR", "")
    return temporary


def test_a_private_temporary_folder_is_used_and_named_in_one_line(read_only, capsys):
    assert prepare_cache(Path("/nowhere"), Path("/nobody"))
    (folder,) = read_only.iterdir()
    assert compiler_cache.config.CACHE_DIR == str(folder) and folder.stat().st_mode & 0o777 == 0o700
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_that_others_can_write_in_is_not_used(read_only, capsys, tmp_path):
    prepare_cache(tmp_path, Path("/nobody"))
    (folder,) = read_only.iterdir()
    folder.chmod(0o777)
    compiler_cache.config.CACHE_DIR = ""
    assert not prepare_cache(tmp_path, Path("/nobody"))
    assert "every start compiles it" in capsys.readouterr().err and not compiler_cache.config.CACHE_DIR


def test_a_writable_place_of_numba_stays(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(compiler_cache.config, "CACHE_DIR", "")
    assert prepare_cache(tmp_path, tmp_path / "user")
    assert not compiler_cache.config.CACHE_DIR and capsys.readouterr().err == ""
