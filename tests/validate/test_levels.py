from dataclasses import replace

import numpy as np
import pytest
from trainlaw.datasets import FEATURES, configuration
from trainlaw.datasets.features.run_features import SINGLE_GPU_TIME
from trainlaw.formulas import InputError
from trainlaw.validate import leave_one_group_out, run_study
from trainlaw.validate.baselines.forms import cf9
from trainlaw.validate.levels import (
    anchor_errors,
    at_rates,
    calibrated_predictions,
    calibration_levels,
    known_levels,
)
from trainlaw.validate.measured_rates import MeasuredRates


def test_every_feature_comes_out_as_for_a_gpu_with_these_rates():
    """Fails for a feature that is derived from rates in a way that `at_rates` does not know."""
    run = {"cnn": "resnet50", "batch_per_gpu": 32}
    # Measured, not derived; what the data sheet allows, whatever a GPU achieves; a maximum of two rates.
    others = (SINGLE_GPU_TIME, "least_time_s", "forward_least_s")
    names = [name for name in FEATURES if name not in others]
    plain = configuration(gpu="T4", **run).features(names)
    other = configuration(gpu="T4 with 0.5x peak, 4x bandwidth", **run).features(names)
    calibrated = at_rates(plain, compute=2.0, memory=0.25)
    for name in names:
        assert calibrated[name] == pytest.approx(other[name].to_numpy(), rel=1e-9), name


@pytest.fixture(scope="module")
def study(few_runs):
    """A study in which each GPU reaches a different share of its nominal rates."""
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    names = np.unique(groups)
    slower = dict(zip(names, np.geomspace(0.5, 2.0, len(names)), strict=True))
    compute = ["conv_other_compute_s", "im2col_compute_s", "conv_weight_compute_s"]
    factors = np.array([slower[name] for name in groups])
    seconds = factors * (few_runs.X[compute].to_numpy() @ [1.5, 59.0, 1160.0]) + 1e-4
    result = run_study(few_runs.X, seconds, few_runs.labels, leave_one_group_out(groups), {"cf9": cf9})
    return result, few_runs, slower


def test_measured_runs_lower_the_error(study):
    result, runs, _ = study
    levels = calibration_levels(result, "cf9", runs.X, draws=2)
    assert [level.level[0] for level in levels] == list("01222")
    sheet, none, one, *_, five = levels
    assert none.n_groups == 0
    assert np.isnan(none.macro_mape_percent)
    assert one.macro_mape_percent < 0.8 * one.sheet_percent
    assert five.macro_mape_percent < 0.5 * five.sheet_percent
    assert sheet.low_percent <= sheet.macro_mape_percent <= sheet.high_percent


def rates_of(labels, runs, slower):
    """The rate that the GPU of each row of labels reaches."""
    rates = 0.7 * runs.X["peak_flop_per_s"].loc[labels.index] / labels["gpu_group"].map(slower)
    return list(map(MeasuredRates, labels["gpu"], labels["precision"], rates))


def test_achieved_rates_lower_the_error(study):
    result, runs, slower = study
    rates = rates_of(runs.labels.drop_duplicates("gpu"), runs, slower)
    level = calibration_levels(result, "cf9", runs.X, rates=rates, n_anchors=(), draws=1)[1]
    assert level.n_groups == len(slower)
    assert level.macro_mape_percent < 0.4 * level.sheet_percent


def test_rates_of_too_few_other_gpus_are_no_data(study):
    result, runs, _ = study
    rates = [MeasuredRates("T4", "fp32", 4e12), MeasuredRates("K80", "fp32", 1e12)]
    assert calibration_levels(result, "cf9", runs.X, rates=rates, n_anchors=(), draws=1)[1].n_groups == 0


def test_three_other_gpus_with_rates_are_enough(study):
    result, runs, slower = study
    rates = rates_of(runs.labels.drop_duplicates("gpu_group").iloc[:4], runs, slower)
    counts = [
        calibration_levels(result, "cf9", runs.X, rates=some, n_anchors=(), draws=1)[1].n_groups
        for some in (rates, rates[:3])
    ]
    assert counts == [4, 0]


@pytest.fixture(scope="module")
def study_of_cnns(study):
    """The study of the same times that holds out architectures."""
    runs, seconds = study[1], study[0].predictions.sort_values("row")["measured_s"].to_numpy()
    splits = leave_one_group_out(runs.labels["cnn_base"].to_numpy(dtype=str))
    return run_study(runs.X, seconds, runs.labels, splits, {"cf9": cf9})


def test_runs_of_other_architectures_on_the_same_gpu_lower_the_error(study, study_of_cnns):
    result, (_, runs, slower) = study_of_cnns, study
    sheet, known = known_levels(result, "cf9", runs.X, "cnn_base", ())
    assert known.n_groups == sheet.n_groups == len(slower)
    assert known.sheet_percent == sheet.macro_mape_percent
    assert known.macro_mape_percent < 0.5 * sheet.macro_mape_percent


def test_no_run_of_an_architecture_calibrates_its_own_predictions(study, study_of_cnns):
    result, runs = study_of_cnns, study[1]
    own = result.labels("cnn_base") == runs.labels["cnn_base"][0]
    other_times = result.predictions.assign(measured_s=np.where(own, 7.0, result.measured_s))
    before = calibrated_predictions(result, "cf9", runs.X)
    after = calibrated_predictions(replace(result, predictions=other_times), "cf9", runs.X)
    assert np.array_equal(before[own], after[own])
    assert not np.array_equal(before[~own], after[~own])


def test_without_anchors_the_error_is_that_of_the_study_and_draws_are_repeatable(study):
    result, runs, _ = study
    first, same, other = (
        anchor_errors(result, "cf9", runs.X, n_anchors=(0, 5), draws=2, seed=seed) for seed in (1, 1, 2)
    )
    assert first.equals(same) and not first.equals(other)
    zero = first[first["n_anchors"] == 0].set_index("group")["mape_percent"]
    alone = result.errors_by("gpu_group").set_index("gpu_group")["mape_percent"]
    assert zero.to_dict() == pytest.approx(alone.to_dict(), rel=1e-9)
    # Anchors are never evaluated.
    small = {name for name, size in result.predictions["split"].value_counts().items() if size <= 5}
    assert small and not small & set(first.loc[first["n_anchors"] == 5, "split"])
    with pytest.raises(InputError, match="has no formula"):
        anchor_errors(result, "null_compute", runs.X, n_anchors=(0,), draws=1)
