"""A formula that a person writes: read strictly, scored on the same folds as everything else."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.user_formula import ALIASES, read_formula, unit_fault
from trainlaw.app.studies.study import score_formula
from trainlaw.datasets import FEATURES, load
from trainlaw.formulas import Apply, GroupedConstant, Variable, constants, load_formula, to_text
from trainlaw.validate.baselines import baseline
from trainlaw.validate.error_table import BY_CNN, MACRO
from trainlaw.validate.formula_errors import error_lines, overall_error
from trainlaw.validate.result import OURS

from ...commands import invoke

COMPUTE = "6 * macs * batch / peak"
AGAINST = ("null_compute", "roofline")


run = partial(invoke, "validate")


@pytest.fixture(scope="module")
def table():
    return load("fp32-2026")


def test_short_names_are_features_and_no_feature_is_hidden():
    assert set(ALIASES.values()) <= set(FEATURES)
    assert set(ALIASES).isdisjoint(FEATURES)
    law = read_formula("6*macs*batch/peak + 42*bytes*batch*activations/bandwidth")
    assert to_text(law.expression) == (
        "6 * macs * batch_per_gpu / peak_flop_per_s"
        " + 42 * bytes_per_element * batch_per_gpu * activation_elements / bandwidth_byte_per_s"
    )


def test_units_that_do_not_agree_are_told(small_table):
    assert unit_fault(read_formula(COMPUTE)) == ""
    assert "macs + batch_per_gpu" in unit_fault(read_formula("macs + batch"))
    assert "warning: units do not agree" in run(small_table, "--formula", "macs + batch").stdout
    found = json.loads(run(small_table, "--formula", COMPUTE, "--json").stdout)
    assert found["scope"] == "run" and found["errors"]["summary"]["trainlaw"] and found["warnings"] == []


def test_error_of_a_given_formula_is_what_its_predictions_say(table):
    outcome = score_formula(read_formula(COMPUTE), table, StudyDefinition(against=AGAINST))
    X = table.features(["macs", "batch_per_gpu", "peak_flop_per_s"])
    predicted = 6 * X["macs"] * X["batch_per_gpu"] / X["peak_flop_per_s"]
    errors = 100 * np.abs(predicted / table.seconds - 1)
    by_group = pd.Series(errors).groupby(table.labels()["gpu_group"].to_numpy()).mean()
    assert overall_error(outcome.formula, OURS) == pytest.approx(by_group.mean(), rel=1e-6)
    by_cnn = pd.Series(errors).groupby(table.labels()["cnn_base"].to_numpy()).mean()
    for line in error_lines(outcome.formula, BY_CNN):
        assert line.errors[OURS] == pytest.approx(by_cnn[line.name], rel=1e-6)


def test_a_constant_of_a_held_out_gpu_counts_only_in_the_error_of_training(table):
    law, by_gpu = read_formula(COMPUTE), GroupedConstant("C[gpu]", "gpu", {"T4": 3.0}, 0.5)
    grouped = replace(law, expression=Apply("mul", (law.expression, Variable("C[gpu]"))), grouped=(by_gpu,))
    plain, scaled = (score_formula(each, table, StudyDefinition(against=AGAINST)) for each in (law, grouped))
    times = plain.result.predicted_s(OURS)
    assert scaled.result.predicted_s(OURS) == pytest.approx(0.5 * times)
    factors = np.where(table.labels()["gpu"].iloc[plain.result.predictions["row"]] == "T4", 3.0, 0.5)
    known = np.abs(factors * times / plain.result.measured_s - 1).mean()
    assert scaled.front.members[0].loss == pytest.approx(known)


def test_baselines_are_those_of_the_built_in_study():
    outcome = score_formula(read_formula(COMPUTE), load("default"), StudyDefinition(against=AGAINST))
    study = load_formula(BUILT_IN)
    for name in AGAINST:
        assert overall_error(outcome.formula, name) == pytest.approx(overall_error(study, name), rel=1e-6)
        assert baseline(name).scope == "run"


def test_refit_fits_inside_each_fold(table):
    text = "9 * macs * batch / peak + 30 * bytes * batch * activations / bandwidth"
    definition = StudyDefinition(against=AGAINST)
    given = score_formula(read_formula(text), table, definition)
    fitted = score_formula(read_formula(text), table, definition, refit=True)
    assert overall_error(fitted.formula, OURS, MACRO) < overall_error(given.formula, OURS, MACRO)
    formulas = fitted.result.formulas.items()
    per_fold = {constants(law.expression) for (_, name), law in formulas if name == OURS}
    assert len(per_fold) == len(fitted.held_out) == 5
    assert "fitted again" in fitted.formula.errors["protocol"]
    assert "nothing was fitted" in given.formula.errors["protocol"]


@pytest.mark.usefixtures("quick_studies")
def test_command_prints_the_report_and_writes_the_folder(small_table, tmp_path):
    folder = tmp_path / "mine"
    result = run(small_table, "--formula", f"{COMPUTE} / 0.4 + 0.001", "--folds", 3, "--into", folder)
    assert result.exit_code == 0, result.output
    for part in ("your formula", "roofline", "null: FLOPs / peak", "resnet50", "held out", "FLOP/s"):
        assert part in result.stdout
    law = load_formula(folder / "formula.json")
    assert law.provenance["written"] == f"{COMPUTE} / 0.4 + 0.001"
    assert {"report.html", "errors.csv", "formula.xlsx"} <= {path.name for path in folder.iterdir()}
    predicted = invoke("predict --cnn vgg16 --gpu T4 --batch 8 --json --formula", folder)
    assert json.loads(predicted.stdout)[0]["time_s"] > 0
    assert run("--formula", COMPUTE, "--into", folder).exit_code == 2


def test_formula_of_a_file_is_scored(small_table, formula_file):
    result = run(small_table, "--formula", formula_file, "--split", "cnn", "--against", "roofline")
    assert result.exit_code == 0, result.output
    assert "roofline" in result.stdout and "null" not in result.stdout
