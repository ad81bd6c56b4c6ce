"""The facade does what the commands do."""

import json
import subprocess
import sys

import pytest
import trainlaw
from trainlaw.app.cli import app
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.errors import UnknownNameError
from typer.testing import CliRunner


def test_importing_loads_nothing_large():
    code = "import sys, trainlaw; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {"deap", "pandas", "numpy", "sympy", "numba"}.isdisjoint(loaded.split())
    assert trainlaw.__version__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="predict"):
        trainlaw.forecast  # noqa: B018


@pytest.mark.parametrize("arguments", [{}, {"precision": "amp"}, {"n_gpus": 8}])
def test_predict_equals_the_command(arguments, in_empty_folder):
    found = trainlaw.predict("resnet50", "V100-SXM2-16GB", 64, **arguments)
    options = [text for name, value in arguments.items() for text in (f"--{OPTIONS[name]}", str(value))]
    command = ["predict", "--cnn", "resnet50", "--gpu", "V100-SXM2-16GB", "--batch", "64", *options, "--json"]
    printed = CliRunner().invoke(app, command)
    assert printed.exit_code == 0, printed.output
    assert json.loads(printed.stdout)[0]["time_s"] == found.time_s


OPTIONS = {"precision": "precision", "n_gpus": "gpus"}


def test_predict_takes_a_formula_or_its_name(formula, formula_file):
    by_object = trainlaw.predict("vgg16", "T4", 32, formula=formula)
    assert trainlaw.predict("vgg16", "T4", 32, formula=formula_file) == by_object


def test_load_formula_takes_names_files_and_folders(formula_file):
    assert isinstance(trainlaw.load_formula("multi"), Formula)
    assert trainlaw.load_formula(formula_file).scope == "run"
    with pytest.raises(InputError):
        trainlaw.load_formula("no-such-formula")


def test_export_writes_the_file_and_refuses_to_replace_it(formula, tmp_path):
    path = trainlaw.export(formula, tmp_path / "iteration_time.py")
    assert "def " in path.read_text()
    with pytest.raises(InputError, match="exists"):
        trainlaw.export(formula, path)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_studies")
def test_study_writes_a_run_folder(small_table, tmp_path):
    options = {"folds": 2, "evaluations": 100, "seeds": 1, "against": ("null_compute",)}
    outcome = trainlaw.study(small_table, into=tmp_path / "run", workers=1, **options)
    assert outcome.formula.errors["summary"]["trainlaw"]["macro_gpu_group_mape_percent"] > 0
    assert trainlaw.load_formula(tmp_path / "run").text() == outcome.formula.text()


def test_study_refuses_an_unknown_option():
    with pytest.raises(UnknownNameError, match="evaluations"):
        trainlaw.study(evaluation=100)
