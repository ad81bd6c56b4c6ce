from collections import Counter

import pandas as pd
import pytest
from trainlaw.app.inputs import contributions as module
from trainlaw.app.inputs.contributions import anonymous, check_source, contribution
from trainlaw.datasets import load
from trainlaw.formulas import InputError


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("mail ada@example.org now", "an e-mail address"),
        ("GPU-1f2e3d4c-aaaa-bbbb-cccc-0123456789ab", "a serial number"),
        ("node 192.168.1.20", "a network address"),
        ("link 0a:1b:2c:3d:4e:5f", "a network address"),
        ("/scratch/ada/study/runs.csv", "a path"),
        (r"C:\Users\ada\runs.csv", "a path"),
        ("measured on bigbox1", "the name of this host"),
        ("by adalovelace", "the name of this user"),
    ],
)
def test_private_texts_are_removed_and_counted(monkeypatch, text, kind):
    monkeypatch.setattr(module, "_host_name", lambda: "bigbox1")
    monkeypatch.setattr(module, "_user_name", lambda: "adalovelace")
    counter = Counter()
    clean = anonymous(text, counter)
    assert counter == {kind: 1}
    assert "removed" in clean
    for word in ("ada", "bigbox1", "1f2e3d4c", "192.168", "0a:1b"):
        assert word not in clean


def test_ordinary_texts_stay_as_they_are():
    text = "torch 2.4.0, python 3.12.1, Linux, cuda 12.1, cudnn 90100, driver 550.54.15; 2x EPYC 7742"
    counter = Counter()
    assert anonymous(text, counter) == text
    assert not counter


def test_only_columns_of_the_schema_and_the_machine_are_passed_on():
    runs = load("fp32-2026").where(gpu="T4")
    file = pd.DataFrame(
        {"gpu": "T4", "hardware": "T4 in /scratch/ada/box", "measured_at": ["now"] * len(runs)}
    )
    made = contribution(runs, file, "my-lab", "CC0-1.0")
    assert list(made.runs.frame) == list(runs.frame)
    assert set(made.runs.frame["source"]) == {"my-lab"}
    assert made.left_out == ("measured_at",)
    assert made.machine["hardware"] == ["T4 in removed"]
    assert made.replaced["a path"] >= 1
    (gpu,) = made.machine["gpus"]
    assert gpu["gpu"] == "T4"
    assert gpu["memory_type"] == "GDDR6"


@pytest.mark.parametrize("name", ["profet", "My Lab", "ab", "a" * 61])
def test_names_of_sources_are_plain_and_new(name):
    with pytest.raises(InputError, match="--source"):
        check_source(name, frozenset({"profet"}))
