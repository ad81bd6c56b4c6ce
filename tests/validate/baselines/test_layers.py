"""Baselines of the time of one layer."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import load
from trainlaw.validate.baselines import baseline, baselines_for
from trainlaw.validate.baselines.layers import LayerFormula


@pytest.mark.slow
@pytest.mark.parametrize("name", baselines_for("measured_layer"))
def test_layers_in_sample(name):
    table = load("cde-layers")
    some = np.random.default_rng(0).permutation(len(table))[:1500]
    X, seconds = table.features().iloc[some].reset_index(drop=True), table.seconds[some]
    groups = table.labels()["gpu_group"].to_numpy(dtype=str)[some]
    predicted = baseline(name).make().fit(X, seconds, groups).predict(X)
    assert (predicted > 0).all()
    errors = np.abs(np.log(predicted / seconds))
    least_known = {"layer_null": 1.0, "constant": 1.5}
    assert np.median(errors) < least_known.get(name, 0.35)


def planted(hidden, n_rows=240):
    """Convolutions and dense layers, forward and training, with known constants per kind and pass."""
    random = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "compute_s": 10.0 ** random.uniform(-5, -2, n_rows),
            "input_memory_s": 10.0 ** random.uniform(-5, -2, n_rows),
            "is_conv": np.arange(n_rows) % 2,
            "n_passes": 1 + 2 * (np.arange(n_rows) // 2 % 2),
            "clock_ratio": random.uniform(0.5, 1.0, n_rows),
            "wide_sm": (np.arange(n_rows) % 5 == 0).astype(float),
        }
    )
    factor = (2.0 + X["is_conv"]) * np.where(X["n_passes"] > 1, 1.5, 1.0)
    compute = factor * X["compute_s"] * X["clock_ratio"] ** -0.4 * np.exp(0.3 * X["wide_sm"])
    memory = 5.0 * X["input_memory_s"] * np.exp(0.2 * X["wide_sm"])
    return X, (np.maximum(compute, memory) if hidden else compute + memory).to_numpy()


@pytest.mark.parametrize("hidden", [False, True])
def test_a_planted_layer_formula_is_recovered(hidden):
    X, seconds = planted(hidden)
    fitted = LayerFormula(("compute_s", "input_memory_s"), hidden=hidden).fit(X, seconds, np.zeros(len(X)))
    constants = [2.0, 5.0, 3.0, 5.0, 3.0, 5.0, 4.5, 5.0]
    assert np.exp(fitted.parameters_[:-3]) == pytest.approx(constants, rel=0.05)
    assert fitted.parameters_[-3:] == pytest.approx([0.4, 0.3, 0.2], abs=0.02)
    assert fitted.predict(X) == pytest.approx(seconds, rel=0.02)
