"""How a search went: curves over the formulas tried, terms that enter, leave and change, and the drawing."""

from dataclasses import replace

import numpy as np
import pytest
from trainlaw.app.report.evolution import evolution_plot, step_rows
from trainlaw.app.studies.evolution import (
    EVOLUTION,
    Evolution,
    Step,
    evolution_curves,
    evolution_of,
    lanes_of,
    study_evolution,
)
from trainlaw.app.studies.kinds.whole_runs import rows_of_runs
from trainlaw.datasets import TARGET, RunTable, feature_specs, load
from trainlaw.datasets.features.run_features import OF_ANY_RUN
from trainlaw.formulas import Formula, parse_text
from trainlaw.validate import StudyResult

COMPUTE, MEMORY = "conv3x3_compute_s", "conv_output_memory_s"
LATER = f"2 * {COMPUTE} + 50 * {MEMORY}"


@pytest.fixture(scope="module")
def rows():
    table = load("fp32-2026")
    frame = table.frame[table.frame["gpu"].isin(["T4", "K80"])].groupby("gpu").head(20)
    return rows_of_runs(RunTable("few", frame.reset_index(drop=True), table.facts))


def with_history(*texts):
    """A formula of which the history has these texts, each after ten times as many as the one before."""
    history = [[10**place, 1.0 / (1 + place), text] for place, text in enumerate(texts)]
    return Formula(parse_text(LATER), feature_specs(OF_ANY_RUN), TARGET, provenance={"history": history})


def result_of(rows, **histories):
    """A study of two folds, a GPU each."""
    folds = np.where(rows.labels["gpu"] == "T4", "first", "second")
    frame = rows.labels.assign(row=np.arange(len(folds)), split=folds, measured_s=rows.seconds)
    formulas = {(fold, name): found for name, found in histories.items() for fold in ("first", "second")}
    return StudyResult(frame.assign(**dict.fromkeys(histories, rows.seconds)), tuple(histories), (), formulas)


def test_curves_are_errors_of_what_was_best_in_each_fold(rows):
    ours, random = with_history(f"3 * {COMPUTE}", LATER), with_history(f"3 * {COMPUTE}")
    result = result_of(rows, trainlaw=ours, random_search=random, no_search=random)
    curves = evolution_curves(result, rows)
    (first, start), (second, end) = curves["trainlaw"]
    assert (first, second) == (1, 10) and start != end
    assert curves["random_search"] == ((1, start),)
    assert curves["no_search"] == ((1, 0.0),)
    predicted = rows.X[COMPUTE].to_numpy() * 2 + rows.X[MEMORY].to_numpy() * 50
    errors = 100 * np.abs(predicted / rows.seconds - 1)
    groups = rows.labels["gpu_group"].to_numpy()
    assert end == pytest.approx(np.mean([errors[groups == group].mean() for group in set(groups)]), abs=1e-3)


def test_a_search_without_history_has_no_evolution(rows):
    none = replace(with_history(), provenance={})
    assert study_evolution(result_of(rows, trainlaw=none), rows, none, none, 20) is None
    assert evolution_of(none) is None


def test_steps_say_what_entered_left_and_changed_and_come_back_from_the_errors(rows):
    texts = (f"3 * {COMPUTE}", f"2 * {COMPUTE} * wide_sm ^ 0.1 + {MEMORY}", f"{COMPUTE} * wide_sm")
    ours = with_history(*texts)
    found = study_evolution(result_of(rows, trainlaw=ours), rows, ours, ours, 500)
    again = evolution_of(replace(ours, errors={EVOLUTION: found.to_json()}))
    assert again == found
    assert step_rows(found) == [
        ("1", "1 terms to begin with"),
        ("10", f"{COMPUTE} gains wide_sm; {MEMORY} enters"),
        ("100", f"{MEMORY} leaves"),
        ("500", f"{COMPUTE} loses wide_sm; {MEMORY} enters"),
    ]
    compute, memory = lanes_of(found)
    assert compute.spans == ((1, None),) and compute.changes == ((10, ("wide_sm",)), (500, ()))
    assert memory.spans == ((10, 100), (500, None)) and not memory.changes and memory.is_delivered


def test_the_drawing_shows_both_searches_and_what_was_found():
    curves = {
        "trainlaw": ((1, 30.0), (40, 20.0)),
        "random_search": ((1, 30.0), (60, 25.0)),
        "no_search": ((1, 28.0),),
    }
    steps = (Step(1, (("a_s",),)), Step(40, (("b_s", "f"),)), Step(50, (("b_s",), ("c_s",)), (("b_s", "f"),)))
    evolution = Evolution(curves, (*steps, Step(60, (), (("c_s",),))), frozenset({"a_s", "b_s", "c_s"}))
    drawn = evolution_plot(evolution)
    assert drawn.count("<polyline") == 6 and "random search" in drawn
    assert "b_s: from formula 40 on" in drawn and "c_s: from formula 50 to 60" in drawn
    assert "a_s" not in drawn
