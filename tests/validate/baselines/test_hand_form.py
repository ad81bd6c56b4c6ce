import numpy as np
import pytest
from trainlaw.validate.baselines.hand_form import FACTORS, PARTS, HandForm
from trainlaw.validate.baselines.inputs import rows_drawn


def groups_of(runs):
    return runs.labels["gpu_group"].to_numpy(dtype=str)


def planted(X):
    """Seconds of the form with the constants of its prior, written out in numpy."""
    c = {name: X[name].to_numpy() for name in X}
    matrix = (c["peak_flop_per_s"] / 2e13) ** 0.3 * (c["boost_clock_hz"] / c["base_clock_hz"]) ** 0.5
    simt = 6 * c["batch_per_gpu"] / c["peak_fp32_flop_per_s"] * c["cache_per_lane"] ** -0.8
    other = np.maximum(c["conv_compute_s"] - c["conv3x3_compute_s"], 0.0) + c["dense_compute_s"]
    products = other + 0.5 * c["conv3x3_compute_s"] + 10 * c["im2col_compute_s"]
    by_channels = 1 + 5 * c["is_channels_last"]
    memory = 10 * c["conv_output_cached_s"] + 5 * c["elementwise_cached_s"]
    gpu = (
        matrix * (products + 500 * c["conv_weight_compute_s"])
        + simt * (20 * c["im2col_elements"] + by_channels * c["grouped_conv_macs"])
        + 2 ** c["is_amd"]
        * (memory + 50 * c["depthwise_output_cached_s"] + 20 * c["params"] / c["bandwidth_byte_per_s"])
        + 2e-4 * (c["n_conv"] + c["n_depthwise"]) * 1.5e9 / c["boost_clock_hz"]
    )
    return (gpu**4 + c["host_s"] ** 4) ** 0.25 + c["input_copy_s"]


def test_the_parts_mean_what_they_say(runs):
    """Planted with the constants of the prior, they are the start, and the start fits."""
    form = HandForm().fit(runs.X, planted(runs.X), groups_of(runs))
    assert form.constants_ == pytest.approx([part.constant for part in PARTS], rel=1e-4)
    assert form.exponents_ == pytest.approx([factor.exponent for factor in FACTORS.values()], abs=1e-4)


def test_a_planted_form_is_found(runs):
    """Up to the pull of the priors."""
    truth = HandForm().fit(runs.X, runs.seconds, groups_of(runs))
    again = HandForm().fit(runs.X, truth.predict(runs.X), groups_of(runs))
    assert np.median(np.abs(np.log(again.predict(runs.X) / truth.predict(runs.X)))) < 0.03


def test_the_formula_computes_what_the_estimator_predicts(few_runs):
    form = HandForm().fit(few_runs.X, few_runs.seconds, groups_of(few_runs))
    assert form.formula_.predict(few_runs.X) == pytest.approx(form.predict(few_runs.X), rel=1e-12)
    assert not any(outside.any() for outside in form.formula_.out_of_range(few_runs.X).values())


def test_derivatives_are_those_of_the_residuals(few_runs):
    form = HandForm()
    times, logs = form._tables(few_runs.X.assign(is_amd=np.arange(len(few_runs.X)) % 2.0))
    random = np.random.default_rng(0)
    point = random.normal(0.0, 0.3, len(PARTS) + len(FACTORS)) + 1.0
    target, roots = np.log(few_runs.seconds), random.uniform(0.5, 2.0, len(times))

    def residuals(parameters):
        return form._residuals(parameters, times, logs, target, roots)

    for index, slopes in enumerate(residuals(point)[1].T):
        step = 1e-6 * np.eye(len(point))[index]
        numeric = (residuals(point + step)[0] - residuals(point - step)[0]) / 2e-6
        assert slopes == pytest.approx(numeric, abs=1e-7)


def test_rows_are_drawn_from_large_groups_only():
    groups = np.array(["large"] * 50 + ["small"] * 3)
    rows = rows_drawn(groups, most=10)
    assert np.isin([50, 51, 52], rows).all()
    assert len(rows) == 13
    assert rows.tolist() == rows_drawn(groups, most=10).tolist()
