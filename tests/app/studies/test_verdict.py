"""The first line of a study's result: nothing learned, a better baseline, calibration instead."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from trainlaw.app.cli import app
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.front import EVOLVED
from trainlaw.app.studies.definition import definition_of
from trainlaw.app.studies.fits import estimators_of
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.material import material_of
from trainlaw.app.studies.skeleton import LawFit
from trainlaw.app.studies.study import study_table
from trainlaw.app.studies.verdict import calibration_advice, formula_verdict, verdict_lines
from trainlaw.app.terminal.study import study_text
from trainlaw.datasets import RunTable, load
from trainlaw.validate import StudyResult
from trainlaw.validate.baselines import LASSO, NO_SEARCH, PRUNED_LAW, RANDOM_SEARCH, STEPWISE
from trainlaw.validate.error_json import errors_json
from trainlaw.validate.result import OURS


@pytest.fixture(scope="module")
def few(small_table):
    table = load("fp32-2026")
    frame = pd.read_csv(small_table, keep_default_na=False, na_values=[""]).groupby("gpu").head(4)
    return RunTable("few.csv", frame.reset_index(drop=True), table.facts)


def first_line(formula, few, is_evolved=True, **predicted):
    names = tuple(predicted)
    labels = few.labels().assign(
        row=np.arange(len(few)), split="fold 1 of 1", configuration="", measured_s=few.seconds
    )
    result = StudyResult(labels.assign(**predicted), names)
    return formula_verdict(replace(formula, errors=errors_json(result, "protocol")), result, is_evolved)


def test_a_search_alone_is_advised_to_calibrate(formula, few):
    nothing = StudyResult(few.labels().iloc[:0].assign(measured_s=[]), ())
    for is_evolved in (True, False):
        lines = verdict_lines(formula, nothing, few, StudyDefinition(), is_evolved=is_evolved)
        assert any("calibrate" in line for line in lines) == is_evolved


def test_a_law_no_better_than_the_median_learned_nothing(formula, few):
    y = few.seconds
    median = np.full(len(y), np.median(y))
    # A constant below the median has a lower mean percentage error, and knows no more.
    (line,) = first_line(formula, few, trainlaw=median / 2, roofline=1.1 * y, constant=median)
    assert line.startswith("nothing was learned: ")
    assert line.endswith("of roofline by 1.10")


def test_a_better_baseline_is_named_with_both_errors(formula, few):
    y = few.seconds
    known = {"trainlaw": 1.2 * y, "roofline": 1.1 * y, "constant": np.full(len(y), np.median(y))}
    expected = "worse than a baseline: its held-out error is 20.0 %, of roofline 10.0 %"
    assert first_line(formula, few, **known) == (expected,)
    assert first_line(formula, few, False, **known) == (expected,)
    assert first_line(formula, few, **known | {"trainlaw": 1.05 * y}) == ()


def test_a_baseline_that_is_better_by_another_mean_is_named(formula, few):
    first = few.frame["gpu"] == few.frame["gpu"].iloc[0]
    few = RunTable("uneven.csv", few.frame[first | ~few.frame["gpu"].duplicated()].reset_index(drop=True))
    y, groups = few.seconds, few.labels()["gpu_group"].to_numpy(dtype=str)
    names, counts = np.unique(groups, return_counts=True)
    largest = groups == names[counts.argmax()]
    # Only the group with the most runs has an error: small over groups, large over runs.
    error = 0.1 * np.sqrt(len(names) / largest.mean())
    known = {"trainlaw": np.where(largest, 1 + error, 1.0) * y, "roofline": 1.1 * y}
    (line,) = first_line(formula, few, False, **known, constant=np.full(len(y), np.median(y)))
    assert line.startswith("a baseline is better by the mean over ")
    assert f"by the mean over runs (roofline 10.0 %, ours {100 * error * largest.mean():.1f} %)" in line


def test_an_evolution_that_adds_nothing_certain_is_said_so(formula, few):
    y = few.seconds
    known = {"trainlaw": 1.05 * y, "constant": np.full(len(y), np.median(y))}
    expected = "fitted rather than found: evolution adds nothing certain to the law, fitted"
    controls = {"no_search": 1.05 * y, "random_search": 1.2 * y}
    assert first_line(formula, few, **known, **controls) == (expected,)
    assert first_line(formula, few, False, **known, **controls) == ()
    assert first_line(formula, few, **known, no_search=1.2 * y, random_search=1.1 * y) == ()


def test_few_runs_are_for_calibration(few):
    advice = calibration_advice(few, StudyDefinition(table="few.csv", gpu_file="my gpus.csv"), 99.0)
    assert "calibrate instead: `trainlaw calibrate few.csv --gpu-file 'my gpus.csv'" in advice
    assert advice.startswith(f"{len(few)} runs are few") and advice.endswith("held out 99.0 %")
    assert ": or calibrate: " in calibration_advice(few, StudyDefinition(), 0.1)
    assert calibration_advice(load("fp32-2026"), StudyDefinition(), 10.0) == ""


def test_at_most_50_runs_on_one_gpu_and_39_on_several_are_few():
    runs = load("fp32-2026")
    largest, other = runs.frame["gpu"].value_counts().index[:2]

    def is_advised(count, others=0):
        frame, gpu = runs.frame, runs.frame["gpu"]
        some = [frame[gpu == largest].head(count - others), frame[gpu == other].head(others)]
        table = RunTable("some.csv", pd.concat(some, ignore_index=True), runs.facts)
        return calibration_advice(table, StudyDefinition(), None) != ""

    assert [is_advised(count) for count in (1, 2, 50, 51)] == [False, True, True, False]
    assert [is_advised(count, others=9) for count in (39, 40)] == [True, False]


def test_a_study_of_one_gpu_names_the_command_and_its_error(few, tmp_path):
    path = tmp_path / "one.csv"
    few.frame[few.frame["gpu"] == "T4"].to_csv(path, index=False)
    done = CliRunner().invoke(app, ["study", str(path)])
    assert done.exit_code == 2
    assert "--split cnn" in done.stderr and "calibrate instead" in done.stderr
    assert "error on runs left out one by one" in done.stderr


@pytest.mark.parametrize(
    ("name", "controls", "law"),
    [
        ("free-runs", {NO_SEARCH, RANDOM_SEARCH}, NO_SEARCH),
        ("runs", {EVOLVED, RANDOM_SEARCH, STEPWISE, PRUNED_LAW, LASSO}, OURS),
        ("layers", {EVOLVED, RANDOM_SEARCH, STEPWISE, PRUNED_LAW}, OURS),
    ],
)
def test_a_search_has_its_controls_and_a_law_is_only_fitted(name, controls, law, few):
    definition = definition_of({"of": name, "split": "gpu", "against": ()}, "test")
    estimators = estimators_of(material_of(few, definition, STUDY_KINDS[name]))
    assert set(estimators) == {OURS} | controls
    assert isinstance(estimators[law](), LawFit)


@pytest.mark.parametrize("kind", STUDY_KINDS.values(), ids=list(STUDY_KINDS))
def test_every_kind_is_compared_with_a_constant(kind):
    assert "constant" in definition_of({"of": kind.name}, "test").against


def test_a_study_of_a_constant_ends_well_and_says_so(few, tmp_path):
    none = np.full(len(few), np.nan)
    flat = few.frame.assign(time_s=0.1, time_min_s=none, time_max_s=none)
    options = {"of": "free-runs", "folds": 2, "evaluations": 100, "against": "null_compute,constant"}
    table = RunTable("flat.csv", flat, few.facts)
    outcome = study_table(table, definition_of(options, "test"), 1)
    assert study_text(outcome, tmp_path, 1.0).startswith("nothing was learned: ")
