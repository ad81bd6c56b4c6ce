"""Linear baselines find planted constants."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate.baselines.linear import NonnegativeLinear, PowerLaw, ScaledColumn


def groups_of(runs):
    return runs.labels["gpu_group"].to_numpy(dtype=str)


def test_a_planted_sum_of_times_is_recovered(few_runs):
    X = few_runs.X
    seconds = (
        3.0 * X["conv_compute_s"] + 20.0 * X["conv_output_memory_s"] + X["iteration_overhead_s"]
    ).to_numpy()
    fitted = NonnegativeLinear().fit(X, seconds, groups_of(few_runs))
    assert (fitted.constants_ >= 0).all()
    assert len(fitted.constants_) == 19
    assert fitted.predict(X) == pytest.approx(seconds, rel=1e-3)


def test_a_planted_power_law_is_recovered(few_runs):
    X = few_runs.X
    seconds = (
        1e-3
        * X["batch_per_gpu"] ** 0.9
        * X["macs"] ** 0.5
        * X["peak_flop_per_s"] ** -0.4
        * np.exp(0.1 * X["has_optimizer"])
    ).to_numpy()
    fitted = PowerLaw().fit(X, seconds, groups_of(few_runs))
    powers = [0.9, 0.5, 0.0, 0.0, 0.0, -0.4, 0.0, 0.1, np.log(1e-3)]
    assert fitted.coefficients_ == pytest.approx(powers, abs=1e-6)
    assert fitted.predict(X) == pytest.approx(seconds)


def test_the_factor_is_the_median_ratio():
    X = pd.DataFrame({"ideal_s": [1.0, 2.0, 4.0]})
    fitted = ScaledColumn("ideal_s").fit(X, np.array([2.0, 6.0, 400.0]), np.zeros(3))
    assert fitted.scale_ == 3.0
    assert fitted.predict(X).tolist() == [3.0, 6.0, 12.0]


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="null model needs the features ideal_s"):
        ScaledColumn("ideal_s").fit(pd.DataFrame({"x": [1.0]}), np.ones(1), np.zeros(1))
