"""The facade does what the commands do."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
import trainlaw
from click.testing import CliRunner
from trainlaw.app.api import Law
from trainlaw.app.cli import app
from trainlaw.datasets import load
from trainlaw.evolve import FormulaRegressor
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.errors import UnknownNameError

from ..commands import output


def test_importing_loads_nothing_large():
    code = "import sys, trainlaw; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {"deap", "pandas", "numpy", "sympy", "numba"}.isdisjoint(loaded.split())
    assert trainlaw.__version__


@pytest.mark.parametrize("arguments", [{}, {"precision": "amp"}, {"n_gpus": 8}])
def test_predict_equals_the_command(arguments, in_empty_folder):
    found = trainlaw.predict("resnet50", "V100-SXM2-16GB", 64, **arguments)
    options = [text for name, value in arguments.items() for text in (f"--{OPTIONS[name]}", str(value))]
    printed = output("predict --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --json", *options)
    assert json.loads(printed)[0]["time_s"] == found.time_s


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


@pytest.mark.usefixtures("quick_studies")
def test_study_writes_a_run_folder(small_table, tmp_path):
    options = {"folds": 2, "evaluations": 100, "seeds": 1, "against": ("null_compute",)}
    outcome = trainlaw.study(small_table, into=tmp_path / "run", workers=1, **options)
    assert outcome.formula.errors["summary"]["trainlaw"]["macro_gpu_group_mape_percent"] > 0
    assert trainlaw.load_formula(tmp_path / "run").text() == outcome.formula.text()
    this_run = json.loads((tmp_path / "run" / "provenance.json").read_text())["this_run"]
    assert (this_run["command"], this_run["workers"]) == ("trainlaw.study", 1)


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


def random_frame(rows, seed=3):
    choose, gpus, cnns = np.random.default_rng(seed), trainlaw.gpus("*"), trainlaw.cnns("*")
    # Small images leave too few pixels, and some CNNs take a single size.
    cnns = cnns["cnn"][cnns["input_size_px"] == 224]
    # Tuned containers are NVIDIA's; other setups of these columns are possible on every GPU.
    gpus = gpus["gpu"][gpus["vendor"] == "NVIDIA"]
    return pd.DataFrame(
        {
            "cnn": choose.choice(cnns, rows),
            "gpu": choose.choice(gpus, rows),
            "batch": choose.choice([1, 8, 64, 500], rows),
            "precision": choose.choice(["fp32", None], rows),
            "tuned": choose.choice([True, False], rows),
            "host_launch_s": choose.choice([None, 4e-5], rows),
        },
        index=range(100, 100 + rows),
    )


def test_a_frame_is_predicted_as_its_rows_are():
    frame = random_frame(25)
    table = trainlaw.predict(frame, pixels=224)
    assert list(table.index) == list(frame.index)
    for asked, found in zip(frame.to_dict("records"), table.to_dict("records"), strict=True):
        one = trainlaw.predict(
            **{name: value for name, value in asked.items() if pd.notna(value)}, pixels=224
        )
        assert found["time_s"] == pytest.approx(one.time_s, rel=1e-12, nan_ok=True)
        assert (found["warnings"], found["notes"]) == (one.warnings, one.notes)
    by_lists = trainlaw.predict(list(frame["cnn"]), list(frame["gpu"]), 64)
    assert set(by_lists["batch_per_gpu"]) == {64} and list(by_lists["cnn"]) == list(table["cnn"])


def test_a_forward_pass_is_predicted_and_planned_as_the_commands_do():
    asked = {"cnn": "resnet50", "gpu": "RTX 4090", "batch": 256, "timed_parts": "forward"}
    one = trainlaw.predict(**asked)
    said = json.loads(
        CliRunner()
        .invoke(
            app, [*"predict --forward --cnn resnet50 --batch 256 --format json --gpu".split(), "RTX 4090"]
        )
        .stdout
    )
    assert one.precision == "amp" and one.time_s == said[0]["time_s"]
    assert trainlaw.predict(**{**asked, "batch": [256, 64]})["time_s"][0] == one.time_s
    assert one.time_s < 0.5 * trainlaw.predict("resnet50", "RTX 4090", 256, precision="amp").time_s
    plans = trainlaw.plan(
        "resnet50", gpu=["RTX 4090", "L4"], batch=[256], timed_parts="forward", prices="example"
    )
    best = plans[plans["gpu"] == "RTX 4090"].iloc[0]
    assert best["samples_per_second"] == pytest.approx(256 / one.time_s, rel=1e-12)
    # A last batch of fewer images counts as a whole one.
    assert best["training_h"] * 3600 == pytest.approx(np.ceil(1e6 / 256) * one.time_s, rel=1e-12)
    assert (plans["cost"] > 0).all() and (plans["largest_batch"] > 2048).all()
    for faulty in ({"n_gpus": [2]}, {"epochs": 3}, {"formula": "built-in"}):
        with pytest.raises(InputError, match="inference"):
            trainlaw.plan("resnet50", gpu="L4", timed_parts="forward", **faulty)


def test_the_formula_is_evaluated_as_often_for_many_rows_as_for_few(monkeypatch):
    calls, predict = [], Formula.predict
    monkeypatch.setattr(
        Formula, "predict", lambda *given, **named: calls.append(1) or predict(*given, **named)
    )
    counts = []
    for rows in (1_000, 10_000):
        calls.clear()
        assert len(trainlaw.predict(random_frame(rows))) == rows
        counts.append(len(calls))
    assert 0 < counts[1] == counts[0]


def test_lists_match_patterns():
    assert set(trainlaw.gpus("rtx 30*")["gpu"]) > {"RTX 3090", "RTX 3080 Laptop"}
    assert trainlaw.gpus("t4")["gpu"].tolist() == ["T4"] and trainlaw.gpus("x").empty
    found = trainlaw.cnns("EfficientNet_B*")
    assert {"efficientnet_b0", "timm/efficientnet_b0"} <= set(found["cnn"]) and (found["macs"] > 0).all()


def test_plans_equal_the_command(in_empty_folder):
    table = trainlaw.plan("vgg16", gpu="V100*", n_gpus=[1, 8], within="3d", prices="example")
    options = ["--gpus", "1,8", "--within", "3d", "--prices", "example", "--format", "csv"]
    cards = [text for name in trainlaw.gpus("V100*")["gpu"] for text in ("--gpu", name)]
    rows = pd.read_csv(StringIO(output("plan --cnn vgg16", *cards, *options)))
    assert table[["gpu", "batch_per_gpu", "precision"]].equals(rows[["gpu", "batch_per_gpu", "precision"]])
    assert table["cost"].to_numpy() == pytest.approx(rows["cost_usd"].to_numpy(), rel=1e-6)
    with pytest.raises(InputError, match="names of GPUs"):
        trainlaw.plan("vgg16", gpu="nothing*")
    with pytest.raises(UnknownNameError, match="unknown setting 'gpus': did you mean 'gpu' or 'n_gpus'"):
        trainlaw.plan("vgg16", gpus="1,2")


def test_a_loaded_law_shows_itself():
    law = trainlaw.load_formula()
    terms = law.shares("resnet50", "T4", 64, precision="amp")
    seconds = trainlaw.predict("resnet50", "T4", 64, precision="amp").seconds
    assert (
        terms["time_s"].sum() == pytest.approx(seconds, rel=1e-9) and terms["time_s"].is_monotonic_decreasing
    )
    features = {spec.name for spec in law.used_features}
    assert {str(symbol) for symbol in law.sympy().free_symbols} == features and "\\max" in law.latex()
    axes = pytest.importorskip("matplotlib.pyplot").figure().add_subplot()
    for batches in ([(8, 64)], []):
        law.plot("resnet50", "T4", *batches, ax=axes)
    assert [[*line.get_xdata()] for line in axes.lines] == [[8, 64], [8, 16, 32, 64, 128, 256]]


def test_runs_in_a_frame_calibrate_as_in_a_file():
    runs = load("fp32-2026").where(gpu="T4", cnn="inception_v3")
    columns = ["gpu", "cnn", "input_size_px", "n_classes", "batch_per_gpu", "precision", "time_s"]
    law = trainlaw.load_formula().calibrate(runs.frame[columns])
    assert law.provenance["calibrated"]["runs"] == len(runs)


def test_settings_of_a_search_are_keywords():
    from sklearn.base import clone  # which takes seconds, and would in each worker

    search = trainlaw.FormulaRegressor(evaluations=300, random_seed=4)
    assert (
        search.settings.evaluations == 300
        and repr(search) == "FormulaRegressor(evaluations=300, random_seed=4)"
    )
    assert clone(search).get_params() == search.get_params()
