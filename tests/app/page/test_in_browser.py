"""The page in headless Chromium: it answers as `trainlaw predict` does, is alone, and can be used by all."""

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

import pytest
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.inputs.resolve import named_cnn
from trainlaw.app.models.builtin import BUILT_IN, FRONT, formula_named
from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.page.html import page_html
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.predictions.training import Training
from trainlaw.app.terminal.as_json import cnn_json
from trainlaw.app.text.numbers import show_seconds
from trainlaw.datasets import TARGET, feature_specs, load
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import Formula, load_formula, parse_text, variables
from trainlaw.validate.applicability import KEY, JointRange

from ..questions import predicted, questions

SCRIPTS = Path(__file__).parent
ANSWERS = (SCRIPTS / "answers.js").read_text("utf-8")
CONTRASTS = (SCRIPTS / "contrasts.js").read_text("utf-8")


@pytest.fixture(scope="module")
def page_file(law, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_html(law), encoding="utf-8")
    return path


def eventually(page, expression):
    """The value of an expression once it is true; the page's policy forbids the browser's own waiting."""
    for _ in range(1200):
        if value := page.evaluate(expression):
            return value
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


def asked_of(choose, count):
    """Questions of the workbook's test, with what only command and page take."""
    for number, one in enumerate(questions(choose, count)):
        more = {
            "optimizer": choose.random() < 0.8,
            "copy": choose.random() < 0.2,
            "bucketed": choose.random() < 0.7,
            "peak": choose.choice(["1", "1", "1", "0.5", "3"]),
            "bandwidth": choose.choice(["1", "1", "1", "0.75", "2"]),
        }
        spread = {"n_gpus": 7, "n_nodes": 3, "allocation": "4,2,1", "link": None} if number % 40 == 7 else {}
        yield {**one, **more, **spread, **({"precision": None} if number % 5 == 2 else {})}


def link_of(asked):
    """The fragment of the page's address for a question."""
    launch = asked["host_launch_s"]
    texts = {
        "cnn": cnn_label(asked["cnn"], asked["pixels"], asked["classes"]),
        "gpu": asked["gpu"],
        "batch": asked["batch"],
        "precision": asked["precision"] or "",
        "layout": asked["layout"] or "",
        "compilation": asked.get("compilation", "eager"),
        "stack": asked["stack"] or "",
        "gpus": asked["n_gpus"],
        "nodes": asked["n_nodes"],
        "largest": (asked.get("allocation") or "0")[0],
        "link": asked["link"] or "own",
        "network": asked["fabric"] or "usual",
        "algorithm": asked["algorithm"],
        "host-launch": "" if launch is None else f"{1e6 * launch:g}",
        "is_tuned": str(asked["tuned"]).lower(),
        "is_bucketed": str(asked["bucketed"]).lower(),
        "has_optimizer": str(asked["optimizer"]).lower(),
        "has_input_copy": str(asked["copy"]).lower(),
        "peak": asked["peak"],
        "bandwidth": asked["bandwidth"],
    }
    return urlencode(texts)


def named(texts):
    """Texts with one name for every changed GPU, which command and page describe differently."""
    return [re.sub(r" of .* is not known", " is not known", text) for text in texts]


def compare(page, law, asked):
    """Check every answer of the page; return the warnings that were seen, and how many were refused."""
    answers = page.evaluate(ANSWERS, [link_of(one) for one in asked])
    seen, refused = set(), 0
    for one, answer, expected in zip(asked, answers, predicted(law, asked), strict=True):
        if expected is None:
            assert answer["fault"], one
            refused += 1
            continue
        assert answer["fault"] == "", one
        assert named(answer["warnings"]) == named(expected.warnings), one
        assert tuple(answer["notes"]) == expected.notes, one
        seen |= set(expected.warnings)
        memory = f"{expected.memory_least_bytes} {expected.memory_usual_bytes} {expected.fits_in_memory}"
        assert answer["memory"] == memory, one
        if math.isnan(expected.time_s):
            assert answer["seconds"] == "NaN" and answer["shown"] == "not defined", one
            continue
        found = [float(answer[name]) for name in ("seconds", "allReduce")]
        assert found == pytest.approx([expected.time_s, expected.exchange_s], rel=1e-9, abs=1e-15), one
        assert answer["shown"] == show_seconds(expected.time_s), one
        ends = [float(text) for text in answer["interval"].split()]
        assert ends == pytest.approx([end for end in (expected.low_s, expected.high_s) if end], rel=1e-9)
        assert sum(answer["shares"]) == pytest.approx(expected.time_s, rel=1e-9), one
    return seen, refused


KINDS = (
    "work per iteration than in any training run",
    "unlike any",
    "no training run used",
    "of the generation",
    "GPU of Apple",
    "cannot fit",
    "may not fit",
    "taken as 120",
    "at 2 ms per layer",
    "textbook all-reduce",
    "is not known",
    "by the scaling formula",
    "not defined here",
)


def test_further_choices_are_answered_as_the_command_does(opened, page_file, law):
    asked = list(asked_of(random.Random(12), 120))
    seen, refused = compare(opened(page_file), law, asked)
    assert 12 < refused < 60
    for words in KINDS:
        assert any(words in text for text in seen), words


def test_shorter_formulas_are_chosen_and_computed_as_the_command_does(opened, page_file):
    page, asked = opened(page_file), [*asked_of(random.Random(5), 12)]
    for name in FRONT:
        links = [f"formula={name}&{link_of(one)}" for one in asked]
        expected = predicted(formula_named(name), asked)
        for answer, prediction in zip(page.evaluate(ANSWERS, links), expected, strict=True):
            assert (prediction is None) == bool(answer["fault"])
            if prediction is not None and not math.isnan(prediction.time_s):
                assert float(answer["seconds"]) == pytest.approx(prediction.time_s, rel=1e-9)
                assert sum(answer["shares"]) == pytest.approx(prediction.time_s, rel=1e-9)


def with_joint_range(formula):
    columns = load("fp32-2026").features([spec.name for spec in formula.used_features])
    joint = JointRange.fit({name: columns[name] for name in columns}, load("fp32-2026").labels()["gpu_group"])
    return replace(formula, errors={**formula.errors, KEY: joint.to_json()})


HOST_LAW = (
    "max(2 * other_matrix_s + 3 * grouped_conv_simt_s, 1.5 * host_s) + 4 * conv_output_cached_s"
    " * exp(0.5 * is_amd)"
)
SEVERAL_LAW = "3 * total_compute_s + 0.9 * ring_s + 0.001 * log2_gpus + 0.002 * iteration_overhead_s / 0.001"


def calibrated(_):
    law = load_formula(BUILT_IN)
    known = {"gpus": ["T4", "B200"], "precisions": ["fp32"]}
    return replace(law, provenance={**law.provenance, "calibrated": known})


def of_text(text, **more):
    expression = parse_text(text)
    return Formula(expression, feature_specs(variables(expression)), TARGET, **more)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (with_joint_range, "unlike any"),
        (lambda _: of_text(HOST_LAW, errors={"interval": {"factor": 2.0}}), "no term of the formula depends"),
        (calibrated, "the formula is calibrated to"),
        (lambda _: of_text(SEVERAL_LAW, scope="multi_gpu_run"), "no term of the formula depends"),
    ],
    ids=["joint range", "host", "calibrated", "several GPUs"],
)
def test_other_formulas_are_computed_as_well(make, words, opened, formula, tmp_path):
    law = make(formula)
    (tmp_path / "page.html").write_text(page_html(law), encoding="utf-8")
    seen, _ = compare(opened(tmp_path / "page.html"), law, list(asked_of(random.Random(3), 30)))
    assert any(words in text for text in seen)


def test_link_brings_answer_and_comparison_back(opened, page_file):
    choice = {"cnn": "vgg16, 224 px, 1000 classes", "gpu": "T4", "batch": "48", "gpus": "8", "nodes": "2"}
    first = opened(page_file, urlencode(choice))
    first.click("#keep")
    first.fill("#batch", "12")
    assert first.is_visible("#comparison")
    said = "document.getElementById('verdict').textContent"
    verdict = eventually(first, f"{said}.startsWith('A is ') && {said}")
    address = eventually(first, "/batch=12&.*a.batch=48/.test(location.hash) && location.hash")
    second = opened(page_file, address.removeprefix("#"))
    assert second.inner_text("#verdict") == verdict
    assert second.inner_text("#time") == first.inner_text("#time")
    second.click("#swap")
    assert second.inner_text("#verdict").startswith("B is ")
    assert {name: second.input_value(f"#{name}") for name in choice} == choice
    second.evaluate("location.hash = '#gpu=T4&batch=7'")
    assert eventually(second, "document.getElementById('batch').value === '7'")
    assert second.is_hidden("#comparison")
    second.click("#share")
    assert eventually(second, "document.getElementById('shared').textContent !== ''")


def test_impossible_input_is_told_and_nothing_is_shown_for_it(opened, page_file):
    page = opened(page_file)
    faults = {
        "batch=many": "many",
        "gpus=4&nodes=3": "evenly",
        "gpu=<img src=x>": "unknown GPU",
        "cnn=%00": "unknown CNN",
        "precision=fp7": "fp7",
        "host-launch=-1": "µs",
        "has_optimizer=maybe": "maybe",
        "gpu=Instinct MI100&is_tuned=true": "tuned containers are NVIDIA's",
    }
    for link, words in faults.items():
        (answer,) = page.evaluate(ANSWERS, [link])
        assert words in answer["fault"], link
    (answer,) = page.evaluate(ANSWERS, ["=&&=&%E0%A4%A"])
    assert answer["fault"] == "" and page.evaluate("document.images.length") == 0
    page.fill("#batch", "0")
    assert page.get_attribute("#batch", "aria-invalid") == "true"
    page.fill("#batch", "32")
    assert page.inner_text("#fault") == "" and page.get_attribute("#batch", "aria-invalid") is None


def test_keyboard_and_search_are_enough(opened, page_file):
    page = opened(page_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "result"
    page.focus("#gpu")
    page.keyboard.press("Control+a")
    page.keyboard.type("h100 sxm")
    assert page.get_attribute("#gpu", "aria-expanded") == "true"
    assert page.locator("#gpu-list [role=option]").count() == 2
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#gpu") == "H100-SXM5-96GB" and page.is_hidden("#gpu-list")
    page.focus("#cnn")
    page.keyboard.press("Control+a")
    page.keyboard.type("vgg16 224")
    page.keyboard.press("Escape")
    assert page.input_value("#cnn") == "resnet50, 224 px, 1000 classes"
    page.fill("#gpu", "t4")
    page.focus("#batch-slider")
    assert page.input_value("#gpu") == "T4"
    before = page.get_attribute("#time", "data-seconds")
    page.keyboard.press("ArrowRight")
    assert float(page.get_attribute("#time", "data-seconds")) > float(before)
    page.fill("#gpu", "RTX 9999")
    page.focus("#batch")
    assert page.inner_text("#fault") == "unknown GPU 'RTX 9999': did you mean 'RTX 5050'?"


@pytest.mark.parametrize("key", ["Enter", "Tab"])
def test_a_typed_name_is_that_of_the_usual_size(key, opened, page_file):
    page = opened(page_file)
    for text, label in {
        "resnet50": "resnet50, 224 px, 1000 classes",
        "resnet 50": "resnet50, 224 px, 1000 classes",
        "Inception V3": "inception_v3, 299 px, 1000 classes",
        "regnet_x_1_6gf": "regnet_x_1_6gf, 224 px, 1000 classes",
        "vgg16_profet, 128": "vgg16_profet, 128 px, 100 classes",
    }.items():
        page.click("#cnn")
        page.keyboard.press("Control+a")
        page.keyboard.type(text)
        seen = page.evaluate("""() => {
          const chosen = document.querySelector("#cnn-list .active").getBoundingClientRect();
          const heading = document.querySelector("#cnn-list .heading").getBoundingClientRect();
          return chosen.top >= heading.bottom - 1;
        }""")
        page.keyboard.press(key)
        assert (page.input_value("#cnn"), page.inner_text("#fault"), seen) == (label, "", True), text


def test_names_are_understood_as_commands_do(opened, page_file):
    page = opened(page_file, "gpu=nvidia rtx4090&cnn=resnet-50&batch=8")
    assert page.inner_text("#fault") == ""
    by_name = page.get_attribute("#time", "data-seconds")
    exact = opened(page_file, "gpu=RTX 4090&cnn=resnet50, 224 px, 1000 classes&batch=8")
    assert exact.get_attribute("#time", "data-seconds") == by_name
    exact.fill("#gpu", "p4d.24xlarge")
    exact.press("#gpu", "Tab")
    assert (exact.input_value("#gpu"), exact.input_value("#gpus")) == ("p4d.24xlarge", "8")
    assert "1 node of 8 GPUs, link nvswitch3" in exact.inner_text("#notes")
    assert "price list: p4d.24xlarge" in exact.inner_text("#cost-remark")
    for text, name, n_gpus in (("4xT4", "T4", "4"), ("Tesla T4", "T4", "1")):
        exact.fill("#gpu", text)
        exact.press("#gpu", "Enter")
        assert (exact.input_value("#gpu"), exact.input_value("#gpus")) == (name, n_gpus), text
    exact.fill("#gpu", "A100")
    exact.press("#gpu", "Enter")
    assert exact.inner_text("#fault").startswith("'A100' may mean several GPUs: A100-PCIE-40GB, ")


def test_ranking_has_measured_kinds_first_and_hatches_the_others(opened, page_file):
    page = opened(page_file)
    page.click("#more")
    read = """name => [...document.querySelectorAll(`#${name}-rows tr`)].map(row =>
      [row.dataset.gpu, Number(row.dataset.seconds), row.querySelector(".hatched") !== null])"""
    measured, unmeasured = (page.evaluate(read, name) for name in ("measured", "unmeasured"))
    for rows in (measured, unmeasured):
        assert rows == sorted(rows, key=lambda row: row[1])
    assert len(measured) + len(unmeasured) > 150
    assert not any(hatched for *_, hatched in measured) and all(hatched for *_, hatched in unmeasured)
    assert {"B200", "Arc A770"} & {name for name, *_ in unmeasured} and "T4" in {
        name for name, *_ in measured
    }
    page.select_option("#order", "cost")
    first = page.locator("#measured-rows tr").first.inner_text()
    assert "USD" in first
    page.fill("#search", "hopper h100")
    names = [name for name, *_ in page.evaluate(read, "measured")]
    assert names and all("H100" in name for name in names)
    page.select_option("#precision", "bf16")
    assert page.evaluate(read, "measured") == []  # no training run is in this precision
    assert "left out" in page.inner_text("#left-out-title") and "120 µs" in page.inner_text("#one-host")
    page.click("#left-out-title")
    assert "K80" in page.inner_text("#left-out-names").split(", ")


def test_terms_hours_and_errors_stand_with_the_answer(opened, page_file, law):
    page = opened(page_file, "gpu=B200&images=50000&epochs=10&batch=256&precision=amp")
    assert page.locator("#terms > li").count() == 5 and page.locator("#smaller-terms > li").count() > 3
    assert page.get_attribute("#smaller", "open") is None
    titles = page.locator("[data-formula=''] .term h3").all_text_contents()
    assert len(set(titles)) == len(titles) > 8
    run = one_run("resnet50", "B200", 256, None, Setup("amp"))
    (row,) = predict_runs(law, run, training=Training(50_000, 10))
    said = page.inner_text("#training"), page.inner_text("#training-remark")
    assert f"{said[0]}   ({said[1]})" == dict(row.figures)["training"]
    page.fill("#price", "2")
    assert page.inner_text("#cost").endswith(" USD") and "2 USD per GPU" in page.inner_text("#cost-remark")
    sure = page.inner_text("#sure")
    (amp,) = [group for group in law.errors["precision"] if group["name"] == "amp"]
    assert "never measured" in sure and f"{amp['errors']['trainlaw']:.1f} %" in sure  # of the chip; of amp
    assert "90 % interval" in sure
    assert f"{row.high_s / row.time_s:.2f} times the prediction" in sure
    page.select_option("#precision", "")
    assert "tf32, linear layers fp32 (PyTorch's default" in page.inner_text("#notes")


DROP = """([name, text]) => {
  const moved = new DataTransfer();
  moved.items.add(new File([text], name));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: moved, bubbles: true, cancelable: true }));
}"""
SAID = "document.getElementById('custom-said').textContent"


def test_a_custom_cnn_is_dropped_and_bad_files_get_one_line(opened, page_file, law, tmp_path):
    facts = named_cnn("resnet50", 320)
    good = json.loads(cnn_json(facts)) | {"cnn": "mine <b>", "cnn_base": "mine"}
    page = opened(page_file, "gpu=T4&batch=16&precision=fp32")
    page.evaluate(DROP, ["mine.json", json.dumps(good)])
    assert eventually(
        page, "document.getElementById('cnn').value === 'mine <b>, 320 px, 1000 classes (custom)'"
    )
    (expected,) = predict_runs(law, one_run("resnet50", "T4", 16, 320, Setup("fp32")))
    assert float(page.get_attribute("#time", "data-seconds")) == pytest.approx(expected.time_s, rel=1e-12)
    without = {**good, "counts": {k: v for k, v in good["counts"].items() if k != "params"}}
    negative = {**good, "counts": good["counts"] | {"params": {"value": -1.0}}}
    bad = {
        "text that is no JSON": "{not json",
        "without “cnn”": "[]",
        "whole number for “n_classes”": json.dumps(good | {"n_classes": "10"}),
        "“params”": json.dumps(without),
        "no number of at least 0 for “params”": json.dumps(negative),
        "2 MB": " " * 2_000_000,
        "“cnn” and “counts”": '{"__proto__": {"cnn": "x", "counts": {}}}',
    }
    for place, (words, text) in enumerate(bad.items()):
        path = tmp_path / f"bad-{place}.json"
        path.write_text(text)
        page.set_input_files("#custom", path)
        said = eventually(page, f"{SAID}.startsWith('bad-{place}') && {SAID}")
        assert words in said and "\n" not in said and ("trainlaw cnn show" in said) == (words != "2 MB")
    assert page.input_value("#cnn").startswith("mine")


RUNS = """GPU;Model;Batch size;Precision;Step time (ms);n_gpus;note
Tesla T4;ResNet-50;64;fp32;430,5;1;fan off
T4;vgg16;32;AMP;150;1;
V100 16GB SXM2;resnet50;64;mixed;1e2;1;
RTX 9999;resnet50;64;fp32;100;1;
T4;resnet50;;fp32;100;1;
T4;resnet50;64;int4;100;1;
T4;resnet50;64;bf16;1,234;1;
T4;resnet50;64;fp32;0;1;
T4;resnet50;64;fp32
T4;resnet50;2.5;fp32;100;1;"""


def test_measured_runs_are_compared_row_by_row_and_none_is_skipped(opened, page_file, law, tmp_path):
    page = opened(page_file)
    page.evaluate(DROP, ["runs.csv", RUNS])
    said = eventually(page, "document.getElementById('runs-said').textContent")
    rows = page.evaluate("""[...document.querySelectorAll("#runs-rows tr")].map(row =>
      [...row.children].map(cell => cell.textContent))""")
    assert len(rows) == len(RUNS.splitlines()) - 1
    asked = [("T4", "resnet50", 64, "fp32"), ("T4", "vgg16", 32, "amp")]
    asked.append(("V100-SXM2-16GB", "resnet50", 64, "amp"))
    deviations = []
    for (gpu, cnn, batch, precision), measured, row in zip(asked, (0.4305, 0.15, 0.1), rows, strict=False):
        (expected,) = predict_runs(law, one_run(cnn, gpu, batch, None, Setup(precision)))
        deviations.append(100 * (expected.time_s / measured - 1))
        times = show_seconds(measured), show_seconds(expected.time_s)
        assert row[1:] == [*times, f"{deviations[-1]:+.1f} %"]
    middle = f"median deviation {median(map(abs, deviations)):.1f} %"
    assert said == f"runs.csv: 3 of 10 rows compared, {middle}; not read: note."
    reasons = ["unknown GPU", "batch is empty", "int4", "thousands", "nothing", "cells, got 4", "whole num"]
    for row, words in zip(rows[3:], reasons, strict=True):
        assert row[1].startswith("not understood: ") and words in row[1], row
    for place, (words, text) in enumerate(
        {
            "as in time_ms": "gpu,cnn,batch,time\nT4,resnet50,64,0.1",
            "changes what times mean": "gpu,cnn,batch,time_s,AMP\nT4,resnet50,64,0.1,1",
            "none or several of cnn": "gpu,batch,time_s\nT4,64,0.1",
            "none or several of batch": "gpu,cnn,batch,bs,time_s\nT4,resnet50,64,64,0.1",
        }.items()
    ):
        path = tmp_path / f"bad-{place}.csv"
        path.write_text(text)
        page.set_input_files("#runs", path)
        said = "document.getElementById('runs-said').textContent"
        assert words in eventually(page, f"{said}.startsWith('bad-{place}') && {said}")
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="needs axe-core-python")
    assert axe.Axe().run(page, options={"resultTypes": ["violations"]})["violations"] == []


def test_the_answer_stays_in_view(opened, page_file):
    for width, height in ((390, 844), (1280, 900)):
        page = opened(page_file, "", width, height=height)
        page.evaluate("document.getElementById('formula-title').scrollIntoView()")
        assert eventually(page, "!document.getElementById('glance').hidden")
        assert page.inner_text("#glance-time") == page.inner_text("#time")
        page.click("#glance-link")
        assert eventually(page, "document.getElementById('glance').hidden")
        assert page.evaluate("document.activeElement.id") == "result"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_fault_and_every_text_has_contrast(width, scheme, opened, page_file):
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="needs axe-core-python")
    page = opened(page_file, "gpus=8&nodes=2&batch=600&peak=2&gpu=B200&a.gpu=T4&a.batch=8", width, scheme)
    assert page.is_visible("#comparison")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#gpu")
    assert axe.Axe().run(page, options={"resultTypes": ["violations"]})["violations"] == []
    page.evaluate("document.querySelectorAll('details').forEach(item => (item.open = true))")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 300
    assert [text for ratio, text in found if ratio < 4.5] == []


def test_page_is_small_fits_the_narrowest_screens_and_paints(opened, page_file):
    """How soon it paints is measured by `python -m benchmarks.start_up`."""
    assert page_file.stat().st_size < 1_000_000
    page = opened(page_file, "", 320)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert eventually(page, "performance.getEntriesByName('first-contentful-paint')[0]?.startTime") > 0


def test_hostile_names_are_inert(opened, formula, tmp_path):
    evil = "</script><img src=x onerror=alert(1)>'\"&=@+-<!--\u2028"
    features = tuple(replace(spec, meaning=evil, symbol=evil) for spec in formula.features)
    errors = json.loads(json.dumps(formula.errors).replace('"vgg"', json.dumps(evil)))
    law = replace(
        formula,
        features=features,
        errors={**errors, "protocol": evil},
        provenance={"table": evil, "table_sha256": evil, "trainlaw_version": evil, "precisions": [evil]},
    )
    path = tmp_path / "page.html"
    path.write_text(page_html(law), encoding="utf-8")
    page = opened(path)
    assert page.evaluate("document.images.length") == 0
    assert math.isfinite(float(page.get_attribute("#time", "data-seconds")))
    assert page.evaluate("document.querySelectorAll('script').length") == 1
