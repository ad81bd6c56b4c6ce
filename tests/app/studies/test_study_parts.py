"""Parts of one small study: levels, platforms, terms that return, proofs, the report in a browser, runs."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from trainlaw.app.models.user_formula import formula_of_size
from trainlaw.app.report.figures import write_figures
from trainlaw.app.report.html import claims, report_html
from trainlaw.app.report.run_files import write_run_files
from trainlaw.app.studies.definition import definition_of, read_definition
from trainlaw.app.studies.study import study_table
from trainlaw.app.terminal.comparison import read_run
from trainlaw.app.terminal.study import study_text
from trainlaw.datasets import TARGET as TIME
from trainlaw.datasets import RunTable, feature_specs, load
from trainlaw.formulas import Formula, InputError, load_formula, parse_text
from trainlaw.validate.applicability import stored_joint_range
from trainlaw.validate.formula_errors import overall_error
from trainlaw.validate.support import support_of

from ...commands import invoke, refused

GPUS = ["GTX 1080 Ti", "T4", "V100-SXM2-16GB", "A40", "K80"]


SAID = (
    "proved",
    "Formulas of few constants",
    "Which terms the data support",
    "Residuals by feature",
    "data sheet",
    "per batch",
    "per precision",
    "per source",
    "Transfer from one source to another",
    "rank correlation",
    "faster of two GPUs picked",
    "hand-derived, 9 terms",
)
CNNS = ["resnet50", "vgg16", "alexnet_mx", "lenet5", "vgg16_profet"]


@pytest.fixture(scope="module")
def rates_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rates") / "rates.csv"
    lines = [
        f"{gpu},fp32,{flops},{copy}"
        for gpu, flops, copy in zip(GPUS, [9e12, 5e12, 1.3e13, 3e13, 2e12], [3e11] * 5, strict=True)
    ]
    path.write_text("gpu,precision,achieved_matmul_flop_per_s,achieved_copy_byte_per_s\n" + "\n".join(lines))
    return path


@pytest.fixture(scope="module")
def outcome(quick_studies, rates_file):
    frame = load("fp32-2026").frame
    part = frame[frame["gpu"].isin(GPUS) & frame["cnn"].isin(CNNS)]
    entries = {"folds": 3, "evaluations": 100, "seeds": 2, "max_constants": 6, "by": "source"}
    entries["against"] = "null_compute,cf9"
    wanted = definition_of({**entries, "rates": str(rates_file)}, "test")
    return study_table(RunTable("small", part), wanted, 2)


@pytest.fixture(scope="module")
def run_folder(outcome, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_run_files(outcome, folder, {})
    return folder


def test_levels_of_calibration_are_in_results(outcome):
    names = [level.level for level in outcome.levels]
    assert names[0].startswith("0") and names[1].startswith("1") and len(names) == 5
    assert outcome.levels[1].n_groups >= 1  # folds of two GPUs leave the others three, the fewest
    assert [level["level"] for level in outcome.formula.errors["calibration"]] == names
    assert "micro-benchmarks" in study_text(outcome, Path("run"), 1.0)


def test_the_joint_range_travels_with_the_formula(outcome):
    columns = {name: values[:5] for name, values in outcome.columns.items()}
    joint = stored_joint_range(outcome.formula)
    assert not joint.outside(columns).all()
    far = {name: values * 1e6 for name, values in columns.items()}
    assert joint.outside(far).all()


def test_coverage_is_told_per_group(outcome):
    interval = outcome.formula.errors["interval"]
    groups = {line["name"] for line in outcome.formula.errors["gpu_group"]}
    assert set(interval["coverage_by_group"]) == groups
    assert interval["over"] == "gpu_group"


def test_every_figure_has_an_interval(outcome):
    summary, intervals = (outcome.formula.errors[key] for key in ("summary", "summary_intervals"))
    for name in outcome.formula.errors["estimators"]:
        for metric in (
            "mape_percent",
            "macro_gpu_group_mape_percent",
            "faster_gpu_percent",
            "within_25_percent",
        ):
            low, high = intervals[name][metric]
            assert low <= summary[name][metric] + 1e-6
            assert summary[name][metric] <= high + 1e-6


def test_the_error_is_the_mean_over_seeds(outcome):
    errors = outcome.few.rows[0].formula.errors
    assert "a search for each, 2 seeds" in errors["protocol"]
    assert {"evolution 6", "evolution seed 1 6", "lasso 4"} <= set(outcome.few.result.estimators)
    seeds = errors["seeds"]["macro_gpu_group_mape_percent"]
    assert len(seeds) == 2
    assert np.mean(seeds) == pytest.approx(errors["summary"]["trainlaw"]["macro_gpu_group_mape_percent"])


def test_intervals_are_by_class_and_for_new_generations(outcome):
    for name in ("interval_by_class", "interval_of_new_generation"):
        assert set(outcome.formula.errors[name]["factors"]) == {"fp32", "tf32"}
    assert set(outcome.formula.provenance["generations"]) >= {"Ampere", "Pascal", "Turing", "Volta"}
    assert outcome.formula.provenance["vendors"] == ["NVIDIA"]


def test_what_the_data_support_is_stored_and_shown(outcome):
    shares = support_of(outcome.formula)
    assert shares and all(0.0 <= share.share <= 1.0 for share in shares)
    assert shares[0].name in report_html(outcome)


def test_the_front_has_a_row_per_number_of_constants_and_the_law_last(outcome, run_folder):
    rows = outcome.few.rows
    assert [row.constants for row in rows[:-1]] == [4, 6] and rows[-1].method == "law"
    stored = pd.read_csv(run_folder / "front.csv")
    assert stored["constants"].tolist() == [row.constants for row in rows]
    assert stored["formula"].tolist() == [row.formula.text() for row in rows]
    for row, line in zip(rows[:-1], stored.iloc[:-1].to_dict("records"), strict=True):
        found = load_formula(run_folder / "front" / f"{row.constants}.json")
        assert found.provenance["constants"] <= row.constants
        assert line["low_percent"] <= line["held_out_percent"] <= line["high_percent"]
        for control in ("random_search", "stepwise", "pruned_law", "lasso"):
            gap = line[f"{control}_percent"] - line["held_out_percent"]
            assert line[f"{control}_gain_points"] == pytest.approx(gap, abs=0.01)
            assert line[f"{control}_gain_low_points"] <= gap + 0.01
            assert gap <= line[f"{control}_gain_high_points"] + 0.01


def test_the_best_candidate_is_delivered(outcome):
    errors = [row.held_out_percent for row in outcome.few.rows]
    assert overall_error(outcome.formula, "trainlaw") <= min(errors) + 1e-6
    assert any(line.startswith("delivered: ") for line in outcome.verdict)


def test_a_formula_of_a_run_is_found_by_its_constants(run_folder, tmp_path):
    _, origin = formula_of_size(run_folder, tmp_path, 5)
    assert origin.endswith("front/4.json")
    assert formula_of_size(run_folder, tmp_path, 99)[1].endswith("formula.json")
    with pytest.raises(InputError, match="at least 4 constants"):
        formula_of_size(run_folder, tmp_path, 3)


def test_figures_for_a_paper_are_whole_files(outcome, tmp_path):
    said = write_figures(outcome, tmp_path / "figures")
    for path in (tmp_path / "figures").glob("*.svg"):
        text = path.read_text()
        assert "var(" not in text and "--hue" not in text
        ElementTree.fromstring(text)
    table = (tmp_path / "figures" / "front.tex").read_text()
    assert table.startswith(r"\begin{tabular}") and table.count(r" \\") == len(outcome.few.rows) + 1
    assert "front" in said and ".tex" in said


def test_matrix_of_platforms(outcome, run_folder):
    matrix = outcome.matrices["source"]
    assert {"trainlaw", "cf9", "null_compute"} == set(matrix["estimator"])
    assert (run_folder / "platforms-source.csv").read_text().startswith("estimator,train,test")
    assert np.isfinite(matrix["macro_mape_percent"]).all()


def test_the_definition_repeats_the_study(outcome, run_folder):
    path = run_folder / "study.toml"
    assert definition_of(read_definition(path), str(path)) == outcome.definition


def law(text):
    names = sorted(set(re.findall(r"[a-z0-9_]+_(?:s|ratio)\b", text)))
    ranges = {name: (0.001, 1.0) for name in names}
    return Formula(parse_text(text), feature_specs(names), TIME, ranges=ranges)


def test_claims_are_proved_or_the_terms_that_leave_them_open_are_named():
    found = dict(claims(law("conv_output_memory_s / clock_ratio + 2 * im2col_compute_s")))
    assert found.keys() == {
        "the time is never negative",
        "the time never falls as conv_output_memory_s grows",
        "the time never rises as clock_ratio grows",
        "the time never falls as im2col_compute_s grows",
    }
    assert all(proof.proved and not proof.blame for proof in found.values())
    assert not dict(claims(law("conv_output_memory_s - 10")))["the time is never negative"].proved
    open_claim = law("conv_output_memory_s * exp(-im2col_compute_s) + im2col_compute_s")
    blame = dict(claims(open_claim))["the time never falls as im2col_compute_s grows"].blame
    assert any("exp(-im2col_compute_s): elasticity" in text for text in blame)


def test_the_report_says_all(outcome):
    html = report_html(outcome)
    assert len(html) < 3_000_000
    for text in SAID:
        assert text in html, text
    for outside in ("http:", "src=", "@import", "url(", "<script"):
        assert outside not in html, outside


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1400, "light")])
def test_the_report_in_a_browser(run_folder, outcome, opened, width, scheme):
    """No word on the console, no request, nothing wider than the window, every plot drawn and visible."""
    facts = opened(run_folder / "report.html", "", width, scheme).evaluate(
        """() => ({
          wide: document.documentElement.scrollWidth,
          plots: [...document.querySelectorAll("svg")].map(plot => plot.getBoundingClientRect().width),
          dots: [...document.querySelectorAll("path.hued")].map(dot => getComputedStyle(dot).stroke),
          ground: getComputedStyle(document.body).backgroundColor })"""
    )
    assert facts["wide"] <= width
    # Of the front's formulas only the chosen one is shown.
    shown = [width for width in facts["plots"] if width]
    assert len(shown) == 6 + len(outcome.formula.used_features)
    assert len(facts["plots"]) == len(shown) + len(outcome.few.rows) - 1
    assert min(shown) > 250
    assert "none" not in facts["dots"] and len(set(facts["dots"])) == len(outcome.formula.errors["gpu_group"])
    dark = sum(map(int, re.findall(r"\d+", facts["ground"])[:3])) < 200
    assert dark == (scheme == "dark")


def compared(*arguments):
    return invoke("compare", *arguments)


def test_a_run_equals_itself(run_folder):
    result = compared(run_folder, run_folder)
    assert result.exit_code == 0, result.output
    assert "B - A: +0.00 points" in result.stdout
    assert "undecided" in result.stdout
    assert "held-out error by number of constants:" in result.stdout


def test_two_estimators_of_one_run(run_folder, outcome):
    result = compared(run_folder, run_folder, "--estimators", "trainlaw,null_compute", "--by", "cnn_base")
    assert result.exit_code == 0, result.output
    assert "the second is worse" in result.stdout
    assert f"{len(outcome.result.predictions)} rows paired, 0 held out by one run only" in result.stdout
    found = json.loads(
        compared(run_folder, run_folder, "--estimators", "trainlaw,null_compute", "--json").stdout
    )
    assert found["difference_percent"] > 0 and found["n_rows"] == len(outcome.result.predictions)
    assert [side["estimator"] for side in found["sides"]] == ["trainlaw", "null_compute"]
    assert found["sides"][0]["front"] == found["sides"][1]["front"] != []
    weights = [group["difference_percent"] for group in found["groups"]]
    assert found["difference_percent"] == pytest.approx(sum(weights) / len(weights))


def test_stored_predictions_are_those_of_the_study(run_folder, outcome):
    stored = read_run(run_folder).result
    assert stored.estimators == outcome.few.result.estimators
    for name in stored.estimators:
        assert stored.predicted_s(name) == pytest.approx(outcome.few.result.predicted_s(name), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--estimators", "cf8"], "cf9"),
        (["--by", "gpu_grup"], "gpu_group"),
        (["--estimators", "a,b,c"], "one name, or two"),
    ],
)
def test_faulty_comparisons_are_one_line(run_folder, arguments, fault):
    assert fault in refused(compared(run_folder, run_folder, *arguments))


def test_runs_of_different_tables_are_not_paired(run_folder, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(run_folder, other)
    text = (other / "provenance.json").read_text()
    (other / "provenance.json").write_text(re.sub(r'"table_sha256": "\w+"', '"table_sha256": "0"', text))
    assert "different tables" in compared(run_folder, other).output


def test_what_is_no_run_is_refused(run_folder, tmp_path):
    with pytest.raises(InputError, match=r"predictions\.csv"):
        read_run(tmp_path)
    (tmp_path / "predictions.csv").write_text("row,split\n1,a\n")
    with pytest.raises(InputError, match="expected rows of"):
        read_run(tmp_path)
    shutil.copy(run_folder / "predictions.csv", tmp_path / "predictions.csv")
    (tmp_path / "provenance.json").write_text("{")
    with pytest.raises(InputError, match="was altered"):
        read_run(tmp_path)
