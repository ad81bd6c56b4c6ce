"""A formula written by hand, with errors as a study leaves them, for tests that need no search."""

import pickle
import shutil
from concurrent.futures import Executor, Future
from html.parser import HTMLParser

import pytest
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.studies import processes
from trainlaw.datasets import TARGET, feature_specs, load
from trainlaw.formulas import Formula, load_formula, parse_text, save_formula, variables
from trainlaw.formulas.algebra import simplification

from .small_front import use_small_fronts

TEXT = (
    "(1.5 * conv_other_compute_s + 78 * im2col_compute_s) * clock_ratio ^ -0.15 * exp(0.7 * wide_sm)"
    " + (27 * conv_output_memory_s + 14 * batchnorm_memory_s + 75 * depthwise_output_memory_s)"
    " * exp(0.68 * wide_sm)"
    " + max(0.1 * kernel_launch_s, 3 * optimizer_memory_s) + 8 * layer_launch_s + 0.001"
)


@pytest.fixture(scope="module")
def browser():
    """Chromium, started once per file; tests that need it are skipped where it or playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, which is not installed")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium, which is not on the PATH")
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=300_000)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def tab(browser):
    """The page of all tests of a file, each of which loads it anew: to make one takes most of a second."""
    return browser.new_page()


@pytest.fixture
def opened(browser, tab):
    """Opens a page at a width and in a colour scheme; whatever it complains of or asks for fails the test."""
    complaints, others = [], []
    heard = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda request: complaints.append(request.url),
    }

    def open_page(path, fragment="", width=1280, scheme="light", height=900):
        page = tab
        if tab.url != "about:blank":
            page = browser.new_page()
            others.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        for event, hear in heard.items():
            page.on(event, hear)
        page.goto(f"{path.as_uri()}#{fragment}")
        complaints[:] = [text for text in complaints if not text.startswith(path.as_uri())]
        return page

    yield open_page
    for page in others:
        page.close()
    if tab.url != "about:blank":
        for event, hear in heard.items():
            tab.remove_listener(event, hear)
        tab.goto("about:blank")
    assert complaints == []


def errors_by_hand() -> dict:
    line = {"name": "vgg", "rows": 4, "errors": {"trainlaw": 12.5, "roofline": 30.0}, "members": []}
    group = {
        "name": "TU104-40",
        "rows": 4,
        "errors": {"trainlaw": 11.0, "roofline": None},
        "members": ["T4", "T4G"],
    }
    metrics = {"macro_gpu_group_mape_percent": 15.25, "mape_percent": 18.0, "median_ape_percent": 12.0}
    return {
        "protocol": "5 folds over GPU groups",
        "missing": [],
        "interval": {"level": 0.9, "factor": 1.5, "coverage_percent": 88.0},
        "estimators": ["trainlaw", "roofline"],
        "summary": {
            "trainlaw": metrics,
            "roofline": {"macro_gpu_group_mape_percent": 36.8, "mape_percent": None},
        },
        "gpu_group": [group],
        "cnn_base": [line],
    }


@pytest.fixture(scope="session")
def formula() -> Formula:
    expression = parse_text(TEXT)
    names = variables(expression)
    columns = load("fp32-2026").features(names)
    ranges = {name: (float(columns[name].min()), float(columns[name].max())) for name in names}
    provenance = {"trainlaw_version": "0.1.0", "table": "default", "seed": 0, "precisions": ["fp32"]}
    return Formula(
        expression,
        feature_specs(names),
        TARGET,
        ranges=ranges,
        provenance=provenance,
        errors=errors_by_hand(),
    )


@pytest.fixture(scope="session")
def law() -> Formula:
    return load_formula(BUILT_IN)


@pytest.fixture
def formula_file(formula, tmp_path):
    path = tmp_path / "by-hand.json"
    save_formula(formula, path)
    return path


@pytest.fixture(scope="session")
def small_table(tmp_path_factory):
    """A file of the runs of five networks on four GPUs, each a GPU group, of three generations.

    A study of four or more holds them out, too.
    """
    frame = load("fp32-2026").frame
    part = frame[
        frame["gpu"].isin(["GTX 1080 Ti", "T4", "P100-SXM2-16GB", "A40"])
        & frame["cnn"].isin(["resnet50", "vgg16", "alexnet_mx", "inception_v3", "resnet152"])
    ]
    path = tmp_path_factory.mktemp("tables") / "small.csv"
    part.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def own_rules(few_networks_in_module):
    """Studies that simplify by their own rules, as where no second interpreter can be started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simplification, "_ask_sympy", lambda expressions, positive, calls: [])
        yield


class InThisProcess(Executor):
    """Runs a task when it is submitted, with copies of its arguments, as a worker process gets them."""

    def __init__(self, *_):
        """Start nothing, whatever the pool of processes would be given."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        function, arguments, named = pickle.loads(pickle.dumps((function, arguments, named)))
        try:
            future.set_result(pickle.loads(pickle.dumps(function(*arguments, **named))))
        except BaseException as error:
            future.set_exception(error)
        return future


@pytest.fixture(scope="module")
def in_one_process(own_rules):
    """Studies that start no process at all: to start one takes longer than a small search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "WorkerPool", InThisProcess)
        yield


@pytest.fixture(scope="module")
def small_fronts():
    """Studies that search small spaces; complete ones take a minute."""
    with pytest.MonkeyPatch.context() as patch:
        use_small_fronts(patch.setattr)
        yield


@pytest.fixture(scope="module")
def quick_studies(in_one_process, small_fronts):
    """Studies of small spaces in this process."""


@pytest.fixture
def in_empty_folder(tmp_path, monkeypatch):
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


class ParsedHtml(HTMLParser):
    """Collects tags and checks that elements are closed in order."""

    VOID = frozenset({"meta", "br", "input", "link", "img"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def parsed_html():
    """The class that parses a text and fails where elements are closed out of order."""
    return ParsedHtml
