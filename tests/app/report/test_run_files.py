"""The report: one file that refers to no other, every run drawn, hostile texts inert."""

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.term_descriptions import described_terms
from trainlaw.app.models.terms import mean_shares
from trainlaw.app.page.html import page_html
from trainlaw.app.report.errors import _interval_of
from trainlaw.app.report.html import _pieces, report_html
from trainlaw.app.report.plots import error_dots
from trainlaw.app.report.run_files import _seen_from
from trainlaw.app.studies.result import StudyOutcome, TermShare
from trainlaw.app.studies.verdict import lead_sentence
from trainlaw.app.terminal.study import study_text
from trainlaw.datasets import load
from trainlaw.formulas import ParetoFront, ScoredFormula, parse_text
from trainlaw.validate import StudyResult
from trainlaw.validate.error_json import errors_json
from trainlaw.validate.error_table import BY_GPU, errors_frame
from trainlaw.validate.formula_errors import ErrorLine, carried_errors
from trainlaw.validate.metrics import absolute_percentage_errors


def made_up_result(names=("trainlaw", "null_compute", "roofline")):
    table = load("fp32-2026")
    labels, seconds = table.labels(), table.seconds
    generator = np.random.default_rng(0)
    frame = labels.assign(
        row=np.arange(len(table)), split="fold 1 of 1", configuration=labels["cnn"], measured_s=seconds
    )
    for number, name in enumerate(names):
        frame[name] = seconds * np.exp(generator.normal(0, 0.15 * (number + 1), len(seconds)))
    return StudyResult(frame, names)


def test_relative_paths_of_a_definition_are_seen_from_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("gpus.csv", "first.onnx", "second.onnx"):
        (tmp_path / name).touch()
    whole = str(tmp_path / "first.onnx")
    definition = StudyDefinition(gpu_file="gpus.csv", cnn_file=("second.onnx", whole))
    seen = _seen_from(tmp_path / "runs" / "first", definition)
    assert (seen.table, seen.gpu_file) == (definition.table, "../../gpus.csv")
    assert seen.cnn_file == ("../../second.onnx", whole)


def test_a_long_product_is_in_pieces_between_which_its_line_may_break():
    names = {name: f"<mi>{name}</mi>" for name in "abcde"}
    pieces = _pieces(parse_text("(a + 2 * b) * exp(c) / (d * e)"), names)
    shown = [html.unescape(re.sub("<[^>]*>", "", piece)) for piece in pieces]
    assert shown == ["(a", "+2·b)", "·exp(c)", "/(d·e)"]


@pytest.fixture(scope="module")
def outcome(formula):
    result = made_up_result()
    carried = replace(formula, errors=errors_json(result, "5 folds over GPU groups"))
    simple = replace(formula, expression=parse_text("20 * conv_output_memory_s"))
    front = ParetoFront((ScoredFormula(simple, 0.4, 3), ScoredFormula(formula, 0.1, 40)))
    columns = load("fp32-2026").features([spec.name for spec in formula.used_features])
    known = {name: columns[name].to_numpy() for name in columns}
    shares = mean_shares(formula, known)
    terms = zip(described_terms(carried), shares, strict=True)
    provenance = {
        "table": "default",
        "seed": 0,
        "trainlaw_version": "0.1.0",
        "settings": {"population": [1, 2]},
    }
    return StudyOutcome(
        carried,
        front,
        result,
        errors_frame(result),
        {"fold 1 of 1": ("T4",)},
        tuple(TermShare(term.name, term.sentence, share) for term, share in terms),
        known,
        provenance=provenance,
    )


def is_alone(seen, text):
    assert seen.open == []
    assert not {"link", "img", "iframe", "object", "base"} & set(seen.tags)
    assert not [
        attribute
        for attribute in seen.attributes
        if attribute[1] in ("src", "onclick", "onload") or (attribute[1] == "href" and attribute[2][0] != "#")
    ]
    assert "http://" not in text
    assert "https://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text
    return seen


def test_report_needs_nothing_else_and_draws_everything(outcome, parsed_html):
    text = report_html(outcome)
    seen = is_alone(parsed_html(text), text)
    assert "script" not in seen.tags
    assert seen.tags.count("svg") == 3 + len(outcome.formula.used_features)
    assert len(text) < 1_500_000
    for name in ("densenet121", "GP102-30", "P40", "roofline", "null_compute"):
        assert name in text
    assert "nan" not in re.sub(r"<[^>]+>", " ", text).lower().split()


def test_every_run_is_drawn(outcome):
    first, *others = report_html(outcome).split("<svg ")[1:]
    assert sum(path.count("h0") for path in re.findall(r'<path d="([^"]*)"', first)) == len(load("fp32-2026"))
    # Residuals: runs at the same place are one dot.
    residuals = [part for part in others if 'label="Predicted over measured' in part]
    assert len(residuals) == len(outcome.formula.used_features)
    assert all(part.count("h0") > 30 for part in residuals)


def test_the_lead_is_put_to_the_test_of_each_group(formula):
    def carried(*ours):
        lines = [
            {"name": f"group {place}", "rows": 9, "errors": {"trainlaw": error, "roofline": 20.0}}
            for place, error in enumerate(ours)
        ]
        macro = {"macro_gpu_group_mape_percent": sum(ours) / len(ours)}
        summary = {"trainlaw": macro, "roofline": {"macro_gpu_group_mape_percent": 20.0}}
        errors = {"estimators": ["trainlaw", "roofline"], "summary": summary, "gpu_group": lines}
        return lead_sentence(carried_errors(replace(formula, errors=errors)))

    assert "10.0 points lower, and lower on 3 of 3 GPU groups" in carried(10.0, 8.0, 12.0)
    assert "leaving out any one, it stays between 9.0 and 11.0 points, least without group 1" in carried(
        10, 8, 12
    )
    assert "comes from one group: without group 0 it is -1.0 points" in carried(5.0, 21.0, 21.0)
    assert "1.0 points higher" in carried(21.0, 21.0, 21.0)


def test_hostile_texts_are_inert(outcome, parsed_html):
    evil = "</script><img src=x onerror=alert(1)>'\"&"
    frame = outcome.result.predictions.assign(cnn_base=evil, generation=evil)
    result = StudyResult(frame, outcome.result.estimators)
    carried = replace(
        outcome.formula, errors=errors_json(result, evil), provenance={"table": evil, evil: evil}
    )
    hostile = replace(
        outcome,
        formula=carried,
        result=result,
        provenance={"table": evil},
        missing=(evil,),
        absent={evil: evil},
    )
    for text in (report_html(hostile), page_html(carried)):
        assert "<img" not in text
        assert evil not in text
        seen = parsed_html(text)
        if "<script>" not in text:
            is_alone(seen, text)


def test_report_of_an_interrupted_study_without_folds(outcome, parsed_html):
    empty = StudyResult(outcome.result.predictions.iloc[:0], outcome.result.estimators, ("fold 1 of 1",))
    bare = replace(outcome.formula, errors=errors_json(empty, "none"))
    text = report_html(replace(outcome, formula=bare, result=empty, missing=("1 of 1 folds are missing.",)))
    assert "No fold was finished" in text
    assert "interrupted" in text
    is_alone(parsed_html(text), text)


def test_text_names_formula_errors_and_files(outcome, tmp_path):
    text = study_text(replace(outcome, absent={"random_forest": "pip install x"}), tmp_path, 100.0)
    for expected in ("time_s [s] =", "roofline", "pip install x", "formula.xlsx", "1 min 40 s"):
        assert expected in text


def test_the_story_is_short_and_open_to_all(outcome, opened, tmp_path):
    """Folded, it has five screens and no violation that axe-core knows; unfolded, it fits a phone."""
    axe = pytest.importorskip("axe_core_python.sync_playwright").Axe()
    path = tmp_path / "report.html"
    path.write_text(report_html(outcome), encoding="utf-8")
    page = opened(path)
    assert page.evaluate("document.documentElement.scrollHeight") < 5000
    assert [fault["id"] for fault in axe.run(page)["violations"]] == []
    page.set_viewport_size({"width": 390, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert [fault["id"] for fault in axe.run(page)["violations"]] == []


def test_made_up_errors_are_as_made(outcome):
    assert 8 < outcome.formula.errors["summary"]["trainlaw"]["mape_percent"] < 16
    assert isinstance(outcome.result.predictions, pd.DataFrame)


def test_no_dot_hides_one_of_an_equal_error():
    names = ("trainlaw", "no search", "random search")
    drawing = error_dots([ErrorLine("vgg16", 5, dict.fromkeys(names, 12.0))], names, "errors")
    places = re.findall(r'<circle cx="([0-9.]+)" cy="([0-9.]+)"', drawing)
    heights = sorted(float(height) for _, height in places)
    assert len({across for across, _ in places}) == 1
    assert np.diff(heights).min() > 4


def test_the_report_has_intervals_of_the_mean_over_seeds():
    seeds = ("trainlaw", "trainlaw seed 1", "trainlaw seed 2")
    found = made_up_result(seeds)

    class Outcome:
        result = found

    low, high = _interval_of(Outcome, "precision", BY_GPU)("fp32")
    inside = found.labels("precision") == "fp32"
    errors = [absolute_percentage_errors(found.measured_s, found.predicted_s(name)) for name in seeds]
    assert low <= np.mean(errors, axis=0)[inside].mean() <= high


def test_counts_have_thousands_marks_and_no_row_is_half_empty(outcome):
    text = report_html(outcome)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    assert "1,721" in cells and not [cell for cell in cells if re.fullmatch(r"\d{4,}", cell)]
    assert "1,730 held-out runs" in text and "By layout" not in text
