from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import feature_specs
from trainlaw.datasets.features.run_features import TARGET
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas import Formula, InputError, constants, parse_text
from trainlaw.validate.time_covariances import time_covariances
from trainlaw.validate.time_factors import (
    calibrated_times,
    calibrating_runs,
    interval_share,
    shipped_covariances,
    time_factors,
)

NAMES = ("other_matrix_s", "conv_output_cached_s", "host_s", "least_time_s", "clock_ratio")
LAW = Formula(
    parse_text("max(max(2 * other_matrix_s / clock_ratio + 5 * conv_output_cached_s, host_s), least_time_s)"),
    feature_specs(NAMES),
    TARGET,
)
# Each time deviates alone.
INDEPENDENT = pd.DataFrame(0.16 * np.eye(3), calibrated_times(LAW), calibrated_times(LAW))


def rows_of(n_runs, seed=0):
    random = np.random.default_rng(seed)
    columns = {name: 10.0 ** random.uniform(-3, -1, n_runs) for name in NAMES}
    columns["host_s"] = np.full(n_runs, 1e-5)
    columns["least_time_s"] = np.full(n_runs, 1e-6)
    columns["clock_ratio"] = np.full(n_runs, 0.8)
    return FormulaRows(columns, np.ones(n_runs, dtype=bool))


def slower(rows, **factors):
    return rows.predict(LAW, factors)


def test_many_runs_find_the_factor_of_each_time():
    rows = rows_of(200)
    seconds = slower(rows, other_matrix_s=1.5, conv_output_cached_s=0.7)
    found = time_factors(LAW, rows, seconds, INDEPENDENT).by_time
    assert found["other_matrix_s"] == pytest.approx(1.5, rel=0.03)
    assert found["conv_output_cached_s"] == pytest.approx(0.7, rel=0.03)
    assert found["host_s"] == 1.0  # no run tells


def test_one_run_moves_part_of_the_way():
    rows = rows_of(1)
    law = replace(LAW, expression=time_factors(LAW, rows, 1.5 * rows.predict(LAW)).apply(LAW))
    assert 1.15 < rows.predict(law)[0] / rows.predict(LAW)[0] < 1.5


def test_few_runs_that_predict_each_other_move_further_than_those_that_do_not():
    rows, moved = rows_of(5), []
    for factors in (np.full(5, 1.5), np.array([0.7, 2.2, 0.8, 2.4, 1.5])):
        found = time_factors(LAW, rows, factors * rows.predict(LAW))
        after = rows.predict(replace(LAW, expression=found.apply(LAW))) / rows.predict(LAW)
        moved.append(float(np.abs(np.log(after)).mean()))
    assert moved[0] > 0.9 * np.log(1.5) and moved[1] < 0.5 * moved[0]


def test_a_run_limited_by_the_host_moves_the_host_alone():
    rows = rows_of(3)
    rows = replace(rows, columns={**rows.columns, "host_s": 1e6 * rows.columns["host_s"]})
    found = time_factors(LAW, rows, 0.5 * rows.predict(LAW), INDEPENDENT).by_time
    assert found["other_matrix_s"] == 1.0
    assert found["host_s"] < 0.7


def test_runs_as_predicted_leave_the_law_as_it_is():
    rows = rows_of(20)
    assert time_factors(LAW, rows, rows.predict(LAW)).apply(LAW) == LAW.expression


def test_one_wrong_run_among_many_moves_little():
    rows = rows_of(30)
    seconds = rows.predict(LAW)
    seconds[0] *= 1000
    assert time_factors(LAW, rows, seconds).common == pytest.approx(1.0, abs=0.1)


def test_a_formula_without_times_is_scaled_as_a_whole():
    law = Formula(
        parse_text("macs * batch_per_gpu / peak_flop_per_s"),
        feature_specs(("macs", "batch_per_gpu", "peak_flop_per_s")),
        TARGET,
    )
    columns = {
        name: np.full(20, value)
        for name, value in zip(("macs", "batch_per_gpu", "peak_flop_per_s"), (1e9, 32.0, 1e13), strict=True)
    }
    rows = FormulaRows(columns, np.ones(20, dtype=bool))
    found = time_factors(law, rows, 2 * rows.predict(law))
    after = rows.predict(replace(law, expression=found.apply(law))) / rows.predict(law)
    assert after[0] == pytest.approx(found.common, rel=1e-5)
    assert 1.5 < found.common < 2.0


def test_least_times_are_never_multiplied():
    assert calibrated_times(LAW) == ("other_matrix_s", "conv_output_cached_s", "host_s")


def test_a_formula_without_a_time_cannot_be_calibrated():
    negative = replace(LAW, expression=parse_text("-other_matrix_s"))
    with pytest.raises(InputError, match="no finite, positive time"):
        time_factors(negative, rows_of(2), np.ones(2))


def test_more_runs_leave_a_narrower_interval():
    shares = [interval_share(n_runs) for n_runs in range(60)]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("name", ["other_matrix_s", "host_s"])
@pytest.mark.parametrize("ratio", [0.6, 1.3])
def test_one_run_moves_by_the_maximum_of_the_posterior(name, ratio):
    """Prior log-normal by the shipped covariances, error of the run soft L1 with a scale of 0.2."""
    law = replace(LAW, expression=parse_text(name), features=feature_specs((name,)))
    rows, prior = rows_of(1), shipped_covariances().loc[name, name]
    moved = np.linspace(-0.6, 0.6, 120_001)
    # Factors above 1 are linear in the parameter.
    logs = np.where(moved > 0, np.log1p(np.maximum(moved, 0.0)), moved)
    cost = 2.0 * (np.sqrt(1.0 + ((logs - np.log(ratio)) / 0.2) ** 2) - 1.0) + moved**2 / prior
    found = time_factors(law, rows, ratio * rows.predict(law))
    assert found.by_time[name] == found.common == pytest.approx(np.exp(logs[np.argmin(cost)]), abs=0.006)


def test_times_that_vary_together_move_together():
    expression = parse_text("host_s + 2 * conv_launch_s + other_matrix_s")
    features = feature_specs(("host_s", "conv_launch_s", "other_matrix_s"))
    law = replace(LAW, expression=expression, features=features)
    columns = {"host_s": np.ones(2), "conv_launch_s": np.zeros(2), "other_matrix_s": np.full(2, 1e-6)}
    rows = FormulaRows(columns, np.ones(2, dtype=bool))
    found = time_factors(law, rows, 2.0 * rows.predict(law)).by_time
    assert found["host_s"] > 1.5 and found["conv_launch_s"] > 1.5


def test_planted_covariances_are_found():
    """Of 120 sets whose times deviate by 0.5 together, and a third one alone by 0.2."""
    random, rows = np.random.default_rng(0), rows_of(2400)
    sets = np.repeat(np.arange(120), 20)
    together, alone = random.normal(0.0, 0.5, 120)[sets], random.normal(0.0, 0.2, 120)[sets]
    law = replace(LAW, expression=parse_text("other_matrix_s + conv_output_cached_s + 3000 * host_s"))
    columns = dict(rows.columns)
    for name, deviation in {
        "other_matrix_s": together,
        "conv_output_cached_s": together,
        "host_s": alone,
    }.items():
        columns[name] = columns[name] * np.exp(deviation)
    seconds = replace(rows, columns=columns).predict(law)
    found = time_covariances(law, rows, seconds, sets, sets.astype(str))
    assert found.loc["other_matrix_s", "other_matrix_s"] == pytest.approx(0.25, rel=0.3)
    assert found.loc["other_matrix_s", "conv_output_cached_s"] == pytest.approx(0.25, rel=0.3)
    assert abs(found.loc["host_s", "other_matrix_s"]) < 0.05


def test_factors_have_three_digits_and_constants_six():
    law = replace(LAW, expression=parse_text("1.2345678 * other_matrix_s + host_s"))
    rows = rows_of(20)
    found = time_factors(law, rows, 1.2345 * rows.predict(law))
    factor = found.by_time["other_matrix_s"]
    assert factor == float(f"{factor:.3g}") != float(f"{factor:.2g}")
    (constant, *_) = constants(found.apply(law))
    assert constant == float(f"{1.2345678 * factor:.6g}") != float(f"{constant:.5g}")


def test_the_share_of_an_interval_that_is_left():
    stated = {0: 1.0, 1: 0.9, 2: 0.83, 3: 0.78, 5: 0.72, 10: 0.7, 20: 0.68, 1000: 0.68}
    assert {n_runs: interval_share(n_runs) for n_runs in stated} == stated
    between = (np.log(8) - np.log(6)) / (np.log(11) - np.log(6))
    assert interval_share(7) == pytest.approx(0.72 - 0.02 * between)


def test_many_runs_are_thinned_alike_by_cnn_from_the_fastest_to_the_slowest():
    cnns, seconds = np.repeat(np.arange(100).astype(str), 10), np.tile(np.arange(1.0, 11.0), 100)
    chosen = calibrating_runs(cnns, seconds)
    assert seconds[chosen].reshape(100, 4).tolist() == [[1.0, 4.0, 7.0, 10.0]] * 100
    assert calibrating_runs(cnns[:50], seconds[:50]).all()
