"""`--json` of every command that shows or lists: plain JSON with the facts that the table has."""

import json
import re

import pytest
from trainlaw.app.cli import app
from trainlaw.datasets import DATASETS, find_cnn_counts, find_gpu, load
from trainlaw.formulas import Formula, load_formula

from ...commands import output

COMMANDS = {
    "gpus list": ("ampere",),
    "gpus show": ("T4",),
    "gpus links": ("nvlink",),
    "cnn list": ("resnet50",),
    "cnn show": ("lenet5",),
    "cnn layers": ("lenet5",),
    "data list": (),
    "data show": ("cde-layers",),
    "show": ("multi",),
    "features": ("kernel",),
}


def value(name, *arguments):
    return json.loads(output(name, *arguments, "--json"), parse_constant=pytest.fail)


def test_every_command_that_shows_or_lists_has_json():
    top = app.commands
    groups = {name: command.commands for name, command in top.items() if hasattr(command, "commands")}
    named = [f"{group} {name}" for group, commands in groups.items() for name in commands]
    shown = {name for name in [*named, *top] if re.search(r"(^| )(show|list)$", name)}
    assert shown <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_plain(name):
    assert value(name, *COMMANDS[name])


def test_figures_are_those_of_the_tables():
    gpu = value("gpus show", "T4")
    assert gpu["specifications"]["memory_bytes"] == {
        "value": find_gpu("T4").memory_bytes,
        "unit": "B",
        "source": find_gpu("T4").source_of("memory_bytes"),
    }
    counts = value("cnn show", "lenet5")["counts"]
    assert {name: entry["value"] for name, entry in counts.items()} == dict(find_cnn_counts("lenet5").counts)
    assert [entry["name"] for entry in value("data list")] == list(DATASETS)
    runs = value("data show", "default", "--gpu", "T4")
    assert len(runs) == len(load("default").where(gpu="T4"))
    assert {entry["generation"] for entry in value("gpus list", "turing")} == {"Turing"}
    assert len(value("cnn list")) > len(value("cnn list", "resnet50")) > 5


def test_the_formula_can_be_read_back(formula_file):
    shown = value("show", str(formula_file))
    kept = {name: item for name, item in shown.items() if name not in ("origin", "terms", "predicts_runs")}
    assert Formula.from_json(kept) == load_formula(formula_file)
    assert shown["predicts_runs"] is True and len(shown["terms"]) == len(load_formula(formula_file).terms())
