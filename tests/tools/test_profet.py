"""The models of PROFET, fitted per pair of GPUs."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import load

from tools.profet import (
    PROFET,
    AnchorLine,
    ProfetEnsemble,
    ScaledPerceptron,
    group_names,
    grouped_profile,
    run_pair_study,
)


@pytest.fixture(scope="module")
def two_pairs():
    table = load("profet-pairs")
    frame = table.frame
    gpus = ["T4", "V100-SXM2-16GB"]
    return table.where((frame["anchor_gpu"].isin(gpus) & frame["target_gpu"].isin(gpus)).to_numpy())


@pytest.mark.slow
def test_the_cheap_legs_by_pair(two_pairs):
    cheap = {"profet_line": AnchorLine, "operations_nonnegative": PROFET["operations_nonnegative"]}
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
    fitted = ProfetEnsemble().fit(X, seconds, np.zeros(len(X)))
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


def test_a_line_through_the_anchor_times_is_recovered():
    X = pd.DataFrame({"anchor_time_s": [0.1, 0.2, 0.4]})
    fitted = AnchorLine().fit(X, np.array([0.25, 0.45, 0.85]), np.zeros(3))
    assert fitted.constants_ == pytest.approx([0.05, 2.0])
    assert fitted.predict(pd.DataFrame({"anchor_time_s": [1.0]})) == pytest.approx([2.05])


def test_a_constant_column_has_no_influence():
    table = np.column_stack([np.linspace(0.0, 1.0, 40), np.ones(40)])
    fitted = ScaledPerceptron(hidden_layer_sizes=(4,), max_iter=5, random_state=0).fit(table, table[:, 0])
    other = np.add(table, [0.0, 5.0])
    assert fitted.predict(other).tolist() == fitted.predict(table).tolist()
