"""Each stored formula is what its recipe finds: the quick searches always, all others with `-m builtin`."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from trainlaw.app.models.builtin import BUILT_IN, BUILT_IN_FORMULAS
from trainlaw.formulas import load_formula, parse_text

from tools.builtin import __main__ as command
from tools.builtin import kinds, work
from tools.builtin.__main__ import comparison_lines, main
from tools.builtin.formula_files import FOLDER, compact_text, differences, short_description, write_formula
from tools.builtin.kinds import KINDS
from tools.builtin.recipes import RECIPES

from ..rows import each_row

STUDIES = [recipe for recipe in RECIPES if recipe.kind == "study"]


def searches():
    """The recipes; a search must differ where its recipe says so, and runs only when asked for if long."""
    return [
        pytest.param(
            recipe,
            id=recipe.name,
            marks=[pytest.mark.xfail(strict=True, reason=recipe.differs)] * bool(recipe.differs)
            + [pytest.mark.builtin] * (not recipe.is_quick),
        )
        for recipe in RECIPES
    ]


def member_files(recipe):
    return [f"{size}.json" for size in recipe.members]


@pytest.mark.parametrize("recipe", searches())
def test_a_search_finds_the_stored_formula(recipe):
    for name, found in KINDS[recipe.kind].search(recipe).items():
        stored = load_formula(FOLDER / name)
        assert found.text() == stored.text(), name
        assert found.ranges.keys() == stored.ranges.keys(), name
        for feature, ends in found.ranges.items():
            assert ends == pytest.approx(stored.ranges[feature]), (name, feature)


@pytest.mark.builtin
@pytest.mark.xfail(any(recipe.differs for recipe in RECIPES), reason="formulas of an earlier search")
def test_the_stored_errors_are_measured_again():
    assert main(["--check"]) == 0


def test_every_built_in_formula_has_a_recipe():
    files = {name for recipe in RECIPES for name in (recipe.file, *member_files(recipe))}
    assert {path.name for path in FOLDER.iterdir()} == files
    assert len(list((FOLDER / "pairs").iterdir())) == 24
    assert {recipe.kind for recipe in RECIPES} == set(KINDS)


@each_row("recipe", STUDIES)
def test_a_stored_formula_says_which_study_it_is_of(recipe):
    definition = recipe.definition
    for name in (recipe.file, *member_files(recipe)):
        facts = load_formula(FOLDER / name).provenance
        said = (facts["table"], facts["seed"], facts["split"], facts["evaluations_per_search"])
        assert said == (definition.table, definition.seed, definition.split, definition.evaluations), name


@each_row("path", sorted(FOLDER.rglob("*.json")))
def test_a_stored_formula_has_a_line_per_entry(path):
    text = path.read_text(encoding="utf-8")
    assert text == compact_text(load_formula(path))
    assert len(text.splitlines()) == 2 + len(json.loads(text))


def test_what_changed_is_said(tmp_path):
    old = BUILT_IN_FORMULAS["6"]()
    write_formula(old, tmp_path / "6.json")
    assert load_formula(tmp_path / "6.json") == old
    assert list(comparison_lines("6.json", old, old)) == [f"6.json: as stored, {short_description(old)}"]
    other = load_formula(BUILT_IN)
    first, stored, found, entries = comparison_lines("6.json", old, other)
    assert first.startswith(f"6.json: ANOTHER TEXT, {short_description(old)} -> ")
    assert stored == f"  stored: {old.text()}" and found == f"  found:  {other.text()}"
    assert "/errors/" in entries


def test_rounding_errors_are_no_difference():
    law = BUILT_IN_FORMULAS["multi"]()
    whitening = law.errors["joint_range"]["whitening"]
    noise = [[number + 1e-15 for number in line] for line in whitening]
    errors = {**law.errors, "joint_range": {**law.errors["joint_range"], "whitening": noise}}
    assert differences(law, replace(law, errors=errors)) == []
    assert differences(law, replace(law, expression=parse_text("2 * single_gpu_time_s"))) != []


def test_the_recipes_are_listed(capsys):
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(RECIPES)
    assert "trainlaw study --of runs --seeds 3" in "\n".join(listed)
    with pytest.raises(SystemExit):
        main(["unknown"])


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """The steps that are run after the formulas; one whose name is in `failing` fails."""
    run, failing = [], set()

    def pretend(words, **options):
        step = "transcripts" if "pytest" in words else words[2].removeprefix("--")
        run.append(step)
        return SimpleNamespace(returncode=int(step in failing))

    monkeypatch.setattr(command.subprocess, "run", pretend)
    monkeypatch.setattr(work, "WORK", tmp_path)
    return run, failing


def test_what_follows_from_the_formulas_is_written_once(steps, capsys):
    run, failing = steps
    failing.add("rewrite")
    assert main(["xeon-phi-a"]) == 1
    assert run == ["transcripts", "rewrite", "pictures"]
    assert "pages: FAILED" in capsys.readouterr().out
    run.clear(), failing.clear()
    assert main(["xeon-phi-a"]) == 0
    assert run == ["rewrite"]
    printed = capsys.readouterr().out
    assert "transcripts: up to date" in printed and printed.endswith("no file changed\n")
    assert main(["xeon-phi-b", "--only-formulas"]) == 0 and main(["xeon-phi-b", "--check"]) == 0
    assert run == ["rewrite"]


def test_a_study_that_was_interrupted_is_continued(monkeypatch, tmp_path):
    recipe = next(recipe for recipe in STUDIES if recipe.name == "multi")
    law, run = BUILT_IN_FORMULAS["multi"](), []

    def study(words, **options):
        run.append(words)
        write_formula(law, tmp_path / "run" / "formula.json")
        write_formula(law, tmp_path / "run" / "front" / "law.json")
        journal = tmp_path / ".run.abc.journal"
        journal.unlink() if journal.is_file() else journal.touch()
        return SimpleNamespace(returncode=130 if journal.is_file() else 0)

    monkeypatch.setattr(kinds.subprocess, "run", study)
    with pytest.raises(SystemExit):
        KINDS["study"].make(recipe, tmp_path, 1)
    # The folder of an interrupted study has a formula, too.
    assert KINDS["study"].make(recipe, tmp_path, 1) == {"multi.json": law}
    assert KINDS["study"].make(recipe, tmp_path, 1) == {"multi.json": law}
    assert len(run) == 2 and run[0][3:] == ["trainlaw", "study", "--of", "multi", *run[0][7:]]
