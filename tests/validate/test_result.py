from functools import partial

import numpy as np
import pytest
from trainlaw.formulas import UnknownNameError
from trainlaw.validate import leave_one_group_out, run_study
from trainlaw.validate.baselines.null_models import ScaledForm
from trainlaw.validate.metrics import METRICS

RIGHT, WRONG = (partial(ScaledForm, name) for name in ("compute_s", "macs"))


@pytest.fixture
def result(toy):
    splits = leave_one_group_out(toy.labels["gpu_group"])
    return run_study(toy.X, toy.seconds, toy.labels, splits, {"right": RIGHT, "wrong": WRONG})


def test_errors_by_a_label_are_those_of_its_rows(result):
    table = result.errors_by("cnn_base")
    assert table[["cnn_base", "estimator"]].to_numpy().tolist() == [
        [f"cnn{index}", name] for index in range(3) for name in ("right", "wrong")
    ]
    assert list(table.columns) == ["cnn_base", "estimator", "n_rows", *METRICS]
    inside = result.predictions["cnn_base"] == "cnn1"
    measured, predicted = result.measured_s[inside], result.predicted_s("wrong")[inside]
    expected = 100 * np.abs(predicted / measured - 1).mean()
    row = table[(table["cnn_base"] == "cnn1") & (table["estimator"] == "wrong")]
    assert row["mape_percent"].item() == pytest.approx(expected)
    assert row["n_rows"].item() == inside.sum()


def test_summary_has_macro_errors_and_the_ranking_of_gpus(result):
    table = result.summary().set_index("estimator")
    assert table.loc["right", "mape_percent"] < 2 < table.loc["wrong", "mape_percent"]
    by_gpu = result.errors_by("gpu_group")
    mean = by_gpu[by_gpu["estimator"] == "wrong"]["mape_percent"].mean()
    assert table.loc["wrong", "macro_gpu_group_mape_percent"] == pytest.approx(mean)
    assert table.loc["right", "faster_gpu_percent"] == 100.0


def test_intervals_enclose_their_value(result):
    table = result.intervals(resamples=200)
    assert set(table["metric"]) == {*METRICS, "macro_mape_percent", "faster_gpu_percent"}
    inside = (table["low"] <= table["value"] + 1e-9) & (table["value"] <= table["high"] + 1e-9)
    assert inside.mean() > 0.9
    assert table["value"].to_numpy()[-1] == result.summary()["faster_gpu_percent"].to_numpy()[-1]
    assert set(result.intervals("cnn_base", resamples=50)["metric"]) == {*METRICS, "macro_mape_percent"}
    wide = table[(table["estimator"] == "wrong") & (table["metric"] == "mape_percent")]
    assert wide["low"].item() < wide["high"].item()


def test_unknown_names_are_suggested(result):
    with pytest.raises(UnknownNameError, match="did you mean 'cnn_base'"):
        result.errors_by("cnn_bas")
    with pytest.raises(UnknownNameError, match="did you mean 'right'"):
        result.predicted_s("rihgt")
    with pytest.raises(UnknownNameError):
        result.labels("right")
