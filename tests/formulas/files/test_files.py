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


def test_missing_folder_and_file(tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        write_text_atomically(tmp_path / "none" / "a.txt", "x")
    with pytest.raises(InputError, match="cannot read"):
        read_text(tmp_path / "none.txt", 10)


def test_too_large_or_not_utf8(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_text(path, 10)
    with pytest.raises(InputError, match="at most 1 bytes"):
        read_text(path, 1)


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


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_json, "[", "JSON in .* line 1, column 2"),
        (read_json, "[" * 15_000, "nested too deeply"),
        (read_json, "[" * 100_000, "100000 lists and objects"),
        (read_json, '{"a": 1, "a": 2}', "each field once"),
        (read_json, r'["\ud800"]', "surrogate"),
        (read_json, "[1e999]", "finite"),
        (read_json, "1" * 41, "40 digits"),
        (read_text, "\x1b[2J", "got '.x1b' at character 1"),
        (read_toml, "a." * 30 + "a = 1", "20 nested levels"),
        (read_csv, "a,a\n1,2\n", "'a' more than once"),
        (read_csv, "a,,b\n1,2,3\n", "a name for each column"),
        (read_csv, "a,b\n1,2,3\n", "line 2: expected 2 cells, got 3"),
        (read_csv, 'a,b\n"1,2\n3,4\n', "expected a CSV table in"),
        (read_json, "9" * 5000, "expected JSON in"),
        (read_toml, "a = ", "expected TOML in"),
        (read_csv, '"' + "x" * 200_000 + '"\n', "expected a CSV table in"),
    ],
)
def test_text_in_another_format_is_refused(tmp_path, read, text, message):
    path = tmp_path / "a"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read(path)
