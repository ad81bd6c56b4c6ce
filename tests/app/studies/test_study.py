"""The main job on a small part of the data: same bytes for any number of workers, honest when interrupted."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from trainlaw.app.cli import app
from trainlaw.app.inputs.run_folder import RUN_FILES
from trainlaw.app.studies.definition import definition_of
from trainlaw.app.studies.study import study_table
from trainlaw.formulas import SECOND, infer_unit, load_formula
from typer.testing import CliRunner, Result

STUDY = ["study", "--folds", "3", "--seeds", "1"]


def run_study(folder: Path, table: Path, *options: str) -> Result:
    command = [*STUDY, str(table), "--into", str(folder), "--evaluations", "300", *options]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def finished(few_networks_in_module, small_table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "one"
    return folder, run_study(folder, small_table, "--workers", "2", "--seed", "5")


@pytest.mark.slow
def test_run_folder_is_complete(finished):
    folder, _ = finished
    assert sorted(path.name for path in folder.iterdir()) == sorted(RUN_FILES)
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["seed"] == 5
    assert provenance["table_sha256"]
    assert set(provenance["sha256"]) == set(RUN_FILES) - {"provenance.json"}


@pytest.mark.slow
def test_it_prints_formula_units_and_errors_next_to_the_baselines(finished):
    _, done = finished
    for text in (
        "time_s [s] =",
        "roofline",
        "sparse non-negative sum of times",
        "null: FLOPs / peak",
        "hand-derived, 9 terms",
        "data sheet",
        "faster of two GPUs picked",
        "resnet50",
        "mean over GPU groups",
        "unit",
    ):
        assert text in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_formula_is_in_seconds_and_carries_its_errors(finished):
    folder, _ = finished
    formula = load_formula(folder / "formula.json")
    unit = infer_unit(formula.expression, {spec.name: spec.unit for spec in formula.features})
    assert unit in (None, SECOND)
    held_out = {line["name"] for line in formula.errors["gpu_group"]}
    assert len(held_out) == 4
    summary = formula.errors["summary"]["trainlaw"]
    assert summary["macro_gpu_group_mape_percent"] == pytest.approx(
        np.mean([line["errors"]["trainlaw"] for line in formula.errors["gpu_group"]])
    )


@pytest.mark.slow
def test_errors_csv_agrees_with_the_formula(finished):
    folder, _ = finished
    with (folder / "errors.csv").open() as file:
        rows = list(csv.DictReader(file))
    overall = next(row for row in rows if row["level"] == "all" and row["estimator"] == "trainlaw")
    carried = load_formula(folder / "formula.json").errors["summary"]["trainlaw"]
    assert float(overall["mape_percent"]) == carried["mape_percent"]
    labels = {"source", "precision", "generation", "layout", "batch"}
    assert {row["level"] for row in rows} == {"all", "gpu_group", "cnn_base", *labels}


@pytest.mark.slow
def test_same_seed_gives_the_same_bytes_with_one_worker(finished, small_table, tmp_path):
    folder, _ = finished
    run_study(tmp_path / "two", small_table, "--workers", "1", "--seed", "5")
    for name in (
        "formula.json",
        "errors.csv",
        "front.csv",
        "predictions.csv",
        "study.toml",
        "formula.xlsx",
        "report.html",
    ):
        assert (tmp_path / "two" / name).read_bytes() == (folder / name).read_bytes(), name


@pytest.mark.slow
def test_commands_take_the_run_that_the_hint_names(finished, monkeypatch):
    folder, printed = finished
    monkeypatch.chdir(folder.parent)
    assert f"--formula {folder}" in printed
    shown = CliRunner().invoke(app, ["show"])
    assert shown.exit_code == 0 and shown.stdout.startswith("the built-in formula"), shown.output
    assert "one/formula.json" in CliRunner().invoke(app, ["show", "one"]).stdout
    predicted = CliRunner().invoke(
        app, ["predict", "--cnn", "resnet50", "--gpu", "T4", "--batch", "32", "--json", "--formula", "one"]
    )
    assert json.loads(predicted.stdout)[0]["time_s"] > 0


def interrupted_study(start_process, folder, table, moment):
    """A study that gets Ctrl-C as soon as standard error shows `moment`."""
    command = [sys.executable, "-m", "trainlaw", *STUDY, str(table), "--into", str(folder), "--workers", "2"]
    command += ["--evaluations", "1000000", "--against", "null_compute"]
    process = start_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Cold caches on a busy machine: the first generation compiles for a minute or two.
    guard = threading.Timer(300, start_process.kill_all)
    guard.start()
    try:
        for line in process.stderr:
            if moment in line:
                break
        time.sleep(3)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate()
    finally:
        guard.cancel()
    return process.returncode, output, errors


@pytest.mark.slow
def test_interrupt_leaves_a_valid_smaller_result_that_says_what_is_missing(
    start_process, small_table, tmp_path
):
    code, output, errors = interrupted_study(start_process, tmp_path / "run", small_table, "evaluating")
    assert code == 130, errors
    assert "Traceback" not in errors
    assert "folds are missing" in output
    assert "cut short" in output
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == sorted(RUN_FILES)
    assert load_formula(tmp_path / "run" / "formula.json").provenance["interrupted"]
    assert "interrupted" in (tmp_path / "run" / "report.html").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


class InterruptAfterFirstFold:
    """Stands for a person who presses Ctrl-C when every estimator is done with one fold."""

    def __init__(self):
        self.fits = Counter()

    def __call__(self, progress):
        self.fits[progress.split] += 1
        if self.fits[progress.split] == progress.total // 3:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_finished_folds_survive_an_interrupt(quick_studies, small_table):
    from trainlaw.app.inputs.tables import find_table

    entries = {"seed": 1, "folds": 3, "seeds": 1, "evaluations": 300, "against": "null_compute,roofline"}
    wanted = definition_of(entries, "test")
    outcome = study_table(
        find_table(str(small_table)), wanted, 2, lambda signals, total: None, InterruptAfterFirstFold()
    )
    assert len(outcome.missing) >= 1
    assert 1 <= outcome.result.predictions["gpu_group"].nunique() < 4
    assert outcome.formula.errors["missing"]
    assert outcome.formula.errors["interval"]["factor"] is None


def test_a_worker_that_dies_is_one_line():
    from concurrent.futures import Future
    from concurrent.futures.process import BrokenProcessPool

    from trainlaw.app.studies import study
    from trainlaw.formulas import TrainlawError

    dead = Future()
    dead.set_exception(BrokenProcessPool("killed"))
    with pytest.raises(TrainlawError, match="fewer --workers"):
        study._finish(dead, None, interrupted=False)


def test_ctrl_c_waits_while_results_are_written():
    from trainlaw.app.studies.search import uninterrupted

    with uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
