"""The script of the page in Node, without a browser: it computes as `trainlaw predict` does."""

import json
import random
import shutil
import subprocess

import pytest
from trainlaw.app.inputs.requests import Setup, one_run
from trainlaw.app.models.builtin import BUILT_IN, formula_named
from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.page.html import page_html
from trainlaw.app.page.script import script_of
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.text.html import template_text
from trainlaw.app.text.numbers import show_hours_range, show_seconds_range
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.formulas import Formula, load_formula, parse_text, variables

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node, which is not on the PATH")

FORM = "// The form, the choice that it holds"
SETTINGS = ["is_channels_last", "is_tuned", "is_amd", "host_s", "host_launch_s"]
LAW = (
    "max(2 * other_matrix_s * (1 - 0.1 * is_tuned) + 3 * grouped_channels_last_simt_s, 1.5 * host_s)"
    " + 4 * conv_output_cached_s * exp(0.5 * is_amd)"
)
FIRST = {
    "cnn": cnn_label("mobilenet_v2", 224, 1000), "gpu": "T4", "batch": 8, "precision": "fp32",
    "layout": "nchw", "launch": None, "gpus": 1, "nodes": 1, "link": "own", "network": "ethernet-10g",
    "algorithm": "ring", "peak": 1, "bandwidth": 1, "has_optimizer": True, "is_tuned": False,
    "is_bucketed": True, "largest": 0, "images": 1281167, "epochs": 90, "price": None,
}  # fmt: skip
CHANGES = [
    ({}, {}),
    ({"layout": "channels_last"}, {"layout": "channels_last"}),
    ({"is_tuned": True, "batch": 256}, {"tuned": True}),
    ({"launch": 4e-5}, {"host_launch_s": 4e-5}),
    ({"launch": 5e-7, "gpu": "Instinct MI50"}, {"host_launch_s": 5e-7}),
    (
        {"launch": 9e-4, "layout": "channels_last", "is_tuned": True},
        {"host_launch_s": 9e-4, "layout": "channels_last", "tuned": True},
    ),
]


@pytest.fixture(scope="module")
def law():
    expression = parse_text(LAW)
    return Formula(expression, feature_specs(variables(expression)), TARGET)


def shown(law, choices):
    """Seconds and warnings of the page for each choice."""
    script = script_of(law).split(FORM)[0]  # what follows needs a document
    ask = (
        f"const asked = {json.dumps(choices)};\n"
        "console.log(JSON.stringify(asked.map((choice) => { const found = computed(choice.gpu, choice);"
        " return { seconds: found.seconds, factor: factorOf(choice.gpu, choice),"
        " warnings: sentencesOf(found, 'warning') }; })));"
    )
    done = subprocess.run([NODE, "-"], input=script + ask, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_settings_of_a_run_are_computed_as_predict_does(law):
    found = shown(law, [FIRST | change for change, _ in CHANGES])
    decided = []
    for (change, settings), page in zip(CHANGES, found, strict=True):
        choice = FIRST | change
        run = one_run("mobilenet_v2", choice["gpu"], choice["batch"], None, Setup("fp32", **settings))
        (expected,) = predict_runs(law, run)
        assert page["seconds"] == pytest.approx(expected.time_s, rel=1e-12), change
        assert tuple(page["warnings"]) == expected.warnings, change
        decided.append("the host's launches decide" in str(page["warnings"]))
    assert True in decided and False in decided


BUILT_IN_CHOICES = [
    ("V100-SXM2-16GB", "fp32", 64, {}),
    ("A100-SXM4-40GB", "amp", 128, {"layout": "channels_last", "tuned": True}),
    ("A100-SXM4-40GB", "tf32", 8, {"host_launch_s": 3e-5}),
    ("RTX 4090", "amp", 32, {}),
    ("Instinct MI50", "fp16", 32, {"layout": "channels_last"}),
    ("Radeon RX 7900 XTX", "amp", 16, {}),
    ("B200", "bf16", 64, {"layout": "channels_last"}),
    ("GTX 1080", "fp32", 1, {"host_launch_s": 9e-4}),
]


def test_the_built_in_formula_has_time_interval_and_warnings_of_predict():
    built_in = load_formula(BUILT_IN)
    choices = [
        FIRST | {
            "gpu": gpu, "precision": precision, "batch": batch, "layout": setup.get("layout", "nchw"),
            "is_tuned": setup.get("tuned", False), "launch": setup.get("host_launch_s"),
        }
        for gpu, precision, batch, setup in BUILT_IN_CHOICES
    ]  # fmt: skip
    found, factors = shown(built_in, choices), set()
    for (gpu, precision, batch, setup), page in zip(BUILT_IN_CHOICES, found, strict=True):
        run = one_run("mobilenet_v2", gpu, batch, None, Setup(precision, **setup))
        (expected,) = predict_runs(built_in, run)
        assert page["seconds"] == pytest.approx(expected.time_s, rel=1e-9), gpu
        assert page["seconds"] * page["factor"] == pytest.approx(expected.high_s, rel=1e-9), gpu
        assert tuple(page["warnings"]) == expected.warnings, gpu
        factors.add(page["factor"])
    assert len(factors) >= 5


def test_ranges_have_one_unit_as_in_the_terminal():
    generator = random.Random(5)
    lows = [10 ** generator.uniform(-7, 4) for _ in range(200)]
    pairs = [(low, low * 10 ** generator.uniform(0, 3.5)) for low in lows] + [(66.4, 124.3), (0.8, 1.2)]
    ask = (
        f"const asked = {json.dumps(pairs)};\n"
        "const texts = (ends) => [durations(ends), range(ends, hoursText, hourStep)];\n"
        "console.log(JSON.stringify(asked.map(texts)));"
    )
    script = template_text("answers.js") + ask
    done = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[show_seconds_range(*pair), show_hours_range(*pair)] for pair in pairs]
    assert json.loads(done.stdout)[-2:] == [
        ["66.4 to 124 s", "66.4 to 124 h"],
        ["800 to 1,200 ms", "0.8 to 1.2 h"],
    ]


SEVERAL = [
    ({"gpus": 8}, {"n_gpus": 8}),
    ({"gpus": 16, "nodes": 2, "is_bucketed": False}, {"n_gpus": 16, "n_nodes": 2, "bucketed": False}),
    ({"gpus": 7, "nodes": 3, "largest": 4}, {"allocation": "4,2,1"}),
    (
        {"gpus": 4, "nodes": 2, "algorithm": "parameter_server"},
        {"n_gpus": 4, "n_nodes": 2, "algorithm": "parameter_server"},
    ),
    ({"gpus": 4, "algorithm": "data_parallel"}, {"n_gpus": 4, "algorithm": "data_parallel"}),
    ({"gpus": 8, "nodes": 4, "algorithm": "tree"}, {"n_gpus": 8, "n_nodes": 4, "algorithm": "tree"}),
]


def test_several_gpus_are_computed_as_predict_does():
    built_in, scaling = load_formula(BUILT_IN), formula_named("multi")
    found = shown(built_in, [FIRST | change for change, _ in SEVERAL])
    for (change, setup), page in zip(SEVERAL, found, strict=True):
        run = one_run("mobilenet_v2", "T4", 8, None, Setup("fp32", **setup))
        (expected,) = predict_runs(built_in, run, scaling)
        assert page["seconds"] == pytest.approx(expected.time_s, rel=1e-9), change
        assert expected.exchange_s > 0
        assert tuple(page["warnings"]) == expected.warnings, change


def test_inputs_are_shown_only_where_the_formula_uses_them(law, formula):
    # What several GPUs add depends on the buckets and on the host.
    of_law, of_plain = (
        '"known":["is_tuned","is_bucketed","layout","host-launch"]',
        '"known":["is_bucketed","host-launch"]',
    )
    for each, known in ((law, of_law), (formula, of_plain)):
        assert known in script_of(each).replace('"has_optimizer",', "").replace('"has_optimizer"', "")
    text = page_html(law)
    assert all(f'id="{name}"' in text for name in ("layout", "is_tuned", "host-launch"))
