"""The models that formulas of pairs of GPUs are compared with."""

import numpy as np
import pandas as pd
import pytest

from tools.builtin.pair_models import AnchorLine, group_names, grouped_profile, nonnegative_least_squares


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


def test_nonnegative_solution_of_positive_truth_is_exact_whatever_the_columns_are_measured_in():
    random = np.random.default_rng(0)
    units = 10.0 ** random.uniform(-6, 6, 5)
    A = random.uniform(size=(30, 5)) * units
    truth = np.array([1.0, 0.0, 2.0, 0.0, 3.0]) / units
    assert nonnegative_least_squares(A, A @ truth) * units == pytest.approx(truth * units, abs=1e-9)


def test_nonnegative_least_squares_takes_columns_of_zeros_and_refuses_what_is_not_finite():
    assert nonnegative_least_squares(np.zeros((3, 2)), np.ones(3)).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError):
        nonnegative_least_squares(np.array([[np.nan]]), np.array([1.0]))
