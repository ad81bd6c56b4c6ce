"""The facade does what the commands do."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import trainlaw
from trainlaw.app.api import Law
from trainlaw.app.cli import app
from trainlaw.datasets import load
from trainlaw.evolve import FormulaRegressor
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


def test_predictions_speak_for_themselves():
    found = trainlaw.predict("resnet50", "T4", batch=64)
    low, high = found.interval
    assert low < found.seconds == found.time_s < high
    assert found.images_per_second == pytest.approx(64 / found.seconds)
    assert (
        repr(found).startswith("<Prediction of resnet50, batch 64, fp32, on T4: ") and len(repr(found)) < 120
    )
    assert "<script>" not in replace(found, gpu="<script>")._repr_html_()
    assert f"{found.images_per_second:.0f} images/s" in found._repr_html_()


def test_a_loaded_formula_calibrates_itself():
    runs = load("fp32-2026").where(gpu="T4", cnn="inception_v3")
    law = trainlaw.load_formula()
    assert law.calibrate(runs) == trainlaw.calibrate("built-in", runs) != law
    assert pickle.loads(pickle.dumps(law)) == law == trainlaw.load_formula()


def test_calibration_to_rows_of_features(formula):
    generator = np.random.default_rng(0)
    X = pd.DataFrame({spec.name: generator.uniform(0.01, 0.02, 12) for spec in formula.features})
    slower = 1.3 * formula.predict(X)
    law = trainlaw.calibrate(formula, X, slower)
    assert abs(np.log(law.predict(X) / slower)).max() < 0.1 < abs(np.log(formula.predict(X) / slower)).min()
    assert not law.errors
    estimator = FormulaRegressor()
    estimator.formula_ = formula
    assert trainlaw.calibrate(estimator, X, slower) == law
    assert Law.of(formula).calibrate(X, slower) == law
    for faulty in ((X, None), ("runs.csv", slower), (X, slower[1:]), (X, -slower)):
        with pytest.raises(InputError, match="expected"):
            trainlaw.calibrate(formula, *faulty)
