"""The formula that ships: made by the study on the shipped data, usable before any study was run."""

import json
import re

import pytest
from trainlaw.app.models.builtin import BUILT_IN, formula_named
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.workbook.model import first_choice, workbook_model
from trainlaw.datasets import load
from trainlaw.formulas import load_formula, to_text

from ...commands import invoke


def test_it_was_made_from_the_shipped_data():
    """Where this fails: `trainlaw study --into new`, copy new/formula.json to app/builtin/formula.json."""
    law = load_formula(BUILT_IN)
    assert law.provenance["table"] == "default"
    assert law.provenance["table_sha256"] == load("default").sha256
    assert law.provenance["seed"] == 0
    assert "interrupted" not in law.provenance


def test_its_stated_error_is_below_the_baselines():
    summary = load_formula(BUILT_IN).errors["summary"]
    macro = {name: metrics["macro_gpu_group_mape_percent"] for name, metrics in summary.items()}
    assert macro["trainlaw"] < macro["cf9"]
    assert macro["trainlaw"] < macro["roofline"] < macro["null_compute"]


def test_it_predicts_in_a_folder_without_a_run(in_empty_folder):
    arguments = ["predict", "--cnn", "resnet50", "--gpu", "T4", "--batch", "64", "--json"]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert 0.05 < json.loads(result.stdout)[0]["time_s"] < 2
    assert "built-in formula" in invoke("show").stdout


def test_it_has_a_workbook():
    law = load_formula(BUILT_IN)
    assert workbook_model(law).seconds == pytest.approx(predict_runs(law, first_choice())[0].time_s)


@pytest.mark.parametrize("name", ["built-in", "short"])
def test_no_factor_of_a_shipped_formula_is_dead(name):
    powers = re.findall(r"\^\(?(-?[\d.e-]+)", to_text(formula_named(name).expression))
    assert powers and all(abs(float(power)) > 0.02 for power in powers)
