"""What misled five kinds of users who tried everything: each finding, by the command that met it.

Elsewhere: what one command says in `commands/transcripts/findings.txt`, spreadsheets with other faults in
`commands/test_import_corpus.py`, names on the page in a browser in `page/test_in_browser.py`.
Left as they are: warnings name features as `trainlaw features` lists them; in sixteen-bit ties of fast
GPUs at small batches the host decides, which a warning says.
"""

import csv
import importlib.util
import re
import runpy
from functools import cache
from pathlib import Path

import openpyxl
import pytest
import trainlaw
from click.testing import CliRunner
from trainlaw.app.cli import app
from trainlaw.app.page.html import page_html
from trainlaw.app.report.html import report_html
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.model import DEFAULT_PRECISION, PREFIX
from trainlaw.formulas import to_text

from .report.test_run_files import outcome  # noqa: F401 - a fixture

RESNET = ("--cnn", "resnet50")
PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
T4 = (*RESNET, "--gpu", "T4", "--batch", "32")


def said(*arguments):
    """What a command prints, on one line."""
    found = CliRunner().invoke(app, [*arguments], env={"COLUMNS": "100"})
    return " ".join(found.output.split())


def test_values_are_completed(monkeypatch, in_empty_folder):
    for words, found in (
        ("scaling --gpu RTX", "RTX 3090"), ("plan --cnn eff", "efficientnet_b0"), ("plan --gpu p4d", "p4d"),
        ("predict --precision am", "amp"), ("predict --fabric infiniband-n", "infiniband-ndr"),
        ("predict --algorithm tr", "tree"),
    ):  # fmt: skip
        monkeypatch.setenv("_TRAINLAW_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"trainlaw {words}")
        monkeypatch.setenv("COMP_CWORD", "3")
        assert found in CliRunner().invoke(app, [], prog_name="trainlaw").output


@cache
def workbook():
    return workbook_plan(trainlaw.load_formula())


def sheet_of(name):
    return next(sheet for sheet in workbook().sheets if sheet.name == name)


def place_of(name):
    """Row and column of a named cell, counted from 1."""
    return openpyxl.utils.cell.coordinate_to_tuple(
        workbook().names[PREFIX + name].split("!")[1].replace("$", "")
    )


@pytest.mark.slow
def test_the_workbook_opens_with_the_default_precision_of_each_gpu():
    row, column = place_of("precision_choice")
    assert sheet_of("Prediction").cells[row - 1, column - 1].value == DEFAULT_PRECISION
    cells = sheet_of("Ranking").cells
    titles = {cell.value: column for (row, column), cell in cells.items() if row == 2}
    row = next(row for (row, _), cell in cells.items() if cell.value == "A100-SXM4-40GB")
    shown = cells[row, titles["iteration time, ms"]].value
    assert shown == pytest.approx(1e3 * trainlaw.predict("resnet50", "A100-SXM4-40GB", 64).seconds, rel=1e-9)


@pytest.mark.slow
def test_the_workbook_answers_above_its_inputs_and_takes_no_price_below_zero():
    titles = {cell.value: place for place, cell in sheet_of("Prediction").cells.items()}
    assert sheet_of("Prediction").cells[4, 0].value == "iteration time" and titles["GPU"][0] > 4
    assert titles["fits in memory"][0] < titles["images per epoch"][0]
    prices = {limits[1] for (_, column), limits in sheet_of("GPUs").limits.items() if column == 1}
    assert prices == {0.0} and sheet_of("Prediction").limits[titles["batch per GPU"][0], 1][1] == 1


@pytest.fixture
def law_module(tmp_path):
    path = trainlaw.export(trainlaw.load_formula(), tmp_path / "law.py")
    spec = importlib.util.spec_from_file_location("exported_law", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_exported_program_warns_as_the_command_does(law_module):
    found = law_module.predict("resnet50", "T4", 1_000_000, "fp32").warnings
    expected = trainlaw.predict("resnet50", "T4", 1_000_000, precision="fp32").warnings
    assert found == expected and len(found) > 5 and any("cannot fit" in text for text in found)


@pytest.mark.slow
def test_the_page_knows_the_names_of_commands():
    page = page_html(trainlaw.load_formula())
    for name, meant in (("g4dn.xlarge", "T4"), ("rtx4090", "RTX 4090"), ("3090", "RTX 3090")):
        assert f'"{name}":"{meant}"' in page


def imported(*arguments):
    """The runs that an import writes."""
    printed = said("data", "import", *arguments, "--out", "read.csv", "--yes")
    with open("read.csv", newline="", encoding="utf-8") as file:
        return printed, list(csv.DictReader(file))


def test_groups_of_two_columns_are_read(in_empty_folder):
    rows = (
        ",,FP32,,AMP,", "Model,batch,ms/step,img/s,ms/step,img/s",
        "resnet50,64,350,183,180,355", "vgg16,64,520,123,260,246", "resnet18,64,130,492,80,800",
    )  # fmt: skip
    (in_empty_folder / "groups.csv").write_text("\n".join(rows))
    _, runs = imported("groups.csv", "--set", "gpu=T4", "--columns-are", "precision")
    times = {run["precision"]: float(run["time_s"]) for run in runs if run["cnn"] == "resnet50"}
    assert times == pytest.approx({"fp32": 0.35, "amp": 0.18})
    assert len(runs) == 6


def test_a_sheet_per_gpu_with_epochs_in_minutes_is_read(in_empty_folder):
    book = openpyxl.Workbook()
    for name, minutes in (("T4", 15), ("V100-SXM2-16GB", 6)):
        sheet = book.create_sheet(name)
        sheet.append(["model", "batch size", "precision", "epoch time (min)", "images per epoch"])
        sheet.append(["resnet50", 64, "fp32", minutes, 128_116])
    del book["Sheet"]
    book.save("sheets.xlsx")
    _, runs = imported("sheets.xlsx", "--sheets-are", "gpu")
    # 2,002 iterations an epoch.
    assert {run["gpu"]: float(run["time_s"]) for run in runs} == pytest.approx(
        {"T4": 15 * 60 / 2002, "V100-SXM2-16GB": 6 * 60 / 2002}
    )


@pytest.mark.slow
@pytest.mark.usefixtures("few_networks")
def test_runs_on_several_gpus_are_left_out_of_a_calibration(in_empty_folder):
    rows = (
        "cnn,gpu,batch_per_gpu,precision,n_gpus,time_s,algorithm,link",
        *(f"{cnn},T4,32,fp32,1,{time},none,none" for cnn, time in (("resnet50", 0.23), ("vgg16", 0.33))),
        "resnet50,T4,32,fp32,4,0.26,ring,pcie3-x16",
    )
    (in_empty_folder / "runs.csv").write_text("\n".join(rows))
    printed = said("calibrate", "runs.csv", "--out", "mine")
    assert "runs on several GPUs do not calibrate: 1 left out" in printed and "mine written" in printed


@pytest.mark.parametrize("name", ["built-in", "short"])
def test_no_factor_of_a_shipped_formula_is_dead(name):
    powers = re.findall(r"\^\(?(-?[\d.e-]+)", to_text(trainlaw.load_formula(name).expression))
    assert powers and all(abs(float(power)) > 0.02 for power in powers)


# Texts of a drawing outside it, or over each other.
HIDDEN_TEXTS = """() => {
  const all = document.documentElement.getBoundingClientRect();
  const texts = [...document.querySelectorAll("text")].filter((each) => each.textContent.trim());
  const boxes = texts.map((each) => [each.textContent, each.getBoundingClientRect()]);
  const isOut = (box) => box.left < all.left - 1 || box.right > all.right + 1 || box.bottom > all.bottom + 1;
  const across = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const down = (one, other) => Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  const isOver = (one, other) => across(one, other) > 1 && down(one, other) > 3;
  return boxes.filter(([, box], place) =>
    isOut(box) || boxes.slice(place + 1).some(([, other]) => isOver(box, other))).map(([text]) => text);
}"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.name for path in PICTURES.glob("*.svg")])
def test_no_text_of_a_picture_is_cut_off_or_covered(name, opened):
    assert opened(PICTURES / name, height=1000).evaluate(HIDDEN_TEXTS) == []


def test_the_picture_of_scaling_is_of_the_present_defaults():
    picture = (PICTURES / "scaling.svg").read_text(encoding="utf-8")
    assert "infiniband" in picture and "ethernet" not in picture


def test_the_site_says_its_version_and_has_copy_buttons_and_a_page_per_function():
    settings = runpy.run_path(str(PICTURES.parent / "conf.py"))
    assert settings["version"] in settings["html_title"] and settings["copyright"].endswith(
        settings["author"]
    )
    assert "sphinx_copybutton" in settings["extensions"] and settings["autosummary_generate"]


@pytest.mark.slow
def test_counts_of_a_report_have_thousands_marks_and_no_row_is_half_empty(outcome):  # noqa: F811
    text = report_html(outcome)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    assert "1,721" in cells and not [cell for cell in cells if re.fullmatch(r"\d{4,}", cell)]
    assert "1,730 held-out runs" in text and "By layout" not in text
