"""Spreadsheets as people publish them: imported right with one corrected command at most, and never wrong."""

import shutil
from random import Random

import pytest

from . import corpus

pytest.importorskip("openpyxl")
CHROMIUM = shutil.which("chromium")


@pytest.mark.parametrize("name", corpus.NAMES)
def test_a_spreadsheet_is_imported_with_one_corrected_command(name, tmp_path):
    sheets, truth = corpus.load(name)
    path = corpus.write(sheets, truth, tmp_path)
    how, said = corpus.imported(path, truth)
    assert how == "written", said
    assert corpus.differences(path, truth) == ""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_mutation_of_a_spreadsheet_is_imported_wrong(part, tmp_path):
    found = []
    for seed in range(20 * part, 20 * part + 20):
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
        ("batch-precision-headings", 1, 2, 3, "fit the formula once they are exchanged: are the headings?"),
        ("pivot-batches-german", 0, 1, 3, "--value batch_per_gpu:16=64 --value batch_per_gpu:64=16"),
        ("unit-in-own-row", 1, 4, 6, "those of Zeit look like ms"),
    ],
)
def test_two_exchanged_headings_are_found(name, line, one, other, expected, tmp_path):
    sheets, truth = corpus.load(name)
    row = sheets[0].rows[line]
    row[one], row[other] = row[other], row[one]
    how, said = corpus.imported(corpus.write(sheets, truth, tmp_path), truth)
    assert expected in " ".join(said.split()), (how, said)


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
