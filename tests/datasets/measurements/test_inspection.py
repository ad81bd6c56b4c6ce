import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import RunTable, coverage, load, outliers


@pytest.fixture
def series():
    """Five batches of one network on one gpu, without any outlier."""
    chosen = load("default").where(gpu="T4", cnn="vgg16_profet", input_size_px=64)
    assert len(chosen) == 5 and outliers(chosen) == []
    return chosen.frame.sort_values("batch_per_gpu").assign(time_min_s=np.nan, time_max_s=np.nan)


def rules(frame):
    return [
        (outlier.row, outlier.rule) for outlier in outliers(RunTable("changed", frame.reset_index(drop=True)))
    ]


def test_a_time_that_beats_the_peak_is_found(series):
    series.iloc[0, series.columns.get_loc("time_s")] /= 1000
    assert rules(series) == [(1, "rate")]


def test_a_time_that_is_far_too_long_is_found(series):
    series.iloc[4, series.columns.get_loc("time_s")] *= 1e6
    assert rules(series) == [(5, "rate")]


def test_less_time_for_more_work_is_found(series):
    series.iloc[3, series.columns.get_loc("time_s")] = 0.9 * series["time_s"].iloc[2]
    assert rules(series) == [(4, "less time for more work")]


def test_spread_inside_a_row_is_found(series):
    series.iloc[1, series.columns.get_loc("time_max_s")] = 1.3 * series["time_s"].iloc[1]
    assert rules(series) == [(2, "spread")]


def test_spread_between_rows_is_found(series):
    again = series.iloc[[2]].assign(time_s=lambda row: 1.25 * row["time_s"])
    assert rules(pd.concat([series, again])) == [(3, "spread"), (6, "spread")]


def test_other_software_is_another_series(series):
    other = series.assign(framework_version="3.0", time_s=series["time_s"] / 2)
    both = RunTable("a", series).merged(RunTable("b", other))
    assert outliers(both) == []


def test_a_finding_is_one_line(series):
    series.iloc[0, series.columns.get_loc("time_s")] /= 1000
    found = outliers(RunTable("changed", series))
    assert str(found[0]).startswith("row 1: this time implies ")


def test_built_in_runs_have_few_outliers():
    assert 0 < len(outliers(load("default"))) < 0.02 * 1730


def test_coverage_counts_every_run():
    runs = load("default")
    table = coverage(runs)
    assert table.shape == (25, 28)
    counts = table.map(lambda cell: int(cell.split(" ")[0]) if cell else 0)
    assert counts.to_numpy().sum() == len(runs)
