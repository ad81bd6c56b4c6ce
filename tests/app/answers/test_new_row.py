"""A row that is added to the table of answers appears in every output; nothing else is edited."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from trainlaw.app.answers import table
from trainlaw.app.answers.answer import GRAVITIES, Answer
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.page.script import script_of
from trainlaw.app.predictions.predict import predict_runs, predicted_blocks
from trainlaw.app.terminal.predictions import predictions_text, written_blocks
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.model import workbook_model
from trainlaw.formulas import load_formula

pytestmark = pytest.mark.usefixtures("few_networks")

NODE = shutil.which("node")
ROWS = (
    Answer("image_s", "s", "time_s / batch_per_gpu"),
    Answer("image", when="image_s", sentence="{image_s:seconds} per image", title="one image"),
    Answer("few", when="100 - batch_per_gpu", sentence="only {batch_per_gpu:whole} images on {gpu}"),
)
SAID = "only 8 images on T4"


@pytest.fixture
def law(monkeypatch):
    monkeypatch.setattr(table, "ANSWERS", (*table.ANSWERS, ROWS))
    return load_formula(BUILT_IN)


@pytest.fixture
def found(law):
    (prediction,) = predict_runs(law, one_run("resnet50", "T4", 8))
    assert SAID in prediction.warnings
    return prediction


def test_terminal_csv_and_json(law, found):
    text = predictions_text("formula", [found])
    assert "one image" in text and f"warning: {SAID}" in text
    blocks = [*predicted_blocks(law, [one_run("resnet50", "T4", 8)])]
    csv, as_json = ("".join(written_blocks(blocks, form, lambda number: None)) for form in (False, True))
    (row,) = json.loads(as_json)
    assert row["image_s"] == found.time_s / 8 and SAID in row["warnings"]
    header, line = csv.splitlines()
    assert line.split(",")[header.split(",").index("image_s")] == str(found.time_s / 8)


def test_the_gravest_warnings_come_first_and_three_are_shown(monkeypatch):
    rows = [replace(ROWS[2], name=name, sentence=name, gravity=name) for name in reversed(GRAVITIES)]
    monkeypatch.setattr(table, "ANSWERS", (*table.ANSWERS, tuple(rows)))
    found = predict_runs(replace(load_formula(BUILT_IN)), one_run("resnet50", "T4", 8))
    assert [text for text in found[0].warnings if text in GRAVITIES] == [*GRAVITIES]
    text = predictions_text("formula", found)
    assert text.index("impossible") < text.index("mistaken") < text.index("unlike")
    assert f"{len(found[0].warnings) - 3} further warnings: --all-warnings" in text and "ignored" not in text
    assert "warning: ignored" in predictions_text("formula", found, every_warning=True)


def test_python_program(law, found, tmp_path):
    export_formula(law, tmp_path / "law.py")
    ask = "import sys; sys.path.insert(0, '.'); import law; found = law.predict('resnet50', 'T4', 8); "
    ask += "print(found.image_s, found.warnings[-1])"
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{found.time_s / 8} {SAID}\n"


@pytest.mark.skipif(NODE is None, reason="needs Node, which is not on the PATH")
def test_javascript_program_and_page(law, found, tmp_path):
    export_formula(law, tmp_path / "law.mjs")
    ask = "import { predict } from './law.mjs'; const found = predict('resnet50', 'T4', 8);"
    (tmp_path / "ask.mjs").write_text(ask + "console.log(found.image_s, found.warnings.at(-1));")
    done = subprocess.run([NODE, "ask.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{found.time_s / 8} {SAID}\n"
    assert "one image" in script_of(law) and '"only {batch_per_gpu:whole} images on {gpu}"' in script_of(law)


def test_workbook(law):
    (sheet,) = (sheet for sheet in workbook_plan(law).sheets if sheet.name == "Formula")
    rows = {cell.value: row for (row, column), cell in sheet.cells.items() if column == 0}
    assert sheet.cells[rows["image_s"], 1].value == pytest.approx(workbook_model(law).seconds / 64)
    assert sheet.cells[rows["few"], 6].value == "only 64 images on V100-SXM2-16GB"
