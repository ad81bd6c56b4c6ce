import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import RunTable, load
from trainlaw.datasets.measurements.run_schema import with_defaults
from trainlaw.datasets.measurements.source_noise import (
    DIMENSIONS,
    coverage_by,
    dimension_labels,
    noise_between_sources,
)
from trainlaw.formulas.errors import UnknownNameError


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


def test_unknown_dimension_suggests_a_near_one():
    with pytest.raises(UnknownNameError, match="layout"):
        coverage_by(load("default"), ["layuot"])
