import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import RunTable, coverage, load, outliers
from trainlaw.datasets.measurements import inspection
from trainlaw.datasets.measurements.inspection import (
    DIMENSIONS,
    coverage_by,
    dimension_labels,
    noise_between_sources,
)
from trainlaw.datasets.measurements.runs import with_defaults


@pytest.fixture
def series():
    """Five batches of one network on one gpu, without any outlier."""
    chosen = load("fp32-2026").where(gpu="T4", cnn="vgg16_profet", input_size_px=64)
    assert len(chosen) == 5 and outliers(chosen) == []
    return chosen.frame.sort_values("batch_per_gpu").assign(time_min_s=np.nan, time_max_s=np.nan)


def rules(frame):
    return [
        (outlier.row, outlier.rule) for outlier in outliers(RunTable("changed", frame.reset_index(drop=True)))
    ]


def changed(series, row, column, value):
    series.iloc[row, series.columns.get_loc(column)] = value
    return series


@pytest.mark.parametrize(
    ("row", "column", "of", "factor", "rule"),
    [
        (0, "time_s", 0, 1e-3, "rate"),
        (4, "time_s", 4, 1e6, "rate"),
        (3, "time_s", 2, 0.9, "less time for more work"),
        (1, "time_max_s", 1, 1.3, "spread"),
    ],
)
def test_one_wrong_time_is_found_by_its_rule(series, row, column, of, factor, rule):
    found = rules(changed(series, row, column, factor * series["time_s"].iloc[of]))
    assert found == [(row + 1, rule)]


def test_spread_between_rows_is_found(series):
    again = series.iloc[[2]].assign(time_s=lambda row: 1.25 * row["time_s"])
    assert rules(pd.concat([series, again])) == [(3, "spread"), (6, "spread")]


def test_other_software_is_another_series(series):
    other = series.assign(framework_version="3.0", time_s=series["time_s"] / 2)
    both = RunTable("a", series).merged(RunTable("b", other))
    assert outliers(both) == []


def test_a_finding_is_one_line(series):
    found = outliers(RunTable("fast", changed(series, 0, "time_s", series["time_s"].iloc[0] / 1000)))
    assert str(found[0]).startswith("row 1: this time implies ")


def test_built_in_runs_have_few_outliers():
    assert 0 < len(outliers(load("fp32-2026"))) < 0.02 * 1730


def test_coverage_counts_every_run():
    runs = load("fp32-2026")
    table = coverage(runs)
    assert table.shape == (25, 28)
    counts = table.map(lambda cell: int(cell.split(" ")[0]) if cell else 0)
    assert counts.to_numpy().sum() == len(runs)


def test_a_spread_of_exactly_the_limit_is_allowed(series):
    first = series.iloc[[0]].assign(time_s=10.0, time_min_s=9.0, time_max_s=11.0)
    assert inspection.MAX_SPREAD == (11.0 - 9.0) / 10.0
    assert "spread" not in [rule for _, rule in rules(first)]
    assert "spread" in [rule for _, rule in rules(first.assign(time_max_s=11.001))]


@pytest.mark.parametrize(
    ("limit", "beyond"), [("MAX_RATE_OVER_PEAK", -np.inf), ("MIN_RATE_OVER_PEAK", np.inf)]
)
def test_a_rate_of_exactly_the_limit_is_allowed(series, monkeypatch, limit, beyond):
    first = series.iloc[[0]]
    table = RunTable("one", first)
    rate = float(table.matrix(["total_compute_s"])[0, 0] / table.seconds[0])
    monkeypatch.setattr(inspection, limit, rate)
    assert rules(first) == []
    monkeypatch.setattr(inspection, limit, np.nextafter(rate, beyond))
    (found,) = outliers(table)
    assert (found.rule, found.value) == ("rate", rate)
    assert ("more" if beyond < 0 else "less") in found.text


def test_five_percent_less_time_for_a_larger_batch_are_allowed(series):
    times = [1.0, 0.95, 1.0, 1.1, 1.2]
    allowed = series.assign(time_s=times)
    assert "less time for more work" not in [rule for _, rule in rules(allowed)]
    assert (2, "less time for more work") in rules(series.assign(time_s=[1.0, 0.949, 1.0, 1.1, 1.2]))


def test_an_outlier_has_its_row_value_and_limit(series):
    halved = RunTable("halved", changed(series, 3, "time_s", 0.5 * series["time_s"].iloc[2]))
    (found,) = [outlier for outlier in outliers(halved) if outlier.rule.startswith("less")]
    assert (found.row, found.value, found.limit) == (4, 0.5, 0.95)
    assert found.text == "this batch takes 50 % of the time of a smaller one, all else equal"


def table_of(*rows):
    plain = {"gpu": "T4", "cnn": "resnet50", "input_size_px": 224, "n_classes": 1000, "batch_per_gpu": 8}
    plain |= {"layout": "unknown", "timed_parts": "forward+backward"}
    return RunTable("mine", with_defaults(pd.DataFrame([{**plain, **row} for row in rows])))


def test_two_harnesses_on_one_configuration_are_one_pair():
    table = table_of(
        {"harness": "a", "source": "a", "time_s": 0.10},
        {"harness": "b", "source": "b", "time_s": 0.12},
        {"harness": "b", "source": "b", "time_s": 0.30, "layout": "channels_last"},
    )
    (row,) = noise_between_sources(table).to_dict("records")
    assert (row["first"], row["second"], row["gpus"], row["configurations"]) == ("a", "b", 1, 1)
    assert row["same_parts"]
    assert row["median"] == pytest.approx(np.log(1.2))
    assert row["ratio"] == pytest.approx(1.2)
    covered = coverage_by(table, ["gpu"]).loc["T4"]
    assert (covered["runs"], covered["cnns"], covered["sources"]) == (3, 1, 2)
    assert covered["noise"] == pytest.approx(np.log(1.2))


def test_repeats_and_different_parts_are_kept_apart():
    repeats = table_of({"harness": "a", "time_s": 0.1}, {"harness": "a", "time_s": 0.2})
    (row,) = noise_between_sources(repeats).to_dict("records")
    assert row["first"] == row["second"] == "a"
    assert np.isnan(coverage_by(repeats, ["gpu"]).loc["T4", "noise"])
    parts = table_of(
        {"harness": "a", "time_s": 0.1, "timed_parts": "forward"}, {"harness": "b", "time_s": 0.2}
    )
    (row,) = noise_between_sources(parts).to_dict("records")
    assert not row["same_parts"]


def test_nothing_measured_twice_is_an_empty_table():
    found = noise_between_sources(table_of({"time_s": 0.1}))
    assert found.empty
    assert "ratio" in found


@pytest.mark.parametrize("name", DIMENSIONS)
def test_every_dimension_labels_and_counts_every_run(name):
    table = load("atlas-multi")
    assert len(dimension_labels(table, [name])) == len(table)
    assert coverage_by(table, [name])["runs"].sum() == len(table)


def test_pairs_of_harnesses_with_the_most_configurations_are_first():
    rows = [
        {"harness": harness, "source": harness, "time_s": 0.1, "batch_per_gpu": batch}
        for harness, batches in (("a", (1, 2)), ("b", (1,)), ("c", (1, 2)))
        for batch in batches
    ]
    found = noise_between_sources(table_of(*rows))
    assert found["configurations"].tolist() == [2, 1, 1]
    assert found[["first", "second"]].to_numpy().tolist() == [["a", "c"], ["a", "b"], ["b", "c"]]


def test_the_noise_of_a_pair_is_the_median_and_its_tail_the_ninth_decile():
    rows = [
        {"harness": harness, "source": harness, "time_s": time, "batch_per_gpu": batch}
        for batch, slower in enumerate((1.1, 1.2, 0.5, 1.0, 1.3), start=1)
        for harness, time in (("a", 0.1), ("b", 0.1 * slower))
    ]
    (row,) = noise_between_sources(table_of(*rows)).to_dict("records")
    sizes = np.abs(np.log([1.1, 1.2, 0.5, 1.0, 1.3]))
    assert (row["configurations"], row["gpus"]) == (5, 1)
    assert row["median"] == pytest.approx(np.median(sizes))
    assert row["p90"] == pytest.approx(np.quantile(sizes, 0.9))
    assert row["ratio"] == pytest.approx(1.1)
