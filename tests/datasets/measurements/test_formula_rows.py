"""Rows that formulas are evaluated on: layers sum to what is counted of runs, as in a schedule."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import (
    CNN_LAYER_FEATURES,
    TARGET,
    CnnCounts,
    RunTable,
    built_in_gpus,
    configuration,
    feature_specs,
    find_cnn_counts,
    find_gpu,
    load,
)
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.features.cnn_layer_features import ITERATION
from trainlaw.datasets.features.work import works
from trainlaw.datasets.measurements.formula_rows import (
    CnnLayers,
    feature_rows,
    layer_columns,
    run_layers,
    run_rows,
)
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import Formula, InputError, parse_text

WORK = [work.name for work in works()]
# Times of one launch, and rates.
NO_SUMS = ("_per_s", "stated_launch_s", "usual_launch_s", "host_launch_s")
CNNS = ("resnet50", "vgg16", "mobilenet_v2", "googlenet", "densenet121", "resnext50_32x4d", "lenet5")


def summed(run, names):
    rows = run_layers(run, names)
    return {name: rows.sums.apply(rows.columns[name])[0] for name in names}


@pytest.mark.parametrize("cnn", CNNS)
def test_sums_over_layers_are_the_features_of_the_run(cnn):
    graph = build(cnn)
    run = configuration(
        cnn=graph, gpu="V100-SXM2-16GB", batch_per_gpu=48, timed_parts="forward+backward+optimizer+copy"
    )
    times = [name for name in CNN_LAYER_FEATURES if name.endswith("_s") and not name.endswith(NO_SUMS)]
    assert {*WORK, "total_compute_s", "optimizer_memory_s", "input_copy_s"} <= set(times)
    found = summed(run, times)
    expected = run.features(times).iloc[0]
    for name in times:
        assert found[name] == pytest.approx(expected[name], rel=1e-12), name


@pytest.mark.parametrize("cnn", CNNS)
def test_layers_are_those_of_a_schedule(cnn):
    columns = layer_columns(build(cnn), find_gpu("T4"), 32, 3)
    run = configuration(cnn=cnn, gpu="T4", batch_per_gpu=32)
    names = [name for name in WORK if name not in ("input_copy_s", "iteration_overhead_s")]  # once per run
    found = summed(run, names)
    for name in names:
        assert found[name] == pytest.approx(columns[name].sum(), rel=1e-12), name


def test_the_row_of_the_iteration_has_no_work_of_layers():
    rows = run_layers(configuration(cnn="resnet50", gpu="T4", batch_per_gpu=8))
    once = pd.DataFrame(rows.columns).iloc[-1]
    assert rows.labels["kind"][-1] == ITERATION
    assert once[["total_compute_s", "layer_launch_s", "moved_own_s", "params", "n_conv"]].tolist() == [0] * 5
    assert once["iteration_overhead_s"] == 1e-3
    assert (rows.columns["iteration_overhead_s"][:-1] == 0).all()


def test_default_table_has_layers_for_all_its_runs_and_features_that_are_finite():
    table = load("fp32-2026")
    rows = run_layers(table, WORK)
    assert rows.known.all()
    assert rows.sums.amount == len(table)
    assert all(np.isfinite(column).all() for column in rows.columns.values())
    labels = rows.labels
    assert labels["kind"][rows.sums.start[1:] - 1].tolist() == [ITERATION] * len(table)
    assert (labels["cnn"][rows.sums.start[:-1]] == table.labels()["cnn"]).all()


def test_cnns_are_found_by_their_counts_alone():
    table = load("fp32-2026").where(source="profet")
    ours, theirs = run_layers(table, WORK), CnnLayers.of(table).rows(table.features(), WORK)
    assert all((ours.columns[name] == theirs.columns[name]).all() for name in WORK)
    assert (ours.sums.start == theirs.sums.start).all()


def unknown_network():
    facts = find_cnn_counts("lenet5")
    mystery = CnnCounts("mystery", "mystery", "mystery", 32, 10, facts.counts, facts.memory)
    rows = configuration(cnn=mystery, gpu="T4", batch_per_gpu=8).frame
    known = configuration(cnn="vgg16", gpu="T4", batch_per_gpu=8).frame
    both = pd.concat([rows, known], ignore_index=True)
    return RunTable("both", both, Facts(built_in_gpus(), (mystery, find_cnn_counts("vgg16"))))


def test_cnns_without_layers_are_listed_or_left_out():
    runs = unknown_network()
    with pytest.raises(InputError, match="layers are known, got mystery"):
        run_layers(runs)
    rows = run_layers(runs, leave_out=True)
    assert rows.known.tolist() == [False, True]
    assert set(rows.labels["cnn"]) == {"vgg16"}
    assert np.isnan(rows.per_run(np.array([2.0]))).tolist() == [True, False]
    with pytest.raises(InputError, match="mystery"):
        run_layers(runs.where(cnn="mystery"), leave_out=True)


def test_a_forward_pass_is_one_pass():
    run = configuration(cnn="vgg16", gpu="T4", batch_per_gpu=8, timed_parts="forward")
    assert (run_layers(run, ["n_passes"]).columns["n_passes"] == 1).all()


@pytest.fixture
def two_runs():
    return configuration(cnn="vgg16", gpu="T4", batch_per_gpu=8).merged(
        configuration(cnn="lenet5", gpu="K80", batch_per_gpu=4)
    )


def test_features_of_runs_become_a_row_per_run_or_per_layer(two_runs):
    X = two_runs.features()
    per_run = feature_rows(X, ["macs"])
    assert per_run.sums is None and per_run.known.tolist() == [True, True]
    assert per_run.columns["macs"].tolist() == X["macs"].tolist()
    per_layer = feature_rows(X, ["macs"], CnnLayers.of(two_runs))
    assert per_layer.sums.apply(per_layer.columns["macs"]).tolist() == X["macs"].tolist()


def test_rows_of_runs_have_features_and_labels(two_runs):
    rows = run_rows(two_runs, iter(["params", "n_conv"]))
    assert list(rows.columns) == ["params", "n_conv"]
    assert rows.columns["n_conv"].tolist() == [13.0, 2.0]
    assert (rows.labels["gpu"].tolist(), rows.labels["cnn"].tolist()) == (["T4", "K80"], ["vgg16", "lenet5"])
    assert rows.sums is None and rows.known.tolist() == [True, True]


def test_formulas_are_predicted_and_described_per_run(two_runs):
    specs = feature_specs(["macs", "n_conv"], CNN_LAYER_FEATURES)
    formula = Formula(parse_text("2 * macs"), specs, TARGET, scope="layer")
    rows = run_layers(two_runs, ["macs", "n_conv"])
    assert rows.predict(formula).tolist() == (2 * two_runs.features(["macs"])["macs"]).tolist()
    flags = rows.columns["n_conv"] > 0
    assert rows.any_per_run(flags).tolist() == [True, True]
    assert rows.any_per_run(np.zeros_like(flags)).tolist() == [False, False]
    assert run_rows(two_runs, ["macs"]).any_per_run(np.array([True, False])).tolist() == [True, False]


def test_features_of_layers_are_summed_per_run_and_pure_numbers_averaged(two_runs):
    specs = feature_specs(["macs", "n_conv"], CNN_LAYER_FEATURES)
    formula = Formula(parse_text("macs * n_conv"), specs, TARGET, scope="layer")
    found = run_layers(two_runs, ["macs", "n_conv"]).run_features(formula)
    features = two_runs.features(["macs", "n_conv", "n_layers"])
    assert found["macs"].tolist() == features["macs"].tolist()
    # The row of the iteration counts among the rows of a run.
    assert found["n_conv"] == pytest.approx(features["n_conv"] / (features["n_layers"] + 1))
    plain = Formula(parse_text("macs"), feature_specs(["macs"]), TARGET)
    assert run_rows(two_runs, ["macs"]).run_features(plain)["macs"].tolist() == features["macs"].tolist()
