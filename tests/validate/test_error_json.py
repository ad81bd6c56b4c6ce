"""Errors of a study with several seeds, and its intervals by class of runs and for new generations."""

from dataclasses import replace

import numpy as np
import pytest
from trainlaw.datasets import TARGET, RunTable, feature_specs, find_gpu, load
from trainlaw.formulas import Formula, parse_text
from trainlaw.validate import StudyResult
from trainlaw.validate.error_json import errors_json
from trainlaw.validate.error_table import BY_CNN, BY_GPU, MACRO, errors_frame
from trainlaw.validate.formula_errors import error_lines, estimators, overall_error, summary_interval
from trainlaw.validate.formula_intervals import intervals_of
from trainlaw.validate.result import OURS
from trainlaw.validate.run_classes import run_classes

SEEDS = ("trainlaw", "trainlaw seed 1", "trainlaw seed 2")


def result_of(table, deviations):
    """Held-out predictions with errors of given size, by estimator."""
    labels, seconds = table.labels(), table.seconds
    frame = labels.assign(
        row=np.arange(len(table)),
        split="fold",
        configuration=labels["cnn"],
        measured_s=seconds,
        vendor=[str(table.facts.gpus.find(name).vendor) for name in labels["gpu"]],
        layout=table.frame["layout"].to_numpy(dtype=str),
        stack=table.frame["stack"].to_numpy(dtype=str),
    )
    generator = np.random.default_rng(0)
    for name, deviation in deviations.items():
        frame[name] = seconds * np.exp(generator.normal(0, deviation, len(seconds)))
    return StudyResult(frame, tuple(deviations))


@pytest.fixture(scope="module")
def formula():
    names = ["conv_compute_s", "activation_memory_s"]
    return Formula(parse_text(" + ".join(names)), feature_specs(names), TARGET)


@pytest.fixture(scope="module")
def table():
    return RunTable("part", load("default").frame.iloc[::20])


@pytest.fixture(scope="module")
def seeded(table):
    return result_of(table, {**dict(zip(SEEDS, (0.1, 0.15, 0.3), strict=True)), "roofline": 0.6})


@pytest.fixture(scope="module")
def errors(seeded, table):
    return errors_json(seeded, "5 folds", new_generations=result_of(table, {OURS: 0.8}))


def of_one(result, name):
    """The errors of one estimator, as if it were the only one."""
    others = [other for other in result.estimators if other != name]
    alone = result.predictions.drop(columns=others).rename(columns={name: OURS})
    return errors_frame(StudyResult(alone, (OURS,))).set_index(["level", "name"])["mape_percent"]


def test_errors_are_means_over_seeds_on_every_level(seeded):
    frame = errors_frame(seeded)
    ours = frame[frame["estimator"] == OURS].set_index(["level", "name"])
    expected = np.mean([of_one(seeded, name).loc[ours.index] for name in SEEDS], axis=0)
    assert ours["mape_percent"].to_numpy() == pytest.approx(expected, rel=1e-6)
    assert not frame.duplicated(["level", "name", "estimator"]).any()
    single = frame[frame["estimator"].isin(SEEDS[1:])]
    assert single["level"].tolist() == ["all", "all"]
    assert frame["n_rows"].dtype == int
    assert frame["estimator"].iloc[:4].tolist() == [*SEEDS, "roofline"]


def test_errors_without_further_seeds_are_those_of_the_one(seeded):
    alone = StudyResult(seeded.predictions.drop(columns=list(SEEDS[1:])), (OURS, "roofline"))
    assert "seeds" not in errors_json(alone, "5 folds")
    assert alone.searches == (OURS,)
    assert errors_frame(alone)["estimator"].unique().tolist() == [OURS, "roofline"]


def test_a_formula_carries_the_error_of_each_seed(formula, errors, seeded):
    law = replace(formula, errors=errors)
    assert seeded.searches == SEEDS
    assert estimators(law) == (OURS, "roofline")
    of_seeds = errors["seeds"][MACRO]
    assert len(of_seeds) == 3 and of_seeds == sorted(of_seeds)
    assert np.mean(of_seeds) == pytest.approx(overall_error(law, OURS))
    assert overall_error(law, SEEDS[2]) == pytest.approx(of_seeds[2])
    for level in (BY_GPU, BY_CNN, "precision", "generation", "layout"):
        assert {name for line in error_lines(law, level) for name in line.errors} == {OURS, "roofline"}


def test_intervals_contain_the_mean_over_seeds(formula, errors):
    law = replace(formula, errors=errors)
    for metric in (MACRO, "mape_percent", "within_25_percent", "faster_gpu_percent"):
        low, high = summary_interval(law, OURS, metric)
        assert low <= overall_error(law, OURS, metric) <= high


def test_classes_are_precision_and_stack_or_the_vendor():
    runs = {
        ("fp32", "eager", "NVIDIA"): "fp32",
        ("fp32", "channels_last", "NVIDIA"): "any other",
        ("amp", "eager", "NVIDIA"): "amp",
        ("amp", "channels_last", "NVIDIA"): "amp, channels last",
        ("amp", "fused", "NVIDIA"): "amp, fused",
        ("fp16", "unknown", "NVIDIA"): "16 bits, stack unknown",
        ("amp", "channels_last", "AMD"): "AMD",
        ("fp32", "eager", "Intel"): "any other",
    }
    assert run_classes(*zip(*runs, strict=True)).tolist() == list(runs.values())


def law_with(formula, errors, **provenance):
    return replace(formula, errors=errors, provenance={**formula.provenance, **provenance})


INTERVALS = {
    "interval": {"level": 0.9, "factor": 1.5},
    "interval_by_class": {"level": 0.9, "factors": {"fp32": 1.2, "amp": 1.4, "AMD": 2.0}, "groups": {}},
    "interval_of_new_generation": {"level": 0.9, "factors": {"fp32": 1.6, "amp": None}, "groups": {}},
}


def interval_of_run(law, gpu="A40", precision="fp32", stack="eager"):
    return intervals_of(law).of_run(find_gpu(gpu), precision, stack)


@pytest.mark.parametrize(
    ("gpu", "precision", "stack", "factor"),
    [
        ("T4", "fp32", "eager", 1.2),
        ("T4", "amp", "eager", 1.4),
        ("T4", "amp", "channels_last", 2.0),  # a class without held-out runs gets the widest
        ("A40", "fp32", "eager", 1.6),
        ("A40", "amp", "eager", np.nan),
        ("Radeon RX 7900 XTX", "fp32", "eager", np.nan),
    ],
)
def test_the_interval_of_a_run_is_that_of_its_class_and_generation(formula, gpu, precision, stack, factor):
    law = law_with(formula, INTERVALS, generations=["Turing"], vendors=["NVIDIA"])
    assert interval_of_run(law, gpu, precision, stack) == pytest.approx(factor, nan_ok=True)


def test_formulas_without_classes_or_generations_keep_their_interval(formula):
    overall = {"interval": INTERVALS["interval"]}
    assert interval_of_run(law_with(formula, overall)) == 1.5
    assert np.isnan(interval_of_run(law_with(formula, {})))
    known = {name: INTERVALS[name] for name in ("interval", "interval_by_class")}
    assert interval_of_run(law_with(formula, known)) == 1.2
    assert interval_of_run(law_with(formula, known, generations=[])) == 1.2


def test_a_study_makes_wider_intervals_for_worse_classes_and_new_generations(table):
    result = result_of(table, {OURS: 0.05})
    amp = result.predictions["precision"] == "amp"
    worse = result.predictions.assign(
        **{OURS: result.predictions[OURS].where(~amp, 1.4 * result.predictions[OURS])}
    )
    new = result_of(table, {OURS: 0.5})
    errors = errors_json(StudyResult(worse, (OURS,)), "5 folds", new_generations=new)
    by_class, of_new = (
        errors[name]["factors"] for name in ("interval_by_class", "interval_of_new_generation")
    )
    assert 1.2 * by_class["fp32"] < by_class["amp"] < 1.45
    assert of_new["fp32"] > by_class["fp32"]
    assert errors["interval_by_class"]["groups"]["fp32"] > 5
    assert "interval_of_new_generation" not in errors_json(result, "5 folds")
    assert "interval_by_class" not in errors_json(result, "5 folds", BY_CNN)
