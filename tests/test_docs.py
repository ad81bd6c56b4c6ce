"""What README.md and the documentation print is what the code prints now, and what they link to exists."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from .rows import each_row

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def documentation(few_networks_in_module):
    """The module docs/pages.py; what it runs writes workbooks and programs of few networks."""
    sys.path.insert(0, str(ROOT / "docs"))
    yield importlib.import_module("pages")
    sys.path.remove(str(ROOT / "docs"))


def pages() -> list[str]:
    found = (path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return ["README.md", *sorted(found)]


@pytest.mark.parametrize("page", pages())
def test_a_page_prints_what_the_code_prints(page, documentation, overwrite_golden):
    """`python docs/build.py --rewrite` brings the pages up to date, as does --overwrite-golden here."""
    text = (ROOT / page).read_text(encoding="utf-8")
    current = documentation.current(text)
    if overwrite_golden:
        (ROOT / page).write_text(current, encoding="utf-8")
        text = current
    assert current == text, "run python docs/build.py --rewrite, and read the difference"


@each_row("page", pages())
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [
        link.split("#")[0] for link in LINK.findall(text) if "://" not in link and not link.startswith("#")
    ]
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_the_readme_fits_two_screens():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 135


def test_the_documentation_stays_small():
    assert len(pages()) <= 46
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 60


def test_every_page_is_in_a_list_of_the_first():
    """A page that no `toctree` names is found by nobody, and a warning of the build."""
    listed = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    names = {page.removeprefix("docs/").removesuffix(".md") for page in pages()[1:]} - {"index"}
    assert sorted(name for name in names if name not in listed and not name.startswith("decisions/0")) == []


PATH = re.compile(r"`((?:app|datasets|evolve|formulas|validate|tools|benchmarks|tests|docs)/[\w./-]*)`")


@each_row("page", pages())
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert sorted(name for name in set(PATH.findall(text)) if not (ROOT / name).exists()) == []


def test_pages_that_the_code_names_exist():
    cited = re.compile(r"\bdocs/[\w/-]+\.md")
    folders = ("app", "benchmarks", "datasets", "evolve", "formulas", "tests", "tools", "validate")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    named = {(name, path.name) for path in paths for name in cited.findall(path.read_text(encoding="utf-8"))}
    assert sorted((name, by) for name, by in named if not (ROOT / name).exists()) == []


def test_the_architecture_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = ("app", "datasets", "evolve", "formulas", "validate")
    rooms = [path.parent for folder in folders for path in (ROOT / folder).glob("*/__init__.py")]
    assert sorted(room.name for room in rooms if f"`{room.relative_to(ROOT)}/`" not in text) == []


def test_a_page_with_a_wrong_figure_is_noticed(documentation):
    page = "```console\n$ trainlaw --version\ntrainlaw 99\n```\n"
    assert documentation.current(page) != page


def test_a_command_that_fails_is_noticed(documentation):
    with pytest.raises(AssertionError, match="ended with status 2"):
        documentation.current("```sh\ntrainlaw cnn show no-such-cnn\n```\n")


def fenced(kind, *lines):
    return "\n".join([f"```{kind}", *lines, "```", "", ""])


def test_python_output_and_files_of_examples(documentation):
    python = fenced("python", "x = 2") + fenced("python", "print(x + 1)") + fenced("text", "old")
    page = documentation.current(python + fenced("console", "$ cat plans.csv | head -n 1"))
    assert fenced("text", "3") in page
    assert page.endswith(fenced("console", "$ cat plans.csv | head -n 1", "cnn,gpu,batch_per_gpu,precision"))


def test_what_is_not_run_keeps_its_output(documentation):
    minutes = ["$ trainlaw study   # takes minutes", "old"]
    page = fenced("console", *minutes, "$ trainlaw profile   # not run: measures this machine", "older")
    assert documentation.current(page) == page
