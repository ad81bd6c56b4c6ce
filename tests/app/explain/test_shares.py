"""What a predicted time is made of."""

import json

import pytest
import trainlaw
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS

from ...commands import invoke

ASKED = ("resnet50", "T4", 64)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, None),
        ({"n_gpus": 8}, None),
        ({"timed_parts": "forward"}, None),
        ({}, "4"),
        ({}, "short"),
        ({}, "layer"),
    ],
)
def test_resources_and_terms_add_up_to_the_time(settings, name):
    formula = name and BUILT_IN_FORMULAS[name]()
    found = trainlaw.predict(*ASKED, explain=True, formula=formula, **settings)
    resources = found.explanation["resources"]
    times = [one["time_s"] for one in resources]
    assert sum(times) == pytest.approx(found.seconds, rel=1e-9) and times == sorted(times, reverse=True)
    assert sum(one["share"] for one in resources) == pytest.approx(1.0)
    for one in resources:
        terms = [term["time_s"] for term in one["terms"]]
        assert terms == sorted(terms, reverse=True)
        assert one["resource"].startswith("exchange") or sum(terms) == pytest.approx(one["time_s"])
    assert any(one["resource"].startswith("exchange") for one in resources) == ("n_gpus" in settings)
    assert trainlaw.predict(*ASKED, formula=formula, **settings).explanation is None


def test_the_side_that_binds_is_the_time():
    for batch, binds in ((4, "waiting for the host, which launches kernels"), (512, "the work of the GPU")):
        found = trainlaw.predict("resnet50", "H100-SXM5-80GB", batch, explain=True)
        (sides,) = found.explanation["largest_of"]
        assert max(sides, key=sides.get) == binds
        assert sides[binds] == pytest.approx(found.seconds, rel=1e-9)


def test_the_command_and_a_frame_say_the_same():
    asked = "predict --cnn resnet50 --gpu T4 --batch 1,64 --explain --json"
    rows = json.loads(invoke(asked).stdout)
    table = trainlaw.predict("resnet50", "T4", [1, 64], explain=True)
    assert [row["explanation"] for row in rows] == table["explanation"].tolist()
    text = invoke("predict --cnn resnet50 --gpu T4 --batch 64 --explain").stdout
    assert "the work of the GPU binds" in text and "memory and cache" in text
    for refused in ("--batch 1,64 --explain", "--batch 1 --explain --format csv"):
        result = invoke(f"predict --cnn resnet50 --gpu T4 {refused}")
        assert result.exit_code == 2 and "--explain: expected" in result.output
