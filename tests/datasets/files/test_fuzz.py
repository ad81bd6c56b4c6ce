"""Any bytes and texts: an error of ours or a correct read; `tests/fuzz` mutates files of every kind."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trainlaw.datasets import RunTable, find_cnn_counts, find_gpu, find_link
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.measurements.importing import import_runs

from ...fuzz.mutation import PIECES
from ...refusals import read_or_refused


def correct_runs(path):
    """Read runs and hold them to what the schema promises."""
    runs = import_runs(path)
    frame = runs.frame
    assert isinstance(runs, RunTable) and len(runs) > 0
    assert (frame["time_s"] > 0).all() and (frame["batch_per_gpu"] >= 1).all()
    assert not frame["harness"].str.startswith(("=", "+", "-", "@")).any()
    assert np.isfinite(runs.matrix(["conv_compute_s", "communication_s"])).all()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=2000))
def test_any_bytes_are_refused(tmp_path, content):
    path = tmp_path / "any.csv"
    path.write_bytes(content)
    assert not read_or_refused(import_runs, path)


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
