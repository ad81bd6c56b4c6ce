"""Files of configurations: the same answers by blocks, by pipe and one by one; a faulty row is named."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from trainlaw.app.inputs import requests
from trainlaw.app.inputs.requests import runs_of_csv
from trainlaw.app.models.user_formula import find_formulas
from trainlaw.app.predictions.predict import predict_runs

from ...commands import invoke, refused

ROWS = (
    "gpu;cnn;batch_per_gpu;n_gpus;host_launch_s;precision",
    "T4;resnet50;64;1;;",
    "V100-SXM2-16GB with 2x bandwidth;vgg16;64;4;;fp32",
    "K80;resnet50;4096;1;4e-05;amp",
    "T4;resnet50;64;1;;",
    "T4;mobilenet_v2;1;1;;fp16",
)


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A file of five rows that is read in blocks of two."""
    monkeypatch.setattr(requests, "MAX_ROWS", 2)
    path = tmp_path / "asked.csv"
    path.write_text("\n".join(ROWS))
    return path


run = partial(invoke, "predict --formula built-in")


def test_blocks_say_what_each_prediction_says(asked, tmp_path, monkeypatch):
    by_csv, by_json = (run("--from", asked, "--format", form).stdout for form in ("csv", "json"))
    top = json.loads(run("--from", asked, "--json", "--top", 3).stdout)
    assert run("--from", "-", "--format", "csv", input=asked.read_bytes()).stdout == by_csv
    assert ": 5 predictions by" in run("--from", asked, "--out", tmp_path / "times.csv").stdout
    assert (tmp_path / "times.csv").read_text() == by_csv
    monkeypatch.setattr(requests, "MAX_ROWS", 100)
    choice = find_formulas(Path("built-in"), "", tmp_path)
    predictions = predict_runs(choice.formula, runs_of_csv(asked), choice.scaling)
    assert by_csv == run("--from", asked, "--format", "csv").stdout and by_csv.count("cannot fit") == 2
    rows = json.loads(by_json)
    assert by_json == run("--from", asked, "--format", "json").stdout
    assert [(row["time_s"], tuple(row["warnings"])) for row in rows] == [
        (one.time_s, one.warnings) for one in predictions
    ]
    assert top == json.loads(by_json)[:3]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("T4;resnet50;0;1;;", "line 8: .*batch_per_gpu"),
        ("T4;x;1;1;;", "line 8: .*CNN"),
        ("T4;" * 9, "line 8"),
    ],
)
def test_a_faulty_row_is_named_and_nothing_is_written(asked, tmp_path, row, fault):
    asked.write_text("\n".join([*ROWS, "", row]))
    done = run("--from", asked, "--out", tmp_path / "times.csv")
    assert done.exit_code == 2
    assert re.search(fault, " ".join(done.stderr.split()))
    assert [path.name for path in tmp_path.iterdir()] == ["asked.csv"]


def test_a_table_for_readers_has_one_block(asked):
    assert "at most 2 rows for a table" in refused(run("--from", asked))
