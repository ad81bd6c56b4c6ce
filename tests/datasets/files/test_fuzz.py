"""Broken input: an error of ours or a correct read; never another exception, 5 CPU seconds or a gigabyte."""

import io
import resource
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trainlaw.datasets import RunTable, find_cnn_counts, find_gpu, find_link, gpu_table, load
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.measurements.importing import import_runs
from trainlaw.formulas.errors import TrainlawError

MAX_SECONDS = 5.0
MAX_KILOBYTES = 2**20
# Pieces that break naive readers: separators, quotes, formulas, paths, other numbers, other encodings.
PIECES = [
    *(
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r",
        b'"',
        b'""',
        b"'",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\\",
        b"None",
        b"True",
    ),
    *(b"-", b"-1", b"0", b"1e999", b"1e-300", b"nan", b"inf", b"9" * 400),
    *(b"=1+1", b"@SUM(A1)", b"+cmd|' /C calc'!A0", b"../../etc/passwd", b"\\\\host\\share"),
    *(b"T4", b"resnet50", b"\xe2\x80\xae", b"\xf0\x9f\x92\xa5", b"x" * 400, b"," * 600, b"\n" * 50),
]


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


def mutated(content, rng):
    """Bytes with one to four places overwritten, cut, doubled, or filled with a piece that breaks readers."""
    result = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(0, len(result) + 1))
        length = int(rng.integers(0, 20))
        change = rng.integers(0, 5)
        if change == 0:
            result[place : place + length] = rng.bytes(length)
        elif change == 1:
            del result[place : place + length]
        elif change == 2:
            result[place:place] = result[place : place + length * 10]
        elif change == 3:
            result[place:place] = PIECES[rng.integers(len(PIECES))]
        else:
            result[place : place + length] = PIECES[rng.integers(len(PIECES))]
    return bytes(result[: int(rng.integers(0, len(result) + 1))] if rng.random() < 0.1 else result)


def read_or_refused(read, path):
    """Whether the file was read; fails when neither read nor refused by one line, in time."""
    begun = time.process_time()
    try:
        read(path)
    except TrainlawError as error:
        assert "\n" not in str(error) and len(str(error)) < 2000
        return False
    finally:
        assert time.process_time() - begun < MAX_SECONDS
    return True


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
        (csv_bytes, small_runs, "runs.csv", correct_runs, 90),
        (
            csv_bytes,
            lambda: small_runs()[["gpu", "cnn", "batch_per_gpu", "time_s"]],
            "four.csv",
            correct_runs,
            250,
        ),
        (csv_bytes, lambda: gpu_table().iloc[:6], "gpus.csv", with_gpus, 120),
        (excel_bytes, small_runs, "runs.xlsx", correct_runs, 60),
        (parquet_bytes, small_runs, "runs.parquet", correct_runs, 60),
    ],
)
def test_mutated_files_are_read_correctly_or_refused(tmp_path, make, frame, name, read, count):
    content, path = make(frame()), tmp_path / name
    path.write_bytes(content)
    assert read_or_refused(read, path)
    rng = np.random.default_rng(20_240_501)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    accepted = 0
    for _ in range(count):
        path.write_bytes(mutated(content, rng))
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
