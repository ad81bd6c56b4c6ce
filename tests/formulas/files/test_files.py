import os

import pytest
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files.text_files import (
    read_csv,
    read_json,
    read_text,
    read_toml,
    write_bytes_atomically,
    write_text_atomically,
)


def test_writes_and_reads(tmp_path):
    path = tmp_path / "a.txt"
    write_text_atomically(path, "tä\n")
    assert read_text(path, 100) == "tä\n"
    write_bytes_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"]


def test_failed_write_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match=r"cannot write .*: No space left"):
        write_text_atomically(path, "new")
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_json_toml_and_csv(tmp_path):
    path = tmp_path / "a"
    path.write_text('\ufeff{"a": [1]}', encoding="utf-8")
    assert read_json(path) == {"a": [1]}
    path.write_text("a = 1", encoding="utf-8")
    assert read_toml(path) == {"a": 1}
    path.write_text("\ufeffa,b\n1,\n2\n", encoding="utf-8")
    assert read_csv(path) == (("a", "b"), [{"a": "1", "b": ""}, {"a": "2", "b": ""}])
    path.write_text("a;b\r1;\r2\r", encoding="utf-16")
    assert read_csv(path) == (("a", "b"), [{"a": "1", "b": ""}, {"a": "2", "b": ""}])
    path.write_text("a\n" + 12 * ("x" * 100_000 + "\n"))
    assert len(read_csv(path)[1]) == 12


@pytest.mark.parametrize("key", [".".join("a" * 20_000), '"a" . ' * 30 + "b", f"table.{'x.' * 40}y"])
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(tmp_path, monkeypatch, key):
    monkeypatch.setattr("tomllib.loads", lambda text: pytest.fail("parsed"))
    for text in (f"{key} = 1", f"[{key}]", f"x = {{ {key} = 1 }}"):
        (tmp_path / "a.toml").write_text(text)
        with pytest.raises(InputError, match="at most 20 nested levels"):
            read_toml(tmp_path / "a.toml")


def test_numbers_and_sentences_are_no_long_keys(tmp_path):
    (tmp_path / "a.toml").write_text(f"x = [{'1.5, ' * 50}]\ny = '{'One. Two. ' * 9}'\n")
    assert len(read_toml(tmp_path / "a.toml")["x"]) == 50
