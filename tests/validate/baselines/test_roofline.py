import numpy as np
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate.baselines.roofline import LayerwiseRoofline, _Layers, find_layers


def test_layers_sum_to_the_network(few_runs):
    for row in range(0, len(few_runs.X), 17):
        sums = few_runs.X.iloc[row][["macs", "params"]]
        key = tuple(few_runs.X.iloc[row][["macs", "params", "activation_elements"]])
        facts = find_layers(key)
        assert (facts.count @ facts.macs) == pytest.approx(sums["macs"], rel=0.25)
        assert (facts.count @ facts.weights) == pytest.approx(sums["params"], rel=0.25)


def test_a_network_of_other_sums_is_unknown(few_runs):
    assert find_layers((1e9, 3.0, 1e3)) is None
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    fitted = LayerwiseRoofline().fit(few_runs.X, few_runs.seconds, groups)
    X = few_runs.X.iloc[:3].copy()
    X.loc[X.index[1], ["macs", "params", "activation_elements"]] = [1e9, 3.0, 1e3]
    predicted = fitted.predict(X)
    assert np.isfinite(predicted).tolist() == [True, False, True]
    with pytest.raises(InputError, match="no run is of a CNN"):
        LayerwiseRoofline().fit(X.iloc[[1]], np.ones(1), np.array(["a"]))


def test_derivatives_are_those_of_the_times(few_runs):
    layers = _Layers(few_runs.X.iloc[::9])
    point = np.array([0.1, -0.3, 0.2, -1.0, 0.0, 1.0, 3.0, 5.0, 0.7, 1.0, 0.3, 0.3, 0.6, 0.8])
    _, slopes = layers.seconds(point)
    for index in range(len(point)):
        step = np.zeros(len(point))
        step[index] = 1e-5
        numeric = (layers.seconds(point + step)[0] - layers.seconds(point - step)[0]) / 2e-5
        assert slopes[:, index] == pytest.approx(numeric, rel=1e-3, abs=1e-9)
