"""Rows are whole or not there; a killed sweep loses at most what it was measuring."""

import csv
import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets.measurements.runs import RUN_FILE_COLUMNS
from trainlaw.datasets.profiler.row_files import RowFile
from trainlaw.formulas.errors import InputError

COLUMNS = ("name", "time_s")


def test_rows_come_back_as_they_were(tmp_path):
    file = RowFile(tmp_path / "rows.csv", COLUMNS)
    assert not file.path.exists()
    file.append({"name": 'a "quoted", name', "time_s": 0.1 + 0.2})
    file.append({"name": "nan", "time_s": float("nan")})
    file.append({"name": "two\nlines", "time_s": None})
    again = RowFile(file.path, COLUMNS).rows
    assert again == file.rows
    assert float(again[0]["time_s"]) == 0.1 + 0.2
    assert [row["time_s"] for row in again[1:]] == ["", ""]
    assert again[2]["name"] == "two lines"


@given(st.integers(0, 200))
def test_a_torn_file_loses_its_torn_row_only(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("torn") / "rows.csv"
    file = RowFile(path, COLUMNS)
    for number in range(5):
        file.append({"name": f"row {number}", "time_s": number / 7})
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    kept = whole[: max(header, len(whole) - cut)]
    path.write_bytes(kept)
    rows = RowFile(path, COLUMNS).rows
    assert rows == file.rows[: kept.count(b"\n") - 1]
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("text", ["other,columns\n1,2\n", "name\n", ""])
def test_the_file_of_another_is_refused_and_kept(tmp_path, text):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(InputError, match="choose another --out"):
        RowFile(path, COLUMNS)
    assert path.read_text() == text


def test_strange_columns_are_refused(tmp_path):
    with pytest.raises(InputError, match="colour"):
        RowFile(tmp_path / "rows.csv", COLUMNS).append({"colour": "red"})


SWEEP = """
import sys
from trainlaw.datasets.profiler.configurations import configuration_grid
from trainlaw.datasets.profiler.run_rows import MeasuredDevice, Measurement
from trainlaw.datasets.profiler.sweep import SweepFiles, sweep
from trainlaw.datasets.profiler.timing import Repeats

def measure(configuration):
    sys.stdin.readline()
    return Measurement(Repeats((0.1,) * 6, (0.2,) * 6, (0.1,) * 6, (0.4,) * 6))

files = SweepFiles(sys.argv[1])
wanted = configuration_grid(["lenet5"], list(range(1, 200)), [], ["fp32"],
                                 device="cpu", threads=[1])
host = MeasuredDevice("Toy CPU, 1 thread", "toy", "none", "1")
print("ready", flush=True)
def tell(progress):
    print(progress.number, flush=True)

sweep(files.left(wanted), measure, lambda each: host, files, tell)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a signal of POSIX systems")
def test_kill_9_leaves_whole_rows_and_loses_one_configuration(tmp_path):
    path = tmp_path / "runs.csv"
    told = 0
    for _ in range(2):
        command = [sys.executable, "-c", SWEEP, str(path)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as process:
            assert process.stdout.readline() == "ready\n"
            # Each line lets it measure one configuration; it is killed at some moment of the fifth.
            process.stdin.write("\n" * 5)
            process.stdin.flush()
            for _ in range(4):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            told += 4
        assert path.read_bytes().endswith(b"\n")
        with path.open(newline="") as file:
            table = list(csv.reader(file))
        assert {len(row) for row in table} == {len(RUN_FILE_COLUMNS)}
        # A row may be there that was not told any more; none that was told is lost.
        rows = len(table) - 1
        assert told <= rows <= told + 1
        told = rows
    batches = [row[4] for row in table[1:]]
    assert len(batches) == len(set(batches))
