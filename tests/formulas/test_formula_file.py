from dataclasses import replace

import pytest
from trainlaw.formulas import InputError, load_formula, save_formula


def test_saves_and_loads_the_same_bytes(law, tmp_path):
    save_formula(law, tmp_path / "a.json")
    save_formula(load_formula(tmp_path / "a.json"), tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert load_formula(tmp_path / "a.json") == law


def test_a_file_is_indented_by_one_space_and_ends_with_a_line(law, tmp_path):
    place = tmp_path / "formula.json"
    save_formula(law, place)
    lines = place.read_text().split("\n")
    assert lines[0] == "{"
    assert lines[1].startswith(' "format": ')
    assert lines[-2:] == ["}", ""]


def test_letters_of_any_alphabet_are_stored_as_they_are(law, tmp_path):
    save_formula(replace(law, provenance={"table": "Läufe für Größen"}), tmp_path / "law.json")
    assert "Läufe für Größen" in (tmp_path / "law.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}])
def test_what_is_not_plain_json_is_refused_and_nothing_written(value, law, tmp_path):
    with pytest.raises(InputError, match="expected plain, finite JSON"):
        save_formula(replace(law, provenance={"value": value}), tmp_path / "law.json")
    assert not list(tmp_path.iterdir())
