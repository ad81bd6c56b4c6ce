"""A read-only installation with a home that cannot be written: compiled code is not kept."""

from pathlib import Path

from trainlaw.evolve.machine import compiler_cache
from trainlaw.evolve.machine.compiler_cache import can_keep


def test_without_a_place_the_message_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(compiler_cache, "can_write", lambda folder: False)
    monkeypatch.setattr(compiler_cache.config, "CACHE_DIR", "")
    assert not can_keep(Path("/nowhere"), Path("/nobody"))
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "set NUMBA_CACHE_DIR to a folder" in error
    monkeypatch.setattr(compiler_cache.config, "CACHE_DIR", "/somewhere")
    assert can_keep(Path("/nowhere"), Path("/nobody"))


def test_a_writable_place_of_numba_stays(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(compiler_cache.config, "CACHE_DIR", "")
    assert can_keep(tmp_path, tmp_path / "user")
    assert not compiler_cache.config.CACHE_DIR and capsys.readouterr().err == ""
