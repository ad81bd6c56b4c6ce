"""Fails if a calibrated formula promises more than its runs tell, or hides that they are doubtful."""

import json
from dataclasses import replace
from math import exp, hypot, log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import trainlaw
from trainlaw.app.inputs.run_tables import runs_of
from trainlaw.app.models.calibration import CALIBRATED, calibrated_law
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.terminal.calibration import calibration_text
from trainlaw.app.terminal.predictions import formula_line
from trainlaw.app.text.tables import terminal_width
from trainlaw.datasets import RunTable, load
from trainlaw.formulas import Formula, InputError, load_formula
from trainlaw.validate.formula_intervals import interval_of
from trainlaw.validate.time_factors import calibrated_times, shipped_covariances

from ...commands import check_width, invoke


@pytest.fixture(scope="module")
def runs():
    return load("fp32-2026", RunTable)


def some(runs, gpu, count, slower=1.0, law=None):
    """Return runs of one GPU; with a formula, as if it took `slower` times as long as the formula says."""
    frame = runs.frame[runs.frame["gpu"] == gpu].iloc[:count].reset_index(drop=True)
    table = RunTable("some", frame, runs.facts)
    if law is None:
        return table
    times = slower * formula_rows(law, table).predict(law)
    return RunTable("some", frame.assign(time_s=times), runs.facts)


def test_the_shipped_covariances_are_of_the_times_of_the_law(law):
    found = shipped_covariances()
    assert [*found.index] == [*found.columns] == [*calibrated_times(law)]
    assert np.linalg.eigvalsh(found.to_numpy()).min() > 0


def test_a_slow_card_is_predicted_better_after_a_few_runs(law, runs):
    slow = some(runs, "T4", 8, 1.2, law)
    found = calibrated_law(law, slow)
    assert found.left_out_percent < found.before_percent / 2
    assert interval_of(found.formula) < interval_of(law)
    assert not found.warnings
    text = calibration_text(found, law, "the built-in formula")
    assert "8 runs on T4" in text
    assert max(map(len, text.splitlines())) <= terminal_width()


@pytest.mark.parametrize("factor", [0.55, 0.75, 1.45, 1.6, 1.9])
def test_times_off_as_a_whole_narrow_nothing_and_are_said_by_every_answer(law, runs, factor):
    found = calibrated_law(law, some(runs, "T4", 8, factor, law))
    (warning,) = found.warnings
    assert "accumulated gradients" in warning
    assert interval_of(found.formula) >= interval_of(law) * (1 - 1e-6)
    again = Formula.from_json(found.formula.to_json())
    (answer,) = predict_runs(again, some(runs, "T4", 1))
    assert any(warning in text for text in answer.warnings)


def test_runs_of_a_gpu_in_a_file_may_be_slower(law, runs):
    catalog = runs.facts.gpus.with_gpus([replace(runs.facts.gpus.find("T4"), gpu="T4 of mine", aliases=())])
    frame = some(runs, "T4", 8, 1.9, law).frame.assign(gpu="T4 of mine")
    found = calibrated_law(law, RunTable("mine", frame, replace(runs.facts, gpus=catalog)))
    assert not found.warnings
    # All of them are beyond the interval.
    assert interval_of(found.formula) >= interval_of(law) * (1 - 1e-6)


def test_a_calibrated_answer_says_its_error(law, runs):
    assert "; calibrated: " in formula_line(calibrated_law(law, some(runs, "T4", 3)).formula, "mine")
    assert "calibrated by 1 run" in formula_line(calibrated_law(law, some(runs, "T4", 1)).formula, "mine")
    assert "error on held-out GPUs" in formula_line(law, "the built-in formula")


def test_one_run_tells_no_error_after(law, runs):
    found = calibrated_law(law, some(runs, "T4", 1))
    assert "not known" in calibration_text(found, law, "mine")


def test_another_gpu_and_another_precision_are_warned_of(law, runs):
    found = calibrated_law(law, some(runs, "T4", 3)).formula
    elsewhere = some(runs, "V100-SXM2-16GB", 1)
    in_fp16 = RunTable("x", elsewhere.frame.assign(gpu="T4", precision="fp16"), runs.facts)
    (other,), (fp16,) = predict_runs(found, elsewhere), predict_runs(found, in_fp16)
    assert any("calibrated to T4" in text for text in other.warnings)
    assert any("in fp32 only" in text for text in fp16.warnings)


def test_mixed_cards_and_contradicting_runs_are_said(law, runs):
    mixed = RunTable("m", pd.concat([some(runs, gpu, 2).frame for gpu in ("T4", "M60")]), runs.facts)
    assert "2 kinds of GPUs" in calibrated_law(law, mixed).warnings[0]
    same = some(runs, "T4", 2, 1.0, law)
    twice = same.frame.iloc[[0, 0, 1]].reset_index(drop=True)
    twice.loc[0, "time_s"] *= 3
    (warning,) = calibrated_law(law, RunTable("t", twice, runs.facts)).warnings
    assert "the slowest 3 times as long as the fastest" in warning


def test_runs_far_apart_contradict_each_other_and_widen_the_interval(law, runs):
    table = some(runs, "T4", 8, 1.0, law)
    apart = table.frame["time_s"] * [0.2, 5, 0.2, 5, 0.2, 5, 0.2, 5]
    found = calibrated_law(law, RunTable("a", table.frame.assign(time_s=apart), runs.facts))
    assert any("contradict" in text for text in found.warnings)
    assert interval_of(found.formula) > interval_of(law)


def test_many_runs_count_by_architecture_and_architectures_are_left_out(law, runs):
    table = runs_of(runs, "V100-SXM2-16GB", "fp32")
    slow = RunTable(
        "slow", table.frame.assign(time_s=1.6 * formula_rows(law, table).predict(law)), runs.facts
    )
    found = calibrated_law(law, slow)
    bases = slow.labels()["cnn_base"]
    assert found.n_cnns == bases.nunique()
    assert found.n_runs == bases.value_counts().clip(upper=10).sum() < len(slow)
    assert found.left_out_percent < found.before_percent / 4
    assert f"each of {found.n_cnns} architectures predicted by the others" in calibration_text(
        found, law, "x"
    )


def test_runs_of_a_gpu_are_those_of_its_chip(runs):
    assert set(runs_of(runs, "Tesla T4").frame["gpu"]) == {"T4"}
    assert runs_of(runs, "V100-SXM2-16GB").frame["gpu"].nunique() > 1
    with pytest.raises(InputError, match="expected runs in amp, got runs in fp32 only"):
        runs_of(runs, "T4", "amp")
    with pytest.raises(InputError, match="expected runs in channels_last"):
        runs_of(runs, layout="channels_last")
    with pytest.raises(InputError, match="GPUs of its chip, got none"):
        runs_of(runs, "H100-SXM5-80GB")


def test_no_run_several_gpus_and_calibrated_laws_are_refused(law, runs):
    with pytest.raises(InputError, match="at least one run"):
        calibrated_law(law, some(runs, "T4", 0))
    several = some(runs, "T4", 2)
    with pytest.raises(InputError, match="got 2 on several GPUs"):
        calibrated_law(law, RunTable("s", several.frame.assign(n_gpus=2), runs.facts))
    mixed = RunTable("s", several.frame.assign(n_gpus=[1, 2]), runs.facts)
    found = calibrated_law(law, mixed)
    assert found.n_runs == 1 and "do not calibrate: 1 left out" in found.warnings[0]
    with pytest.raises(InputError, match="calibrated already"):
        calibrated_law(replace(law, provenance={CALIBRATED: {}}), several)


@pytest.mark.usefixtures("few_networks")
def test_python_and_the_command_give_the_same_law(law, runs, in_empty_folder):
    few = some(runs, "T4", 4)
    few.frame.to_csv("runs.csv", index=False)
    said = invoke("calibrate runs.csv --formula built-in --to mine", columns=80)
    check_width(said.stdout, 80)
    assert "mean error after" in said.output
    saved = load_formula(Path("mine") / "formula.json")
    assert saved.expression == trainlaw.calibrate("built-in", "runs.csv").expression
    names = {path.name for path in Path("mine").iterdir()}
    assert names == {"formula.json", "formula.xlsx", "page.html", "calibration.csv", "provenance.json"}
    assert "calibrated to T4" in invoke("show mine").output
    account = json.loads(invoke("calibrate runs.csv --formula built-in --to again --json").stdout)
    assert account["n_runs"] == 4 and account["gpus"] == ["T4"] and account["folder"] == "again"
    assert f"{account['left_out_percent']:.1f} %, each run" in " ".join(said.stdout.split())
    assert account["factors_of_times"] and account["interval_factor_after"] > 1


def test_runs_of_several_stacks_have_a_factor_each(law):
    """The measured times of one stack are a fifth above what the formula says of that stack."""
    frame = load("default", RunTable).frame
    same = (frame["gpu"] == "RTX 3090") & (frame["precision"] == "amp")
    table = RunTable("some", frame[same].groupby("stack").head(20).reset_index(drop=True), law_facts())
    assert table.frame["stack"].nunique() >= 2
    times = formula_rows(law, table).predict(law)
    of_stack = (table.frame["stack"] == "channels_last").to_numpy()
    slower = RunTable("some", table.frame.assign(time_s=times * (1 + 0.2 * of_stack)), table.facts)
    found = calibrated_law(law, slower)
    assert 1.05 < found.factors.by_stack["runs_channels_last"] < 1.25
    assert not any("--layout" in text for text in found.warnings)
    ratios = formula_rows(found.formula, slower).predict(found.formula) / slower.seconds
    assert ratios[of_stack].mean() == pytest.approx(1, abs=0.05)
    assert ratios[~of_stack].mean() == pytest.approx(1, abs=0.05)


def test_runs_of_several_hosts_calibrate_by_their_stated_launches(law):
    """The same small batches on a fast and on a slow host, as the formula predicts them there."""
    frame = load("default", RunTable).frame
    small = frame[(frame["gpu"] == "A100-SXM4-40GB") & (frame["batch_per_gpu"] <= 12)].head(6)
    hosts = pd.concat([small.assign(host_launch_s=launch) for launch in (60e-6, 240e-6)], ignore_index=True)
    told = RunTable("told", hosts, law_facts())
    told = RunTable("told", hosts.assign(time_s=formula_rows(law, told).predict(law)), told.facts)
    found = calibrated_law(law, told)
    assert found.factors.by_time["host_s"] == 1.0 and not found.warnings
    untold = RunTable("untold", told.frame.assign(host_launch_s=float("nan")), told.facts)
    said = "on A100-SXM4-40GB, the slowest"
    assert any(said in text for text in calibrated_law(law, untold).warnings)


def law_facts():
    return load("default", RunTable).facts


def test_the_stated_time_on_one_gpu_of_runs_on_several_calibrates(law):
    table = load("multi", RunTable)
    first = table.frame[table.frame["single_gpu_time_s"].notna() & (table.frame["n_gpus"] > 1)]
    same = first[(first["gpu"] == first["gpu"].iloc[0]) & (first["precision"] == first["precision"].iloc[0])]
    several = RunTable("some", same.head(12).reset_index(drop=True), table.facts)
    found = calibrated_law(law, several)
    assert (
        found.n_runs == several.frame.drop_duplicates(["cnn", "batch_per_gpu", "single_gpu_time_s"]).shape[0]
    )
    assert any("stated time on one GPU" in text for text in found.warnings)
    # Not the times on several GPUs, which are longer.
    alone = several.frame.drop_duplicates(["cnn", "batch_per_gpu", "single_gpu_time_s"])
    one = alone.assign(
        n_gpus=1,
        n_nodes=1,
        link="none",
        network="none",
        algorithm="none",
        time_s=alone["single_gpu_time_s"],
        single_gpu_time_s=float("nan"),
    )
    expected = calibrated_law(law, RunTable("one", one.reset_index(drop=True), table.facts))
    assert found.formula.expression == expected.formula.expression


def test_a_calibrated_interval_keeps_what_architectures_add(law, runs):
    """One run narrows nothing: the interval is as wide as that of an architecture that was never held out."""
    table = some(runs, "T4", 1)
    found = calibrated_law(law, table).formula
    (before,), (after,) = (predict_runs(each, table) for each in (law, found))
    known = law.errors["interval_by_class"]["factors"]["fp32"]
    expected = exp(hypot(log(known), 1.3 * log(1.22)))
    assert after.high_s / after.time_s >= expected * 0.999
    assert after.high_s / after.time_s > known
    assert before.interval is not None
