"""Planted mistakes of units, batches and numbers: none is imported without a word; what is right is."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.app.models.doubts import remarks, run_doubts
from trainlaw.app.models.law_times import law_seconds
from trainlaw.app.models.plausibility import checked_times
from trainlaw.datasets import RunTable, load
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.spreadsheets.answers import SheetAnswers
from trainlaw.datasets.spreadsheets.conversion import read_spreadsheet

ONE = [
    (gpu, cnn, batch, 1)
    for gpu in ("T4", "V100-SXM2-16GB", "RTX 3090")
    for cnn in ("resnet50", "vgg16", "mobilenet_v2")
    for batch in (16, 64)
]
SEVERAL = [("V100-SXM2-16GB", cnn, 32, n) for cnn in ("resnet50", "vgg16") for n in (1, 2, 4, 8)]


class Runs:
    """Runs with times by the formula and a deviation of 30 %, in every unit."""

    def __init__(self, configurations, path):
        self.frame = pd.DataFrame(configurations, columns=["gpu", "cnn", "batch", "n_gpus"])
        path.write_text(self.frame.assign(precision="amp", time_s=1.0).to_csv(index=False))
        made = read_spreadsheet(path, SheetAnswers(batch_is="per-gpu"))
        self.law_s = law_seconds(made.table)
        t = self.law_s * np.exp(np.random.default_rng(1).normal(0.0, 0.3, len(self.law_s)))
        images = self.frame["batch"] * self.frame["n_gpus"]
        self.units = {
            "s": t,
            "ms": t * 1e3,
            "us": t * 1e6,
            "min": t / 60,
            "h": t / 3600,
            "it/s": 1 / t,
            "100 it": t * 100,
            "images/s": images / t,
            "images/s/gpu": self.frame["batch"] / t,
            "images/min": 60 * images / t,
            "images/h": 3600 * images / t,
            "kimages/s": images / t / 1e3,
            "ms/image": t * 1e3 / images,
            "s/image": t / images,
        }


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {"one": Runs(ONE, folder / "one.csv"), "several": Runs(SEVERAL, folder / "several.csv")}


def imported(path, runs, heading, values, batch="batch", batches=None, law=True, **answers):
    columns = {
        "gpu": runs.frame["gpu"],
        "model": runs.frame["cnn"],
        "n_gpus": runs.frame["n_gpus"],
        "dtype": "amp",
    }
    frame = pd.DataFrame(
        {**columns, batch: runs.frame["batch"] if batches is None else batches, heading: values}
    )
    path.write_text(frame.to_csv(index=False))
    said = SheetAnswers(**{"batch_is": "per-gpu", **answers})
    return checked_times(read_spreadsheet(path, said), said, runs.law_s if law else None)


def flags(made):
    return [option for issue in made.issues for option in issue.options]


# Heading, unit of the numbers, and the unit that must be named.
WRONG_UNITS = [
    ("Time (ms)", "s", "s"),
    ("Time (ms)", "us", "us"),
    ("Time (ms)", "it/s", "it/s"),
    ("Time (ms)", "images/s", "images/s"),
    ("Time (ms)", "ms/image", "ms/image"),
    ("Time (s)", "ms", "ms"),
    ("Time (s)", "us", "us"),
    ("Time (s)", "it/s", "it/s"),
    ("Time (s)", "images/s", "images/s"),
    ("Time (s)", "s/image", "s/image"),
    ("Time (s)", "ms/image", "ms/image"),
    ("Time (us)", "ms", "ms"),
    ("Time (us)", "s", "s"),
    ("Time (min)", "s", "s"),
    ("time_s", "ms", "ms"),
    ("time_s", "it/s", "it/s"),
    ("step_ms", "s", "s"),
    ("it/s", "s", "s"),
    ("it/s", "images/s", "images/s"),
    ("it/s", "ms", "ms"),
    ("Images/s", "it/s", "it/s"),
    ("Images/s", "ms", "ms"),
    ("Images/s", "s", "s"),
    ("Images/s", "ms/image", "ms/image"),
    ("time", "ms", "ms"),
    ("time", "s", "s"),
    ("latency", "us", "us"),
    ("throughput", "images/s", "images/s"),
    ("speed", "it/s", "it/s"),
    ("step time", "ms/image", "ms/image"),
]


@pytest.mark.parametrize(("heading", "unit", "named"), WRONG_UNITS, ids=lambda text: text.replace("/", "-"))
def test_a_unit_that_is_wrong_or_not_stated_is_named(tmp_path, runs, heading, unit, named):
    made = imported(tmp_path / "runs.csv", runs["one"], heading, runs["one"].units[unit])
    options = flags(made)
    # Where the numbers are not far off, the formula only refuses.
    assert made.issues and (not options or options[0] == ("--unit", named))
    said = imported(tmp_path / "runs.csv", runs["one"], heading, runs["one"].units[unit], unit=named)
    assert said.issues == ()
    np.testing.assert_allclose(said.seconds(), runs["one"].units["s"], rtol=1e-12)


# Heading and unit of the measure, heading of the batch and what it holds, options.
WRONG_SCOPES = [
    ("total images/s", "images/s/gpu", "batch", "own", {}),
    ("images/s/GPU", "images/s", "batch", "own", {}),
    ("images/s", "images/s", "batch", "own", {}),
    ("time (s)", "s", "batch_per_gpu", "all", {}),
    ("time (s)", "s", "global batch", "own", {}),
    ("time (s)", "s", "batch", "all", {"batch_is": "per-gpu"}),
    ("time (s)", "s", "batch", "own", {"batch_is": "global"}),
    ("time (s)", "s", "batch", "own", {"batch_is": ""}),
]


@pytest.mark.parametrize(("heading", "unit", "batch", "holds", "said"), WRONG_SCOPES)
def test_what_is_of_one_gpu_is_not_taken_for_all(tmp_path, runs, heading, unit, batch, holds, said):
    own = runs["several"]
    batches = own.frame["batch"] * (own.frame["n_gpus"] if holds == "all" else 1)
    made = imported(tmp_path / "runs.csv", own, heading, own.units[unit], batch, batches, law=False, **said)
    assert made.issues


def test_single_runs_in_another_unit_are_listed(tmp_path, runs):
    own = runs["one"]
    for wrong in ("s", "us"):
        values = own.units["ms"].copy()
        values[4], values[9] = own.units[wrong][4], own.units[wrong][9]
        (issue,) = imported(tmp_path / "runs.csv", own, "Time (ms)", values).issues
        assert issue.rows == (6, 11)
        assert issue.options == (("--skip-rows", "6,11"), ("--trust",))
        kept = imported(tmp_path / "runs.csv", own, "Time (ms)", values, law=False, skipped_rows=("6", "11"))
        assert kept.issues == () and len(kept.rows) == len(values) - 2
    half = np.where(np.arange(len(own.law_s)) % 2, own.units["ms"], own.units["s"])
    assert imported(tmp_path / "runs.csv", own, "Time (ms)", half).issues


def test_thousands_with_a_point_are_not_small_numbers(tmp_path, runs):
    values = [f"{value:,.0f}".replace(",", ".") for value in 10 * runs["one"].units["images/s"]]
    assert imported(tmp_path / "runs.csv", runs["one"], "Images/s", values).issues


@pytest.mark.parametrize("heading", ["inference time (ms)", "forward (ms)", "Eval [ms]"])
def test_other_times_are_no_iteration_times(tmp_path, runs, heading):
    made = imported(tmp_path / "runs.csv", runs["one"], heading, runs["one"].units["s"])
    assert any("no column is a time" in issue.text for issue in made.issues)


def test_a_factor_that_no_unit_explains_is_a_fault_unless_trusted(tmp_path, runs):
    values = runs["one"].units["100 it"]
    (issue,) = imported(tmp_path / "runs.csv", runs["one"], "Time (s)", values).issues
    assert "no usual unit explains it" in issue.text and issue.options == ()
    assert imported(tmp_path / "runs.csv", runs["one"], "Time (s)", values, trust=True).issues == ()


def test_the_unit_in_a_cell_is_preferred_to_that_of_its_header_and_of_the_user(tmp_path, runs):
    values = [f"{value:.4f}" for value in runs["one"].units["ms"]]
    values[3] = f"{runs['one'].units['s'][3]:.7f} s"
    for said in ({}, {"unit": "ms"}):
        made = imported(tmp_path / "runs.csv", runs["one"], "Time (ms)", values, **said)
        assert made.issues == ()
        np.testing.assert_allclose(made.seconds(), runs["one"].units["s"], rtol=1e-3)


def test_a_time_of_a_hundred_iterations_is_asked_about(tmp_path, runs):
    heading, values = "time for 100 it (s)", runs["one"].units["100 it"]
    made = imported(tmp_path / "runs.csv", runs["one"], heading, values)
    assert ("--column", f"time_s={heading}") in flags(made)
    # Who names it as the time of one iteration is told that it is not.
    named = imported(tmp_path / "runs.csv", runs["one"], heading, values, columns={"time_s": heading})
    assert any("no usual unit explains it" in issue.text for issue in named.issues)


@pytest.mark.parametrize(("heading", "unit"), [("samples/s", "kimages/s"), ("kimages/s", "images/s")])
def test_thousands_of_images_are_asked_about(tmp_path, runs, heading, unit):
    for values in (runs["one"].units[unit], runs["one"].units["kimages/s"]):
        assert imported(tmp_path / "runs.csv", runs["one"], heading, values).issues


def test_few_tables_of_measured_runs_are_doubted(tmp_path):
    """At most one table of a source, GPU and precision in fifteen is asked about, some with reason."""
    runs = load("default")
    parts = [part for _, part in runs.frame.groupby(["source", "gpu", "precision"])]
    asked = sum(bool(run_doubts(RunTable("x", part.reset_index(drop=True), runs.facts))) for part in parts)
    assert len(parts) == 164 and asked <= len(parts) / 15
    parts[0].to_csv(tmp_path / "part.csv", index=False)
    said = SheetAnswers()
    assert checked_times(read_spreadsheet(tmp_path / "part.csv", said), said).issues == ()


@pytest.mark.parametrize(
    ("column", "one", "other"), [("cnn", "resnet50", "vgg16"), ("gpu", "T4", "RTX 3090")]
)
def test_names_whose_times_are_exchanged_are_remarked_on(column, one, other):
    rows = [
        (gpu, cnn, 64)
        for gpu in ("T4", "V100-SXM2-16GB", "RTX 3090")
        for cnn in ("resnet50", "vgg16", "vgg11")
    ]
    frame = pd.DataFrame(rows, columns=["gpu", "cnn", "batch_per_gpu"])
    frame = frame.assign(precision="amp", time_s=1.0)
    frame["time_s"] = law_seconds(runs_from_frame(frame, "runs"))
    assert remarks(runs_from_frame(frame, "runs")) == ()
    exchanged = frame.assign(**{column: frame[column].replace({one: other, other: one})})
    text = remarks(runs_from_frame(exchanged, "runs"))[-1]
    assert "exchanged" in text and one in text and other in text


def test_precisions_whose_times_are_exchanged_are_remarked_on():
    rows = [("T4", cnn, 64, name, 1.0) for cnn in ("resnet50", "vgg16") for name in ("fp32", "amp")]
    frame = pd.DataFrame(rows, columns=["gpu", "cnn", "batch_per_gpu", "precision", "time_s"])
    frame["time_s"] = law_seconds(runs_from_frame(frame, "runs"))
    exchanged = frame.assign(precision=frame["precision"].replace({"fp32": "amp", "amp": "fp32"}))
    assert remarks(runs_from_frame(frame, "runs")) == ()
    assert "exchanged" in remarks(runs_from_frame(exchanged, "runs"))[-1]


def test_few_rows_and_batches_that_are_exchanged_are_doubted():
    frame = pd.DataFrame(
        [("T4", "resnet50", batch, "amp", 1.0) for batch in (32, 64)],
        columns=["gpu", "cnn", "batch_per_gpu", "precision", "time_s"],
    )
    frame["time_s"] = law_seconds(runs_from_frame(frame, "runs"))
    pair = pd.concat([frame[:1], frame[:1].assign(cnn="vgg16")], ignore_index=True)
    pair["time_s"] = law_seconds(runs_from_frame(pair, "runs"))
    for own, what in ((frame, "batch"), (pair, "vgg16")):
        assert run_doubts(runs_from_frame(own, "runs")) == () == remarks(runs_from_frame(own, "runs"))
        exchanged = runs_from_frame(own.assign(time_s=own["time_s"].to_numpy()[::-1]), "runs")
        texts = [*(doubt.text for doubt in run_doubts(exchanged)), *remarks(exchanged)]
        assert any(what in text or "exchanged" in text for text in texts)


@pytest.mark.parametrize("factor", [1 / 1.9, 1 / 1.35, 1.45, 1.9])
def test_times_off_as_a_whole_are_remarked_on_with_the_usual_causes(tmp_path, runs, factor):
    own = runs["one"]
    made = imported(tmp_path / "runs.csv", own, "Time (s)", factor * own.law_s)
    assert made.issues == () and any("accumulated gradients" in note for note in made.notes)
    assert not any("accumulated" in note for note in imported(tmp_path / "r.csv", own, "s", own.law_s).notes)


def test_times_in_proportion_to_the_batch_are_of_one_throughput():
    rows = [("V100-SXM2-16GB", "resnet50", batch, "fp32", 1.0) for batch in (8, 32, 128)]
    frame = pd.DataFrame(rows, columns=["gpu", "cnn", "batch_per_gpu", "precision", "time_s"])
    law_s = law_seconds(runs_from_frame(frame, "runs"))
    assert run_doubts(runs_from_frame(frame.assign(time_s=law_s), "runs")) == ()
    derived = frame.assign(time_s=frame["batch_per_gpu"] * law_s[0] / 8)
    (doubt,) = run_doubts(runs_from_frame(derived, "runs"))
    assert doubt.name == "runs" and doubt.places == (1, 2)


STATISTICS = {
    # Headings over the mean, 0.9 and 1.1 times the mean, and that which is offered, "" where none is doubted.
    ("mean (ms)", "min (ms)", "max (ms)"): "",
    ("min (ms)", "mean (ms)", "max (ms)"): "min (ms)",
    ("max (ms)", "min (ms)", "mean (ms)"): "max (ms)",
    ("upper bound (ms)", "lower bound (ms)", "Time (ms)"): "upper bound (ms)",
    ("kleinste (ms)", "Mittelwert (ms)", "größte (ms)"): "kleinste (ms)",
    ("mean img/s", "worst img/s", "best img/s"): "",
    ("best img/s", "worst img/s", "mean img/s"): "best img/s",
}


@pytest.mark.parametrize("headings", STATISTICS, ids=" ".join)
def test_the_least_and_greatest_of_several_numbers_are_not_taken_for_their_mean(tmp_path, runs, headings):
    own = runs["one"]
    mean = own.units["images/s" if "img/s" in headings[0] else "ms"]
    others = {name: mean * factor for name, factor in zip(headings, (1.0, 0.9, 1.1), strict=True)}
    frame = own.frame.rename(columns={"cnn": "model"}).drop(columns="n_gpus")
    frame.assign(dtype="amp", **others).to_csv(tmp_path / "runs.csv", index=False)
    said = SheetAnswers()
    made = checked_times(read_spreadsheet(tmp_path / "runs.csv", said), said, own.law_s)
    offered = [option for issue in made.issues for option in issue.options]
    expected = STATISTICS[headings]
    assert bool(offered) == bool(expected)
    assert not expected or ("--column", f"time_s={expected}") in offered
