"""Baselines of a target GPU from measurements on an anchor GPU."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import load
from trainlaw.formulas import InputError
from trainlaw.validate import run_pair_study
from trainlaw.validate.baselines import baseline, named_baselines
from trainlaw.validate.baselines.anchors import AnchorLine, group_names, grouped_profile


@pytest.fixture(scope="module")
def two_pairs():
    table = load("profet-pairs")
    frame = table.frame
    gpus = ["T4", "V100-SXM2-16GB"]
    return table.where((frame["anchor_gpu"].isin(gpus) & frame["target_gpu"].isin(gpus)).to_numpy())


@pytest.mark.slow
def test_the_cheap_legs_by_pair(two_pairs):
    cheap = {"profet_line": AnchorLine, **named_baselines("operations_nonnegative")}
    result = run_pair_study(two_pairs, cheap)
    assert len(result.predictions) == len(two_pairs)
    assert sorted(result.predictions["row"]) == list(range(len(two_pairs)))
    errors = result.summary().set_index("estimator")["mape_percent"]
    assert errors["operations_nonnegative"] < errors["profet_line"]
    assert errors["operations_nonnegative"] < 15


def test_the_ensemble_is_the_median_of_its_legs(two_pairs):
    frame = two_pairs.frame
    X = two_pairs.profile().assign(anchor_time_s=frame["anchor_time_s"])
    some = np.flatnonzero((frame["anchor_gpu"] == "T4").to_numpy())[::4]
    X, seconds = X.iloc[some].reset_index(drop=True), two_pairs.seconds[some]
    fitted = baseline("profet_ensemble").make().fit(X, seconds, np.zeros(len(X)))
    predicted = fitted.predict(X)
    assert np.median(np.abs(predicted / seconds - 1)) < 0.15
    legs = [fitted.line_.predict(X), fitted.forest_.predict(grouped_profile(X))]
    assert (predicted >= np.minimum(*legs) - 1e-12).all()
    assert (predicted <= np.maximum(*legs) + 1e-12).all()


def test_names_far_apart_stay_apart():
    groups = group_names(("Relu", "Relu6", "MaxPool", "AvgPool", "Conv2DBackpropFilter"))
    assert ("Relu", "Relu6") == groups[0][:2]
    assert ("Conv2DBackpropFilter",) in groups
    assert sorted(sum(groups, ())) == sorted(("Relu", "Relu6", "MaxPool", "AvgPool", "Conv2DBackpropFilter"))


def test_grouping_keeps_the_total():
    X = pd.DataFrame({"device_Relu_s": [1.0], "device_Relu6_s": [2.0], "host_Wait_s": [4.0]})
    assert grouped_profile(X).tolist() == [[3.0, 4.0]]


def test_ratios_of_rates_find_the_planted_constant_from_pairs_alone():
    pairs = load("profet-pairs")
    X = pairs.features(
        [
            "anchor_time_s",
            "peak_flop_per_s",
            "anchor_peak_flop_per_s",
        ]
    )
    rate = "peak_flop_per_s"
    seconds = (1.7 * X["anchor_time_s"] * X[f"anchor_{rate}"] / X[rate]).to_numpy(copy=True)
    alone = X.assign(**{f"anchor_{rate}": X[rate]})  # each run is its own anchor
    both, times = pd.concat([X, alone]), np.concatenate([seconds, X["anchor_time_s"].to_numpy()])
    fitted = baseline("anchor_peak_ratio").make().fit(both, times, np.zeros(len(both)))
    assert fitted.predict(X) == pytest.approx(seconds)
    with pytest.raises(InputError, match="anchor_peak_flop_per_s"):
        fitted = baseline("anchor_peak_ratio").make().fit(X[["anchor_time_s"]], seconds, seconds)


def test_a_line_through_the_anchor_times_is_recovered():
    X = pd.DataFrame({"anchor_time_s": [0.1, 0.2, 0.4]})
    fitted = AnchorLine().fit(X, np.array([0.25, 0.45, 0.85]), np.zeros(3))
    assert fitted.constants_ == pytest.approx([0.05, 2.0])
    assert fitted.predict(pd.DataFrame({"anchor_time_s": [1.0]})) == pytest.approx([2.05])
