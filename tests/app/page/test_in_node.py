"""Parts of the script of the page in Node, without a browser."""

import json
import random
import shutil
import subprocess

import pytest
from trainlaw.app.page.html import page_html
from trainlaw.app.page.script import script_of
from trainlaw.app.text.html import template_text
from trainlaw.app.text.numbers import show_hours_range, show_seconds_range
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.formulas import Formula, parse_text, variables

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node, which is not on the PATH")

LAW = (
    "max(2 * other_matrix_s * (1 - 0.1 * is_tuned) + 3 * grouped_channels_last_simt_s, 1.5 * host_s)"
    " + 4 * conv_output_cached_s * exp(0.5 * is_amd)"
)


@pytest.fixture(scope="module")
def law():
    expression = parse_text(LAW)
    return Formula(expression, feature_specs(variables(expression)), TARGET)


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
        ["800 to 1,200 ms", "48 to 72 min"],
    ]


def test_inputs_are_shown_only_where_the_formula_uses_them(law, formula):
    # What several GPUs add depends on the buckets and on the host.
    of_law, of_plain = (
        '"known":["layout","compilation","host-launch","is_tuned","is_bucketed"]',
        '"known":["compilation","host-launch","is_bucketed"]',
    )
    for each, known in ((law, of_law), (formula, of_plain)):
        assert known in script_of(each).replace('"has_optimizer",', "").replace('"has_optimizer"', "")
    text = page_html(law)
    assert all(f'id="{name}"' in text for name in ("layout", "is_tuned", "host-launch"))
