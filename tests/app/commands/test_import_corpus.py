"""Spreadsheets as people publish them: imported right with one corrected command at most, and never wrong."""

import shutil
from random import Random

import pytest
from trainlaw.app.inputs.run_tables import read_runs
from trainlaw.app.terminal.spreadsheets import confirmed

from . import corpus

pytest.importorskip("openpyxl")
CHROMIUM = shutil.which("chromium")


# What is asked or assumed is said.
SAID = {
    "bilder-tausender": "--precision fp32 | --precision tf32",
    "mlperf-style": "throughput of all together or of each GPU",
    "oom-and-dashes": "--skip-unmeasured",
    "scaling-gpus": "assumed for several GPUs",
    "weak-scaling": "assumed for several GPUs",
    "pivot-cnn-columns": "became rows",
    "notes-below": "not read: a note",
    "german-thousands": "not read: ",
    "cnn-batch-headings": "the built-in formula says images/s",
}


# A quarter of them is a first answer.
EACH = [
    name if number % 4 == 0 else pytest.param(name, marks=pytest.mark.slow)
    for number, name in enumerate(corpus.NAMES)
]


@pytest.mark.parametrize("name", EACH)
def test_a_spreadsheet_is_imported_with_one_corrected_command(name, tmp_path):
    sheets, truth = corpus.load(name)
    path = corpus.write(sheets, truth, tmp_path)
    how, said = corpus.imported(path, truth)
    assert how == "written", said
    assert corpus.differences(path, truth) == ""
    assert SAID.get(name, "") in " ".join(said.split())


EXPORTED = """GPU Name\tModel\tBatch\tFP16\tThroughput
Tesla T4\tResNet-50\t64\tYes\t280,5
NVIDIA GeForce RTX 3090\tResNet-50\t64\tNo\t331,5
NVIDIA GeForce RTX 3090\tVGG 16\t64\tYes\t446,6
"""
DETAILED = """# started Mon 3 May 10:00:01
GPU,CNN,batch/GPU,# GPUs,precision,s/it,img_size,Date
"GPU 0: Tesla T4, 15360 MiB",ResNet-50,64,1,16-mixed,0.2286,224x224,2022-05-03
"GPU 0: NVIDIA GeForce RTX 3090, 24576 MiB",VGG 16,64,1,16-mixed,0.1433,224x224,2022-05-03
"""
AMP = [["T4", "resnet50", 64, "amp", 1, 0.2283], ["RTX 3090", "vgg16", 64, "amp", 1, 0.1433]]


@pytest.mark.parametrize(
    ("text", "encoding", "runs"),
    [
        # Without mixed precision PyTorch uses tf32 on this one of the GPUs.
        (EXPORTED, "utf-16", [*AMP, ["RTX 3090", "resnet50", 64, "tf32", 1, 0.19306]]),
        (DETAILED, "utf-8", AMP),
    ],
)
def test_an_export_in_utf_16_and_names_as_drivers_print_them(text, encoding, runs, tmp_path):
    path = tmp_path / "export.txt"
    path.write_bytes(text.encode(encoding))
    truth = {"runs": runs, "choices": []}
    how, said = corpus.imported(path, truth)
    assert how == "written", said
    assert corpus.differences(path, truth) == ""
    years = read_runs(tmp_path / "out.csv").frame["bench_year"].dropna()
    assert set(years) == ({2022} if "Date" in text else set())


@pytest.mark.parametrize(
    ("answer", "is_terminal", "expected"), [("y", True, True), ("", True, False), ("y", False, False)]
)
def test_columns_are_confirmed_on_a_terminal_only(monkeypatch, answer, is_terminal, expected):
    monkeypatch.setattr("builtins.input", lambda _: answer)
    monkeypatch.setattr("sys.stdin.isatty", lambda: is_terminal)
    assert confirmed() is expected


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_no_mutation_of_a_spreadsheet_is_imported_wrong(part, tmp_path):
    found = []
    for seed in range(12 * part, 12 * part + 12):
        random = Random(seed)
        name = random.choice(corpus.NAMES)
        sheets, truth = corpus.load(name)
        kind, sheets = corpus.mutated(sheets, truth, random)
        path = corpus.write(sheets, truth, tmp_path)
        how, _ = corpus.imported(path, truth)
        # Exchanged headers of the mean and the median say another number, a hundredth apart.
        different = corpus.differences(path, truth, 0.02) if how == "written" else ""
        found += [f"{seed} {name} {kind}: {different}"] * (different not in ("", "part"))
        path.unlink()
    assert found == []


@pytest.mark.parametrize(
    ("name", "line", "one", "other", "expected"),
    [
        ("wandb-config", 0, 1, 6, "system.gpu is read under another column's heading"),
        ("epoch-time-images", 0, 2, 4, "is read under another column's heading"),
        ("unit-in-own-row", 1, 4, 6, "times those of the built-in formula"),
    ],
)
def test_two_exchanged_headings_are_found(name, line, one, other, expected, tmp_path):
    sheets, truth = corpus.load(name)
    row = sheets[0].rows[line]
    row[one], row[other] = row[other], row[one]
    how, said = corpus.imported(corpus.write(sheets, truth, tmp_path), truth)
    assert expected in " ".join(said.split()), (how, said)


@pytest.mark.slow
def test_the_preview_shows_what_is_read_and_what_is_doubted(tmp_path):
    sheets, truth = corpus.load("sentinels")
    path, page = corpus.write(sheets, truth, tmp_path), tmp_path / "preview.html"
    assert corpus.run(path, "--preview", page, "--yes").exit_code == 2
    text = page.read_text("utf-8")
    assert "default-src 'none'" in text and "<script" not in text and "http://" not in text
    assert text.count('class="gpu"') > 5 and text.count('class="time doubt"') == 1
    if CHROMIUM is None:
        pytest.skip("the picture needs chromium")
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page()
        opened.goto(page.as_uri())
        cells = opened.locator("td.time")
        colours = [
            cells.nth(place).evaluate("e => getComputedStyle(e).backgroundColor") for place in range(2)
        ]
        assert len(set(colours)) == 1 and colours[0] != "rgba(0, 0, 0, 0)"
        assert opened.locator("svg .dots").count() == 1 and len(opened.screenshot()) > 10_000
        axe = pytest.importorskip("axe_core_python.sync_playwright", reason="needs axe-core-python")
        opened.set_viewport_size({"width": 390, "height": 844})
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390
        assert axe.Axe().run(opened, options={"resultTypes": ["violations"]})["violations"] == []
        browser.close()
