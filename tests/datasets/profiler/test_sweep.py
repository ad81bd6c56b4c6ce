"""Rows of a sweep pass the check of a user's file; failures are rows; nothing is measured twice."""

import math

import pandas as pd
import pytest
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.measurements.importing import import_runs
from trainlaw.datasets.profiler.configurations import configuration_grid
from trainlaw.datasets.profiler.devices import NotMeasuredError
from trainlaw.datasets.profiler.machine import Interference, Processor
from trainlaw.datasets.profiler.row_files import MachineFile
from trainlaw.datasets.profiler.sweep import SweepFiles, sweep

from .conftest import measurement

TOY = Processor("Toy CPU", 2, 16, 2.5e9, 8e9, 32e6, 48e3)


def wanted(batches=(2, 4, 8)):
    return configuration_grid(["lenet5"], batches, [], ["fp32"], device="cpu", threads=[1])


def run(configurations, files, host, measure=None, **clock):
    told = []
    measure = measure or (lambda c: measurement(0.1 * c.batch))
    sweep(configurations, measure, lambda c: host, files, told.append, **clock)
    return told


def imported(path, host, configurations, measure=None):
    """The runs of a sweep as a user's file is read."""
    run(configurations, SweepFiles(path), host, measure)
    machine = MachineFile(path)
    machine.add(TOY.gpu_row(1, 1e11, 1e10))
    return import_runs(path, gpus=with_gpus(machine.path))


def test_rows_pass_the_check_and_become_a_run_table(tmp_path, host):
    launches = {2: 4e-5, 4: 6e-5, 8: math.nan}

    def measure(configuration):
        return measurement(0.1 * configuration.batch, host_launch_s=launches[configuration.batch])

    table = imported(tmp_path / "runs.csv", host, wanted(), measure)
    assert table.seconds.tolist() == pytest.approx([0.2, 0.4, 0.8])
    assert table.frame["n_repeats"].tolist() == [6, 6, 6]
    assert table.frame["pool"].tolist() == [1, 1, 1]
    assert (table.features(["peak_flop_per_s"]) == 1.6e11).all(axis=None)
    assert set(table.labels()["gpu_group"]) == {"Toy CPU, 1 thread"}
    # 120 us where it was not measured.
    assert table.features(["host_launch_s"]).iloc[:, 0].tolist() == pytest.approx([4e-5, 6e-5, 1.2e-4])


def test_a_disturbed_measurement_is_remarked_and_not_pooled(tmp_path, host):
    path, seen = tmp_path / "runs.csv", Interference(0.5, 1e9, ("hot",))
    frame = imported(path, host, wanted([2]), lambda _: measurement(0.2, interference=seen)).frame
    assert frame["algorithm"].tolist() == ["none"] and frame["n_gpus"].tolist() == [1]
    (row,) = pd.read_csv(path).to_dict("records")
    assert (row["pool"], row["remark"]) == (0, "hot; other programs used 50 % of the processors")


@pytest.mark.parametrize("parts, optimizer", [("forward", "none"), ("forward+backward+optimizer", None)])
def test_a_row_says_stack_and_parts_and_is_found_again(tmp_path, host, parts, optimizer):
    (asked,) = configuration_grid(
        ["lenet5"], [4], [], ["amp"], device="cpu", threads=[1], stacks=["channels_last"], timed_parts=parts
    )
    files = SweepFiles(tmp_path / "runs.csv")
    run([asked], files, host)
    (row,) = pd.read_csv(files.runs.path).to_dict("records")
    assert (row["layout"], row["stack"], row["timed_parts"]) == ("channels_last", "channels_last", parts)
    assert optimizer is None or row["optimizer"] == optimizer
    assert not SweepFiles(files.runs.path).left([asked])


def test_what_cannot_be_measured_becomes_a_row_and_is_not_tried_again(tmp_path, host):
    def measure(configuration):
        if configuration.batch == 4:
            raise NotMeasuredError("out of memory: it does not fit")
        return measurement(0.1)

    files = SweepFiles(tmp_path / "runs.csv")
    told = run(wanted(), files, host, measure)
    assert [progress.reason for progress in told] == ["", "out of memory: it does not fit", ""]
    (failure,) = files.failures.rows
    assert (failure["batch"], failure["reason"]) == ("4", "out of memory: it does not fit")
    assert len(files.runs.rows) == 2
    left = SweepFiles(tmp_path / "runs.csv").left(wanted(batches=(2, 4, 8, 16)))
    assert [configuration.batch for configuration in left] == [16]


def test_other_errors_are_defects_and_end_the_sweep(tmp_path, host):
    def measure(configuration):
        raise KeyError("defect")

    with pytest.raises(KeyError):
        run(wanted(), SweepFiles(tmp_path / "runs.csv"), host, measure)


def test_time_left_is_told(tmp_path, host):
    ticks = iter(range(0, 1000, 10))
    told = run(wanted(), SweepFiles(tmp_path / "runs.csv"), host, now=lambda: next(ticks))
    assert [(p.number, p.total, p.remaining_s) for p in told] == [(1, 3, 20.0), (2, 3, 10.0), (3, 3, 0.0)]


def test_a_row_that_was_edited_counts_as_not_measured(tmp_path, host):
    path, configurations = tmp_path / "runs.csv", wanted(batches=(2,))
    run(configurations, SweepFiles(path), host)
    assert not SweepFiles(path).left(configurations)
    path.write_text(path.read_text().replace(",lenet5,32,", ",lenet5,many,"))
    assert SweepFiles(path).left(configurations) == configurations
