import json
from dataclasses import replace

import pytest
from trainlaw.formulas import InputError, TrainlawError, load_formula, save_formula
from trainlaw.formulas.files.text_files import MAX_TEXT_BYTES


def test_saves_and_loads_the_same_bytes(law, tmp_path):
    save_formula(law, tmp_path / "a.json")
    save_formula(load_formula(tmp_path / "a.json"), tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert load_formula(tmp_path / "a.json") == law


def deep(law):
    return json.dumps(law.to_json()).replace(
        '"format"', '"deep": ' + "[" * 10_000 + "]" * 10_000 + ', "format"'
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text, law: "", "JSON"),
        (lambda text, law: "{", "JSON"),
        (lambda text, law: "[1]", "JSON object"),
        (lambda text, law: text.replace("0.001", "NaN"), "finite"),
        (lambda text, law: text.replace("0.001", "1e999"), "finite"),
        (lambda text, law: text.replace('"add"', '"adddd"'), "did you mean 'add'"),
        (lambda text, law: deep(law), "nested"),
        (lambda text, law: text.replace('"format"', '"format": "x", "format"', 1), "twice"),
        (lambda text, law: text.replace("0.001", "9" * 5000), "JSON"),
        (lambda text, law: "x" * (MAX_TEXT_BYTES + 1), f"{MAX_TEXT_BYTES} bytes"),
        (lambda text, law: text.replace('"expression"', '"expresion"'), "expression"),
        (lambda text, law: text.replace("trainlaw formula", "pickle"), "format"),
        (lambda text, law: text.replace('"format"', '"run": "rm -rf", "format"'), "run"),
        (lambda text, law: "{}" * 3, "JSON"),
        (lambda text, law: text.replace("FLOP/s", "furlong"), "unit"),
    ],
)
def test_bad_files_give_one_line_that_names_the_file(law, tmp_path, change, message):
    path = tmp_path / "a.json"
    save_formula(law, path)
    path.write_text(change(path.read_text(), law))
    with pytest.raises(TrainlawError, match=message) as caught:
        load_formula(path)
    assert "a.json" in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 400


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
