import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from trainlaw.formulas import InputError
from trainlaw.validate.metrics import (
    METRICS,
    by_group,
    faster_gpu_percent,
    log_bias,
    macro,
    mape_percent,
    share_within_percent,
    spearman,
)

TIMES = arrays(float, 12, elements=st.floats(1e-3, 1e3))


@given(TIMES)
def test_a_perfect_prediction_has_no_error(measured):
    assert mape_percent(measured, measured) == 0.0
    assert share_within_percent(measured, measured, 0.0) == 100.0
    assert log_bias(measured, measured) == 0.0
    assert METRICS["invalid_rows"](measured, measured) == 0.0


@given(TIMES, TIMES, st.floats(1e-3, 1e3))
def test_relative_metrics_do_not_depend_on_the_unit_of_time(measured, predicted, factor):
    for name in ("mape_percent", "median_ape_percent", "log_bias"):
        in_other_unit = METRICS[name](measured * factor, predicted * factor)
        assert in_other_unit == pytest.approx(METRICS[name](measured, predicted), rel=1e-9, abs=1e-9)


@given(TIMES, TIMES)
@example(np.array([1.0, 2.0]), np.array([5.0, 4.0]))
def test_rank_correlation_is_scipys(measured, predicted):
    stats = pytest.importorskip("scipy.stats")
    if np.ptp(measured) > 0 and np.ptp(predicted) > 0:
        assert spearman(measured, predicted) == pytest.approx(stats.spearmanr(measured, predicted).statistic)
    else:
        assert math.isnan(spearman(measured, predicted))


@pytest.mark.parametrize("invalid", [float("nan"), float("inf"), 0.0, -1.0])
def test_an_invalid_prediction_counts_as_an_error_and_is_counted(invalid):
    measured, predicted = [1.0, 1.0], [1.0, invalid]
    assert mape_percent(measured, predicted) == 50.0
    assert share_within_percent(measured, predicted, 50.0) == 50.0
    assert METRICS["invalid_rows"](measured, predicted) == 1.0
    assert log_bias(measured, predicted) == 0.0
    assert math.isnan(log_bias([1.0], [invalid]))


def test_macro_counts_each_group_once():
    measured, predicted = [1.0] * 4, [1.0, 1.0, 1.0, 1.5]
    assert by_group(mape_percent, measured, predicted, ["a", "a", "a", "b"]) == {"a": 0.0, "b": 50.0}
    assert macro(mape_percent, measured, predicted, ["a", "a", "a", "b"]) == 25.0
    with pytest.raises(InputError, match="one group label per run"):
        macro(mape_percent, measured, predicted, ["a"])


def test_faster_gpu_is_counted_within_a_configuration_only():
    measured, gpus, work = [1.0, 2.0, 10.0, 20.0], ["A", "B", "A", "B"], ["x", "x", "y", "y"]
    assert faster_gpu_percent(measured, [1.0, 3.0, 5.0, 4.0], gpus, work) == 50.0
    assert faster_gpu_percent(measured, [1.0, 1.0, 5.0, 6.0], gpus, work) == 75.0
    assert faster_gpu_percent(measured, [1.0, float("nan"), 5.0, 6.0], gpus, work) == 50.0


def test_faster_gpu_merges_repeats_and_needs_two_gpus():
    repeated = faster_gpu_percent([1.0, 1.2, 2.0], [3.0, 0.5, 2.0], ["A", "A", "B"], ["x"] * 3)
    assert repeated == 100.0
    assert math.isnan(faster_gpu_percent([1.0, 2.0], [1.0, 2.0], ["A", "A"], ["x", "y"]))


@pytest.mark.parametrize("constant", [([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0]), ([1.0], [1.0])])
def test_rank_correlation_of_a_constant_is_undefined_without_a_warning(constant):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(spearman(*constant))


@pytest.mark.parametrize("band", [10, 25, 50])
def test_bands_are_those_of_their_names(band):
    share = METRICS[f"within_{band}_percent"]
    inside, outside = (band - 0.5) / 100.0, (band + 0.5) / 100.0
    assert share([1.0] * 4, [1.0 - inside, 1.0 + inside, 1.0 - outside, 1.0 + outside]) == 50.0


def test_every_metric_has_the_name_of_what_it_computes():
    measured, predicted = [1.0, 2.0, 4.0], [1.5, 1.0, 3.0]
    found = {name: metric(measured, predicted) for name, metric in METRICS.items()}
    expected = {
        "mape_percent": 125.0 / 3.0,
        "median_ape_percent": 50.0,
        "within_10_percent": 0.0,
        "within_25_percent": 100.0 / 3.0,
        "within_50_percent": 100.0,
        "log_bias": math.log(1.5 * 0.5 * 0.75) / 3.0,
        "rmse_s": math.sqrt((0.25 + 1.0 + 1.0) / 3.0),
        "spearman": 0.5,
        "invalid_rows": 0.0,
    }
    # The values of a new metric are those of its docstring.
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert np.isfinite([*found.values()]).all()
