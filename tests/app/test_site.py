"""The documentation site: pages without a violation that axe-core knows, on wide and on narrow screens."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("index", "tutorials/study", "tutorials/workbook", "reference/commands", "front")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for library in ("furo", "myst_parser", "sphinx_copybutton", "numpydoc"):
        pytest.importorskip(library, reason="needs the libraries of the documentation")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-d", folder / "read", DOCS, folder / "html"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "html"


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_of_the_site_are_open_to_all(width, site, browser):
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="needs axe-core-python").Axe()
    page = browser.new_page(viewport={"width": width, "height": 900})
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        assert [fault["id"] for fault in axe.run(page)["violations"]] == [], name
