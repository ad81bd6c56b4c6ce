"""The default formula is the built-in one until `trainlaw use` says otherwise, and every output names it."""

from dataclasses import replace
from pathlib import Path

import pytest
from trainlaw.app.inputs.used_formula import USE_FILE
from trainlaw.formulas import save_formula

from ...commands import invoke, output

PREDICT = "predict --cnn resnet50 --gpu T4 --batch 32"
COMMANDS = {
    "predict": PREDICT,
    "scaling": "scaling --cnn resnet50 --gpu T4 --batch 32 --max-gpus 4",
    "plan": "plan --cnn resnet50 --gpu T4 --gpus 1,2",
    "export": "export --to f.py --overwrite",
}


def first_line(name):
    return output(COMMANDS[name]).splitlines()[0]


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
    assert invoke("use", str(run_folder)).exit_code == 0
    assert first_line(name).startswith("formula: my-run/formula.json, set by `trainlaw use`")
    assert "my-run/formula.json" in invoke("use").stdout
    assert invoke("use", "--built-in").exit_code == 0 and not Path(USE_FILE).exists()
    assert first_line(name) == built_in


def test_each_scope_has_its_place(run_folder):
    save_formula(load_formula_named("multi"), "scaling.json")
    save_formula(load_formula_named("layer"), "layer.json")
    assert invoke("use", "scaling.json").exit_code == invoke("use", str(run_folder)).exit_code == 0
    assert invoke("use").stdout.splitlines() == [
        "one GPU: my-run/formula.json, set by `trainlaw use`",
        "several GPUs: scaling.json, set by `trainlaw use`",
    ]
    schedule = "schedule --cnn lenet5 --gpu T4"
    assert invoke(schedule).stdout.startswith("formula: the built-in formula layer")
    assert invoke("use", "layer.json").exit_code == 0
    assert invoke(schedule).stdout.startswith("formula: layer.json, set by `trainlaw use`")
    assert invoke(schedule, "--formula", str(run_folder)).exit_code == 2


def load_formula_named(name):
    from trainlaw.app.models.builtin import formula_named

    return formula_named(name)


def test_what_cannot_be_used_is_refused_with_what_it_is_for(run_folder):
    pair = replace(load_formula_named("T4-to-K80"))
    save_formula(pair, "pair.json")
    done = invoke("use", "pair.json")
    assert done.exit_code == 2 and "predict-from-profile" in done.output and not Path(USE_FILE).exists()
