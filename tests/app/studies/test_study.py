"""The main job on a small part of the data: same bytes for any number of workers, honest when interrupted."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner, Result
from trainlaw.app.cli import app
from trainlaw.app.inputs.run_folder import FRONT_FOLDER, RUN_FILES, SLOW_FILES, is_interrupted
from trainlaw.app.inputs.run_tables import find_table
from trainlaw.app.report.run_files import write_run_files
from trainlaw.app.studies import fits, processes
from trainlaw.app.studies.definition import definition_of, study_identity
from trainlaw.app.studies.study import study_table
from trainlaw.app.terminal.study import study_text
from trainlaw.formulas import SECOND, infer_unit, load_formula
from trainlaw.formulas.algebra import simplification

from ...commands import output

STUDY = ["study", "--folds", "3", "--seeds", "1", "--evaluations", "100"]


def run_study(folder: Path, table: Path, *options: str) -> Result:
    command = [*STUDY, str(table), "--into", str(folder), *options]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def asked_once():
    """Let sympy be asked once for each formula: in this file a study is continued to the same formulas."""
    asked, ask = {}, simplification._ask_sympy

    def known(*question):
        key = repr(question)
        if key not in asked:
            asked[key] = ask(*question)
        return asked[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simplification, "_ask_sympy", known)
        yield


@pytest.fixture(scope="module")
def finished(few_networks_in_module, asked_once, small_fronts, small_table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "one"
    return folder, run_study(folder, small_table, "--workers", "2", "--seed", "5")


def test_run_folder_is_complete(finished):
    folder, _ = finished
    assert sorted(path.name for path in folder.iterdir()) == sorted([*RUN_FILES, FRONT_FOLDER])
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["seed"] == 5
    assert provenance["table_sha256"]
    front = {path.relative_to(folder).as_posix() for path in (folder / FRONT_FOLDER).iterdir()}
    assert set(provenance["sha256"]) == set(RUN_FILES) - {"provenance.json"} | front


def test_it_prints_formula_units_and_errors_next_to_the_baselines(finished):
    folder, done = finished
    for text in (
        "time_s [s] =",
        "roofline",
        "sparse non-negative sum of times",
        "null: FLOPs / peak",
        "hand-derived, 9 terms",
        "data sheet",
        "worst architectures",
        "GPU groups",
    ):
        assert text in done.stdout
    with (folder / "front.csv").open() as file:
        sizes = len(list(csv.DictReader(file)))
    assert len(done.stdout.splitlines()) <= 70 + sizes
    assert "Traceback" not in done.stderr


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


def test_errors_csv_agrees_with_the_formula(finished):
    folder, _ = finished
    with (folder / "errors.csv").open() as file:
        rows = list(csv.DictReader(file))
    overall = next(row for row in rows if row["level"] == "all" and row["estimator"] == "trainlaw")
    carried = load_formula(folder / "formula.json").errors["summary"]["trainlaw"]
    assert float(overall["mape_percent"]) == carried["mape_percent"]
    labels = {"source", "precision", "generation", "layout", "stack", "batch"}
    assert {row["level"] for row in rows} == {"all", "gpu_group", "cnn_base", *labels}


def test_commands_take_the_run_that_the_hint_names(finished, monkeypatch):
    folder, printed = finished
    monkeypatch.chdir(folder.parent)
    assert f"--formula {folder}" in printed.output
    assert output("show").startswith("the built-in formula")
    assert "one/formula.json" in output("show one")
    predicted = output("predict --cnn resnet50 --gpu T4 --batch 32 --json --formula one")
    assert json.loads(predicted)[0]["time_s"] > 0


def kept(folder: Path) -> int:
    """The number of finished results in the journal of a study of `folder`/run."""
    return sum(path.read_bytes().count(b"\n") - 1 for path in folder.glob(".run.*.journal"))


# The command `trainlaw`, whose processes all get a signal as soon as one more result is kept.
ENDED = f"""
import os, signal, sys

sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from small_front import use_small_fronts
from trainlaw.app.cli import main
from trainlaw.validate.journal import Journal

if __name__ == "__main__":
    use_small_fronts()
    number, keep = int(sys.argv.pop(1)), Journal.keep

    def keep_and_end(journal, task, result):
        Journal.keep = keep
        journal.keep(task, result)
        os.killpg(0, number)

    Journal.keep = keep_and_end
    main()
"""


def ended_study(start_process, folder, table, number):
    """The study of `finished` with one worker, ended by a signal: its status and what it printed."""
    script = folder.parent / "ended.py"
    script.write_text(ENDED)
    command = [sys.executable, script, str(int(number)), *STUDY, str(table), "--into", str(folder / "run")]
    command += ["--seed", "5", "--workers", "1"]
    process = start_process(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read()
    return process.wait(), output


@pytest.mark.skipif(os.name != "posix", reason="sends signals of POSIX systems")
def test_a_study_that_is_ended_and_killed_goes_on_to_the_same_bytes_with_one_worker(
    finished, start_process, small_table, in_empty_folder
):
    folder = in_empty_folder
    code, output = ended_study(start_process, folder, small_table, signal.SIGTERM)
    assert code == 130, output
    assert "finished results are kept: the same command" in output
    assert "Traceback" not in output
    code, output = ended_study(start_process, folder, small_table, signal.SIGKILL)
    assert code == -signal.SIGKILL, output
    before = kept(folder)
    assert before >= 2
    ended = run_study(folder / "run", small_table, "--seed", "5", "--workers", "1", "--resume")
    assert f"continues with {before} results" in ended.stderr
    for name in set(RUN_FILES) - {"provenance.json"}:
        assert (folder / "run" / name).read_bytes() == (finished[0] / name).read_bytes(), name
    assert [path.name for path in folder.iterdir()] == ["run"]


class InterruptAfterFirstFold:
    """Stands for a person who presses Ctrl-C when every estimator is done with one fold."""

    def __init__(self):
        self.fits = Counter()

    def __call__(self, progress):
        self.fits[progress.split] += 1
        if self.fits[progress.split] == progress.total // 3:
            raise KeyboardInterrupt


def test_finished_folds_survive_an_interrupt(own_rules, small_fronts, small_table, tmp_path):
    entries = {"seed": 1, "folds": 3, "seeds": 1, "evaluations": 100, "against": "null_compute,roofline"}
    wanted = definition_of(entries, "test")
    outcome = study_table(find_table(str(small_table)), wanted, 2, InterruptAfterFirstFold())
    assert len(outcome.missing) >= 1
    assert 1 <= outcome.result.predictions["gpu_group"].nunique() < 4
    assert outcome.formula.errors["missing"]
    assert outcome.formula.errors["interval"]["factor"] is None
    assert outcome.formula.provenance["interrupted"]
    write_run_files(outcome, tmp_path, {})
    # The folder of formulas has those of the search on all rows, which may be done or not.
    assert {path.name for path in tmp_path.iterdir()} - {FRONT_FOLDER} == {*RUN_FILES} - {*SLOW_FILES}
    assert is_interrupted(tmp_path)
    assert "folds are missing" in study_text(outcome, tmp_path, 1.0)


def test_an_interrupted_study_takes_the_fits_to_all_rows_that_are_done(formula):
    done = Future()
    found = {"formula": formula.to_json(), "front": [], "support": []}
    done.set_result(found)
    assert set(fits._finished({"trainlaw": done, "evolution": Future()}, interrupted=True)) == {"trainlaw"}
    with pytest.raises(KeyboardInterrupt):
        fits._finished({"trainlaw": Future(), "evolution": done}, interrupted=True)


def definition_with(**changes):
    return definition_of({"table": "x.csv", **changes}, "test")


def test_a_journal_is_bound_to_definition_rows_files_and_versions(tmp_path, monkeypatch):
    (tmp_path / "gpus.csv").write_text("a")
    table, own = SimpleNamespace(sha256="1"), str(tmp_path / "gpus.csv")
    found = [study_identity(definition_with(gpu_file=own), table)]
    assert study_identity(definition_with(gpu_file=own), table) == found[0]
    found += [study_identity(definition_with(gpu_file=own, seed=1), table)]
    found += [study_identity(definition_with(gpu_file=own), SimpleNamespace(sha256="2"))]
    (tmp_path / "gpus.csv").write_text("b")
    found += [study_identity(definition_with(gpu_file=own), table)]
    monkeypatch.setattr("trainlaw.app.studies.definition.version", lambda name: "99")
    found += [study_identity(definition_with(gpu_file=own), table)]
    assert len(set(found)) == 5


@pytest.fixture
def heeded():
    """Signals that end a program act as usual, also where the tests run under `nohup`."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in processes.ENDING_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.skipif(os.name != "posix", reason="sends signals of POSIX systems")
def test_the_first_signal_interrupts_the_others_are_ignored_and_an_alarm_follows(heeded, monkeypatch):
    monkeypatch.setattr(processes, "_SECONDS_TO_END", 3600.0)
    before = [signal.getsignal(number) for number in processes.ENDING_SIGNALS]
    with processes.interruptible():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGALRM)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    assert [signal.getsignal(number) for number in processes.ENDING_SIGNALS] == before


def test_ctrl_c_waits_while_results_are_written():
    with processes.uninterrupted():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
