"""A formula of one layer, summed over each network: in predict, show, validate and a study of layers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from trainlaw.app.explain.sensitivity import elasticities, in_raw_columns
from trainlaw.app.models.builtin import BUILT_IN, LAYER_FORMULA
from trainlaw.app.models.scopes import check_features, formula_rows
from trainlaw.app.models.terms import mean_shares, part_values
from trainlaw.app.models.user_formula import read_formula
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.studies.definition import definition_of
from trainlaw.app.studies.kinds.one_gpu import LayerFit
from trainlaw.app.studies.study import score_formula
from trainlaw.datasets import configuration, find_gpu, load
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.measurements.formula_rows import CnnLayers, layer_columns, run_layers
from trainlaw.formulas import load_formula, save_formula, variables
from trainlaw.validate.refit import RefittedFormula

from ...commands import invoke

TEXT = (
    "2 * total_compute_s * (1 + 30 / (1 + conv_output_channels)) + 9 * conv_output_memory_s"
    " + 3 * elementwise_memory_s + 5 * layer_launch_s"
)
RUN = {"cnn": "resnet50", "gpu": "V100-SXM2-16GB", "batch_per_gpu": 64}


@pytest.fixture(scope="module")
def law():
    return read_formula(f"{TEXT} + iteration_overhead_s", "layer")


@pytest.fixture(scope="module")
def few():
    table = load("fp32-2026").where(source="profet", batch_per_gpu=[16, 64])
    return table.where(cnn=sorted(set(table.frame["cnn"]))[:6])


def test_the_sum_is_that_of_the_layers_one_by_one(law):
    rows = run_layers(configuration(**RUN), [spec.name for spec in law.used_features])
    each = law.predict(rows.columns)
    (prediction,) = predict_runs(law, configuration(**RUN))
    assert prediction.time_s == pytest.approx((each * rows.sums.count).sum(), rel=1e-12)
    assert prediction.time_s == formula_rows(law, configuration(**RUN)).predict(law)[0]


def test_built_in_law_gives_the_sum_that_schedules_are_made_of():
    law = load_formula(LAYER_FORMULA)
    layers = layer_columns(build("googlenet"), find_gpu("T4"), 32, 3)
    run = configuration(cnn="googlenet", gpu="T4", batch_per_gpu=32)
    rows = run_layers(run)
    once = law.predict(rows.columns)[rows.labels["kind"] == "iteration"]
    (prediction,) = predict_runs(law, run)
    of_layers = law.predict(layers)[layers["n_layers"] > 0].sum()
    assert prediction.time_s == pytest.approx(of_layers + once[0], rel=1e-9)


@pytest.mark.parametrize("scope", [LAYER_FORMULA, BUILT_IN])
def test_some_runs_have_the_rows_that_they_have_alone(few, scope):
    formula, chosen = load_formula(scope), np.arange(len(few)) % 3 == 1
    alone, part = formula_rows(formula, few.where(chosen)), formula_rows(formula, few).of_runs(chosen)
    assert np.array_equal(part.predict(formula), alone.predict(formula))
    assert all(np.array_equal(part.labels[name], alone.labels[name]) for name in alone.labels)


def test_layers_outside_the_training_range_are_counted(law):
    narrow = replace(law, ranges={"conv_output_channels": (0.0, 512.0), "total_compute_s": (0.0, 1.0)})
    (prediction,) = predict_runs(narrow, configuration(**RUN))
    rows = run_layers(configuration(**RUN))
    wide = rows.sums.apply(1.0 * (rows.columns["conv_output_channels"] > 512))[0]
    assert prediction.warnings == (f"sizes of {wide:.0f} layers lie outside those of training runs",)


def test_terms_shares_and_sensitivity_are_of_the_sum(law):
    run = configuration(**RUN)
    rows = formula_rows(law, run)
    values = part_values(law, rows.columns, rows.sums)[:, 0]
    assert values.sum() == pytest.approx(rows.predict(law)[0], rel=1e-12)
    assert sum(mean_shares(law, rows.columns, rows.sums)) == pytest.approx(1.0)
    found = {row.name: row.time for row in elasticities(law, run)}
    faster = configuration(**{**RUN, "gpu": "V100-SXM2-16GB with 1.1x bandwidth"})
    change = predict_runs(law, faster)[0].time_s / predict_runs(law, run)[0].time_s - 1
    assert found["bandwidth_byte_per_s"] == pytest.approx(change, rel=1e-6)
    assert "peak_flop_per_s" in variables(in_raw_columns(law))


def test_commands_take_a_law_of_layers(law, in_empty_folder):
    save_formula(law, in_empty_folder / "law.json")
    asked = ["--formula", "law.json", "--cnn", "resnet50", "--batch", "64", "--json"]
    one = invoke("predict", *asked, "--gpu", "T4")
    expected = predict_runs(law, configuration(cnn="resnet50", gpu="T4", batch_per_gpu=64))[0].time_s
    assert json.loads(one.stdout)[0]["time_s"] == pytest.approx(expected, rel=1e-12)
    shown = invoke("show law.json")
    assert shown.exit_code == 0
    assert "sum over every layer of:" in shown.stdout
    assert "batch 64, on V100-SXM2-16GB" in shown.stdout


def test_scoring_and_refitting(law, few):
    definition = definition_of({"against": "null_compute", "folds": 3}, "test")
    outcome = score_formula(law, few, definition, refit=True)
    given = score_formula(law, few, definition)
    assert outcome.definition.of == "layers"
    assert outcome.formula.scope == "layer"
    assert outcome.front.members[0].loss < given.front.members[0].loss
    assert set(outcome.columns) == {spec.name for spec in law.used_features}
    assert len(outcome.columns["total_compute_s"]) == len(few)
    assert outcome.columns["total_compute_s"] == pytest.approx(few.matrix(["total_compute_s"])[:, 0], rel=0.2)


def test_refitted_constants_are_found_again(law, few):
    X, cnn_layers = few.features(), CnnLayers.of(few)
    rows = cnn_layers.rows(X, [spec.name for spec in law.used_features])
    seconds = rows.predict(law)
    other = read_formula(
        f"{TEXT.replace('9 *', '5 *').replace('3 *', '4 *')} + iteration_overhead_s", "layer"
    )
    fitted = RefittedFormula(other, cnn_layers).fit(X, seconds, few.labels()["gpu_group"].to_numpy())
    assert np.abs(fitted.predict(X) / seconds - 1).max() < 0.05


def test_a_search_of_layers_predicts_from_features_of_runs(few):
    X, cnn_layers = few.features(), CnnLayers.of(few)
    search = LayerFit(cnn_layers)
    search.fit(X, few.seconds, few.labels()["gpu_group"].to_numpy(str))
    assert search.formula_.scope == "layer"
    check_features(search.formula_)
    predicted = search.predict(X)
    assert predicted == pytest.approx(formula_rows(search.formula_, few).predict(search.formula_))
    assert np.median(np.abs(predicted / few.seconds - 1)) < 0.2
