"""The default formula is the built-in one until `trainlaw use` says otherwise, and every output names it."""

from dataclasses import replace
from pathlib import Path

import pytest
from trainlaw.app.cli import app
from trainlaw.app.inputs.used_formula import USE_FILE
from trainlaw.formulas import save_formula
from typer.testing import CliRunner

PREDICT = ("predict", "--cnn", "resnet50", "--gpu", "T4", "--batch", "32")
COMMANDS = {
    "predict": PREDICT,
    "scaling": ("scaling", "--cnn", "resnet50", "--gpu", "T4", "--batch", "32", "--max-gpus", "4"),
    "plan": ("plan", "--cnn", "resnet50", "--gpu", "T4", "--gpus", "1,2"),
    "export": ("export", "--to", "f.py", "--overwrite"),
}


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def first_line(name):
    done = run(*COMMANDS[name])
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()[0]


@pytest.fixture
def run_folder(in_empty_folder, formula):
    folder = in_empty_folder / "my-run"
    folder.mkdir()
    save_formula(formula, folder / "formula.json")
    (folder / "provenance.json").write_text("{}")
    return Path("my-run")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_folder_is_used_only_where_it_was_chosen(name, run_folder):
    built_in = first_line(name)
    assert built_in.startswith("formula: the built-in formula")
    assert run("use", str(run_folder)).exit_code == 0
    assert first_line(name).startswith("formula: my-run/formula.json, set by `trainlaw use`")
    assert "my-run/formula.json" in run("use").stdout
    assert run("use", "--built-in").exit_code == 0 and not Path(USE_FILE).exists()
    assert first_line(name) == built_in


def test_each_scope_has_its_place(run_folder):
    save_formula(load_formula_named("multi"), "scaling.json")
    save_formula(load_formula_named("layer"), "layer.json")
    assert run("use", "scaling.json").exit_code == run("use", str(run_folder)).exit_code == 0
    assert run("use").stdout.splitlines() == [
        "one GPU: my-run/formula.json, set by `trainlaw use`",
        "several GPUs: scaling.json, set by `trainlaw use`",
    ]
    schedule = ("schedule", "--cnn", "lenet5", "--gpu", "T4")
    assert run(*schedule).stdout.startswith("formula: the built-in formula layer")
    assert run("use", "layer.json").exit_code == 0
    assert run(*schedule).stdout.startswith("formula: layer.json, set by `trainlaw use`")
    assert run(*schedule, "--formula", str(run_folder)).exit_code == 2


def load_formula_named(name):
    from trainlaw.app.models.builtin import formula_named

    return formula_named(name)


def test_what_cannot_be_used_is_refused_with_what_it_is_for(run_folder):
    pair = replace(load_formula_named("T4-to-K80"))
    save_formula(pair, "pair.json")
    done = run("use", "pair.json")
    assert done.exit_code == 2 and "predict-from-profile" in done.output and not Path(USE_FILE).exists()
    assert run("use", "nothing-here").exit_code == 2
    assert run("use", str(run_folder), "--built-in").exit_code == 2


@pytest.mark.parametrize("text", ["[", "[]", '{"one GPU": 3}', '{"other": "a"}', '{"one GPU": "gone.json"}'])
def test_a_faulty_choice_says_how_to_undo_it(text, in_empty_folder):
    Path(USE_FILE).write_text(text)
    done = run(*PREDICT)
    assert done.exit_code == 2 and "trainlaw use --built-in" in done.output
    assert run("use", "--built-in").exit_code == run(*PREDICT).exit_code == 0
