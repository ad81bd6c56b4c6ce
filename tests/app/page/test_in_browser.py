"""The page in headless Chromium: it computes as `trainlaw predict` does, is alone, and can be used by all."""

import csv
import json
import math
import random
import shutil
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from trainlaw.app.cli import app
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.lookup_tables import cnn_rows
from trainlaw.app.page.html import page_html
from trainlaw.datasets import TARGET, built_in_gpus, feature_specs, link_table, load
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.formulas import (
    Formula,
    GroupedConstant,
    load_formula,
    parse_text,
    save_formula,
    to_text,
    variables,
)
from trainlaw.validate.applicability import KEY, JointRange
from typer.testing import CliRunner

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, which is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, which is not on the PATH"),
]

CHOOSE = """choice => {
  for (const [id, value] of Object.entries(choice)) {
    const place = document.getElementById(id);
    typeof value === "boolean" ? (place.checked = value) : (place.value = value);
  }
  document.getElementById("cnn").dispatchEvent(new Event("input"));
  const seconds = id => document.getElementById(id).dataset.seconds;
  const terms = [...document.querySelectorAll("#terms > li:not([hidden])")].map(item => item.dataset.seconds);
  const warnings = [...document.querySelectorAll("#warnings li")].map(item => item.textContent);
  const memory = document.getElementById("memory").dataset.bytes;
  const [time, interval] = [seconds("time"), seconds("interval")];
  return { memory, time, interval, terms, warnings, hash: location.hash };
}"""
PARTS = {
    (True, False): "optimizer",
    (True, True): "optimizer+copy",
    (False, True): "copy",
    (False, False): "",
}


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_html(load_formula(BUILT_IN)), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser):
    """Opens a page at a width and in a colour scheme; whatever it complains of or asks for fails the test."""
    complaints, pages = [], []

    def open_page(path, fragment="", width=1400, scheme="light"):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(page)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url))
        page.goto(f"file://{path}#{fragment}")
        complaints[:] = [text for text in complaints if not text.startswith(f"file://{path}")]
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []


def eventually(page, expression):
    """The value of an expression once it is true; the page's policy forbids the browser's own waiting."""
    for _ in range(100):
        if value := page.evaluate(expression):
            return value
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


def random_choices(count, precisions):
    generator = random.Random(5)
    links = link_table()
    inside = links.loc[links["scope"] == "node", "link"].tolist()
    between = links.loc[links["scope"] == "network", "link"].tolist()
    gpus = [g.gpu for g in built_in_gpus().gpus if g.peak_fp32_flop_per_s > 0 and g.bandwidth_byte_per_s > 0]
    keys = ("cnn", "input_size_px", "n_classes")
    cnns = [{name: row[name] for name in keys} for row in cnn_rows().values()]
    for _ in range(count):
        nodes = generator.choice([1, 1, 1, 2, 4])
        n_gpus = nodes * generator.choice([1, 1, 2, 3, 8])
        yield {
            "network_": generator.choice(cnns),
            "gpu": generator.choice(gpus),
            "batch": generator.randint(1, 600),
            "precision": generator.choice(precisions),
            "layout": generator.choice(["nchw", "channels_last"]),
            "host-launch": generator.choice(["150", "40", "0.5", "1000"]),
            "is_tuned": generator.random() < 0.3,
            "is_bucketed": generator.random() < 0.7,
            "gpus": n_gpus,
            "nodes": nodes,
            "link": generator.choice(["own", *inside]) if n_gpus > nodes else "own",
            "network": generator.choice(between),
            "algorithm": generator.choice(ALGORITHMS[1:]),
            "peak": generator.choice(["1", "1", "0.5", "1.25", "3"]),
            "bandwidth": generator.choice(["1", "1", "0.75", "2"]),
            "has_optimizer": generator.random() < 0.7,
            "has_input_copy": generator.random() < 0.3,
        }


def plan_of(choice):
    """The row of a file for `trainlaw predict --from` that means what is chosen on the page."""
    changes = [f"{choice[fact]}x {fact}" for fact in ("peak", "bandwidth") if choice[fact] != "1"]
    parts = PARTS[choice["has_optimizer"], choice["has_input_copy"]]
    return {
        **choice["network_"],
        "gpu": choice["gpu"] + (f" with {', '.join(changes)}" if changes else ""),
        "batch_per_gpu": choice["batch"],
        "precision": choice["precision"],
        "layout": choice["layout"],
        "tuned": int(choice["is_tuned"]),
        "bucketed": int(choice["is_bucketed"]),
        "host_launch_s": float(choice["host-launch"]) / 1e6,
        "n_gpus": choice["gpus"],
        "n_nodes": choice["nodes"],
        "link": "" if choice["link"] == "own" else choice["link"],
        "network": choice["network"],
        "algorithm": choice["algorithm"],
        "timed_parts": "+".join(filter(None, ["forward+backward", parts])),
    }


def predicted(choices, formula_file, folder):
    plans = folder / "plans.csv"
    rows = [plan_of(choice) for choice in choices]
    with plans.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    options = ["--from", str(plans), "--format", "json"]
    result = CliRunner().invoke(app, ["predict", "--formula", str(formula_file), *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def compare(page, choices, rows):
    """Check time, interval, memory, warnings and sum of terms of every choice; return how many have one."""
    defined = 0
    for choice, row in zip(choices, rows, strict=True):
        network = choice["network_"]
        label = f"{network['cnn']}, {network['input_size_px']} px, {network['n_classes']} classes"
        wanted = {name: value for name, value in choice.items() if name != "network_"} | {"cnn": label}
        found = page.evaluate(
            CHOOSE, {name: v if isinstance(v, bool) else str(v) for name, v in wanted.items()}
        )
        if row["time_s"] is None:
            assert found["time"] == "NaN", (choice, row)
            continue
        defined += 1
        assert float(found["time"]) == pytest.approx(row["time_s"], rel=1e-9), (choice, row)
        assert sum(map(float, found["terms"])) == pytest.approx(row["time_s"], rel=1e-9)
        ends = [float(text) for text in found["interval"].split()]
        assert ends == pytest.approx([row["low_s"], row["high_s"]], rel=1e-9)
        least, usual, fits = found["memory"].split(" ", 2)
        assert (float(least), float(usual), fits) == (
            row["memory_least_bytes"],
            row["memory_usual_bytes"],
            row["fits_in_memory"],
        )
        for word in (
            " fit: the step ",
            "outside the",
            "unlike any",
            "no training run",
            "textbook",
            "the host's launches",
        ):
            counts = [sum(word in text for text in texts) for texts in (found["warnings"], row["warnings"])]
            assert counts[0] == counts[1], (word, found["warnings"], row["warnings"])
    return defined


def test_two_hundred_choices_are_as_the_command_predicts(opened, page_file, tmp_path):
    choices = list(random_choices(200, ["fp32", "tf32", "amp", "fp16", "bf16"]))
    rows = predicted(choices, BUILT_IN, tmp_path)
    assert compare(opened(page_file), choices, rows) > 150


def with_joint_range(formula):
    columns = load("fp32-2026").features([spec.name for spec in formula.used_features])
    joint = JointRange.fit({name: columns[name] for name in columns}, load("fp32-2026").labels()["gpu_group"])
    return replace(formula, errors={**formula.errors, KEY: joint.to_json()})


def test_formula_by_hand_with_a_joint_range(opened, formula, tmp_path):
    law = with_joint_range(formula)
    save_formula(law, tmp_path / "law.json")
    (tmp_path / "page.html").write_text(page_html(law), encoding="utf-8")
    choices = list(random_choices(40, ["fp32", "amp"]))
    rows = predicted(choices, tmp_path / "law.json", tmp_path)
    assert sum("unlike any" in text for row in rows for text in row["warnings"]) > 3
    assert compare(opened(tmp_path / "page.html"), choices, rows) > 30


def test_formula_with_settings_of_a_run(opened, tmp_path):
    text = (
        "max(2 * other_matrix_s * (1 - 0.1 * is_tuned) + 3 * grouped_channels_last_simt_s, 1.5 * host_s)"
        " + 4 * conv_output_cached_s * exp(0.5 * is_amd)"
    )
    expression = parse_text(text)
    law = Formula(
        expression, feature_specs(variables(expression)), TARGET, errors={"interval": {"factor": 2.0}}
    )
    save_formula(law, tmp_path / "law.json")
    (tmp_path / "page.html").write_text(page_html(law), encoding="utf-8")
    choices = list(random_choices(60, ["fp32", "tf32", "amp"]))
    rows = predicted(choices, tmp_path / "law.json", tmp_path)
    assert 5 < sum("the host's launches decide" in str(row["warnings"]) for row in rows) < 55
    assert compare(opened(tmp_path / "page.html"), choices, rows) > 30


def test_formula_of_several_gpus_needs_no_addition(opened, tmp_path):
    text = "3 * total_compute_s + 0.9 * ring_s + 0.001 * log2_gpus + 0.002 * iteration_overhead_s / 0.001"
    names = ["total_compute_s", "ring_s", "log2_gpus", "iteration_overhead_s"]
    law = Formula(parse_text(text), feature_specs(names), TARGET, scope="multi_gpu_run")
    save_formula(law, tmp_path / "law.json")
    (tmp_path / "page.html").write_text(page_html(law), encoding="utf-8")
    choices = list(random_choices(30, ["fp32"]))
    rows = predicted(choices, tmp_path / "law.json", tmp_path)
    page = opened(tmp_path / "page.html")
    for choice, row in zip(choices, rows, strict=True):
        network = choice["network_"]
        label = f"{network['cnn']}, {network['input_size_px']} px, {network['n_classes']} classes"
        wanted = {name: value for name, value in choice.items() if name != "network_"} | {"cnn": label}
        found = page.evaluate(
            CHOOSE, {name: v if isinstance(v, bool) else str(v) for name, v in wanted.items()}
        )
        assert float(found["time"]) == pytest.approx(row["time_s"], rel=1e-9), choice


def test_constants_of_groups_can_be_chosen(opened, formula, tmp_path):
    constant = GroupedConstant("C[harness]", "harness", {"tf </b>": 2.0, "mxnet": 0.5}, 1.25)
    expression = parse_text(f"C[harness] * ({to_text(formula.expression)})")
    law = replace(formula, expression=expression, grouped=(constant,))
    (tmp_path / "page.html").write_text(page_html(law), encoding="utf-8")
    page = opened(tmp_path / "page.html")
    other = float(page.get_attribute("#time", "data-seconds"))
    for group, factor in (("tf </b>", 2.0), ("mxnet", 0.5), ("", 1.25)):
        page.select_option("#group-0", group)
        assert float(page.get_attribute("#time", "data-seconds")) == pytest.approx(
            other * factor / 1.25, rel=1e-9
        )
    page.select_option("#group-0", "mxnet")
    again = opened(tmp_path / "page.html", page.evaluate("location.hash.slice(1)"))
    assert again.input_value("#group-0") == "mxnet"
    save_formula(law, tmp_path / "law.json")
    (row,) = predicted([next(random_choices(1, ["fp32"]))], tmp_path / "law.json", tmp_path)
    assert compare(opened(tmp_path / "page.html"), list(random_choices(1, ["fp32"])), [row]) == 1


def test_link_brings_the_choice_back(opened, page_file):
    choice = {"cnn": "vgg16, 224 px, 1000 classes", "gpu": "T4", "batch": "48", "gpus": "8", "nodes": "2"}
    first = opened(page_file, urlencode(choice))
    shown = first.inner_text("#time")
    address = first.evaluate("location.hash")
    second = opened(page_file, address.removeprefix("#"))
    assert second.inner_text("#time") == shown
    for name in ("gpu", "batch", "gpus", "nodes"):
        assert second.input_value(f"#{name}") == choice[name]
    second.evaluate("location.hash = '#gpu=T4&batch=7'")
    assert eventually(second, "document.getElementById('batch').value === '7'")
    second.click("#share")
    assert eventually(second, "document.getElementById('shared').textContent !== ''")


@pytest.mark.parametrize(
    "fragment",
    ["batch=-1&gpu=<img src=x>", "gpus=1e9&cnn=%00", "batch=1.5", "nodes=3&gpus=4", "=&&=", "%E0%A4%A"],
)
def test_strange_addresses_do_no_harm(fragment, opened, page_file):
    page = opened(page_file, fragment)
    assert page.evaluate("document.images.length") == 0
    assert page.evaluate("Number(document.getElementById('batch').value)") >= 1


def test_faulty_numbers_are_told_and_nothing_is_shown_for_them(opened, page_file):
    page = opened(page_file)
    page.fill("#batch", "0")
    assert "whole number" in page.inner_text("#fault")
    assert page.get_attribute("#batch", "aria-invalid") == "true"
    page.fill("#batch", "32")
    page.fill("#gpus", "4")
    page.fill("#nodes", "3")
    assert "evenly" in page.inner_text("#fault")
    page.fill("#nodes", "2")
    assert page.inner_text("#fault") == ""
    assert page.is_visible("#network")


def test_keyboard_alone_is_enough(opened, page_file):
    page = opened(page_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "result"
    page.focus("#batch-slider")
    before = page.get_attribute("#time", "data-seconds")
    page.keyboard.press("ArrowRight")
    assert float(page.get_attribute("#time", "data-seconds")) > float(before)
    page.focus("#search")
    page.keyboard.type("h100")
    names = page.eval_on_selector_all("#gpu-rows tr", "rows => rows.map(row => row.dataset.gpu)")
    assert names and all("H100" in name for name in names)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.input_value("#gpu") == names[0]
    assert page.evaluate("document.activeElement.id") == "gpu"


def test_gpus_are_sorted_and_complete(opened, page_file):
    page = opened(page_file)
    page.click("#more")
    times = page.eval_on_selector_all("#gpu-rows tr", "rows => rows.map(row => Number(row.dataset.seconds))")
    assert len(times) > 150 and times == sorted(times)


# Contrast of every text that is seen, by WCAG 2 (relative luminance); axe leaves many open.
CONTRASTS = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = item => {
    const colour = parts(getComputedStyle(item).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
    return item.parentElement ? ground(item.parentElement) : [255, 255, 255];
  };
  const found = [];
  for (const item of document.querySelectorAll("body *")) {
    const own = [...item.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !item.checkVisibility() || ["SCRIPT", "OPTION"].includes(item.tagName)) continue;
    const both = [light(parts(getComputedStyle(item).color)), light(ground(item))];
    found.push([(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), item.outerHTML.slice(0, 80)]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(scheme, opened, page_file):
    page = opened(page_file, "gpus=8&nodes=2&batch=600&peak=2&gpu=T4", 1400, scheme)
    found = page.evaluate(CONTRASTS)
    assert len(found) > 300
    assert [text for ratio, text in found if ratio < 4.5] == []


def test_page_fits_the_narrowest_screens(opened, page_file):
    assert opened(page_file, "", 320).evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_axe_finds_no_fault_that_matters(width, scheme, opened, page_file):
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="needs axe-core-python")
    page = opened(page_file, "gpus=8&nodes=2&batch=600", width, scheme)
    found = axe.Axe().run(page)
    faults = [
        (fault["id"], node["html"])
        for fault in found["violations"]
        if fault["impact"] in ("moderate", "serious", "critical")
        for node in fault["nodes"]
    ]
    assert faults == []
    assert len(found["passes"]) > 20
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_is_small_and_paints(opened, page_file):
    """How soon it paints is measured by `python -m benchmarks.start_up`."""
    assert page_file.stat().st_size < 1_500_000
    first_paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    assert eventually(opened(page_file), first_paint) > 0


def test_hostile_names_are_inert(opened, formula, tmp_path):
    evil = "</script><img src=x onerror=alert(1)>'\"&=@+-<!--\u2028"
    features = tuple(replace(spec, meaning=evil, symbol=evil) for spec in formula.features)
    errors = json.loads(json.dumps(formula.errors).replace('"vgg"', json.dumps(evil)))
    law = replace(
        formula, features=features, errors={**errors, "protocol": evil},
        provenance={"table": evil, "table_sha256": evil, "trainlaw_version": evil, "precisions": [evil]},
    )  # fmt: skip
    path = tmp_path / "page.html"
    path.write_text(page_html(law), encoding="utf-8")
    page = opened(path)
    assert page.evaluate("document.images.length") == 0
    assert math.isfinite(float(page.get_attribute("#time", "data-seconds")))
    assert page.evaluate("document.querySelectorAll('script').length") == 1
