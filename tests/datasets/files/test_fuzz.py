"""Broken input: an error of ours or a correct read; never another exception, 5 CPU seconds or a gigabyte."""

import io
import random
import resource

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trainlaw.datasets import RunTable, find_cnn_counts, find_gpu, find_link, gpu_table, load
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.measurements.importing import import_runs

from ...fuzz.mutation import PIECES, mutant
from ...refusals import read_or_refused

MAX_KILOBYTES = 2**20


def csv_bytes(frame):
    return frame.to_csv(index=False).encode()


def small_runs():
    rows = [load(name).frame.iloc[[0, 300, 900]] for name in ("precisions", "multi")]
    return pd.concat(rows, ignore_index=True)


def excel_bytes(frame):
    pytest.importorskip("openpyxl")
    content = io.BytesIO()
    frame.to_excel(content, index=False)
    return content.getvalue()


def parquet_bytes(frame):
    pytest.importorskip("pyarrow")
    return frame.to_parquet()


def correct_runs(path):
    """Read runs and hold them to what the schema promises."""
    runs = import_runs(path)
    frame = runs.frame
    assert isinstance(runs, RunTable) and len(runs) > 0
    assert (frame["time_s"] > 0).all() and (frame["batch_per_gpu"] >= 1).all()
    assert not frame["harness"].str.startswith(("=", "+", "-", "@")).any()
    assert np.isfinite(runs.matrix(["conv_compute_s", "communication_s"])).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "frame", "name", "read", "count"),
    [
        (csv_bytes, small_runs, "runs.csv", correct_runs, 60),
        (
            csv_bytes,
            lambda: small_runs()[["gpu", "cnn", "batch_per_gpu", "time_s"]],
            "four.csv",
            correct_runs,
            100,
        ),
        (csv_bytes, lambda: gpu_table().iloc[:6], "gpus.csv", with_gpus, 60),
        (excel_bytes, small_runs, "runs.xlsx", correct_runs, 60),
        (parquet_bytes, small_runs, "runs.parquet", correct_runs, 60),
    ],
)
def test_mutated_files_are_read_correctly_or_refused(tmp_path, make, frame, name, read, count):
    content, path = make(frame()), tmp_path / name
    path.write_bytes(content)
    assert read_or_refused(read, path)
    source = random.Random(20_240_501)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    accepted = 0
    for _ in range(count):
        path.write_bytes(mutant(content, name, source))
        accepted += read_or_refused(read, path)
    assert accepted < count
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_KILOBYTES


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=2000))
def test_any_bytes_are_refused(tmp_path, content):
    path = tmp_path / "any.csv"
    path.write_bytes(content)
    assert not read_or_refused(import_runs, path)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.tuples(*[st.text(max_size=20)] * 4), min_size=1, max_size=5))
def test_any_texts_in_four_columns(tmp_path, rows):
    path = tmp_path / "texts.csv"
    pd.DataFrame(rows, columns=["gpu", "cnn", "batch_per_gpu", "time_s"]).to_csv(path, index=False)
    read_or_refused(correct_runs, path)


@pytest.mark.parametrize("find", [find_gpu, wanted_gpu, find_link, find_cnn_counts])
@given(text=st.text(max_size=400) | st.sampled_from([piece.decode("utf-8", "replace") for piece in PIECES]))
def test_any_text_is_a_name_or_refused(find, text):
    read_or_refused(find, text)
