"""What the commands print when all is well."""

import json
import re
from dataclasses import replace
from math import exp, hypot, log
from pathlib import Path

import pytest
from trainlaw.app.cli import app
from trainlaw.app.terminal.formula import errors_text
from trainlaw.datasets import TARGET, built_in_gpus, configuration, feature_specs
from trainlaw.formulas import Formula, GroupedConstant, load_formula, parse_text, save_formula
from trainlaw.validate.error_table import BY_CNN
from trainlaw.validate.result import OURS

from ...commands import invoke, output
from ...rows import each_row


def leaves(command, name="trainlaw"):
    found = {name: command}
    for part, inner in getattr(command, "commands", {}).items():
        found |= leaves(inner, f"{name} {part}")
    return found


COMMANDS = leaves(app)


@each_row("name", COMMANDS)
def test_options_have_one_name_everywhere(name):
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert options.isdisjoint({"--to", "--into", "--output", "--input", "--cnns", "--gpu-name", "--batches"})
    assert "--format" not in options or "--json" in options


def test_former_names_of_options_still_work(tmp_path):
    output("export", "--to", tmp_path / "law.json")
    output("export", "--out", tmp_path / "again.json")
    assert (tmp_path / "law.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    assert "--to" not in output("export", "--help")


def test_prediction_is_the_formula_on_the_features(formula_file):
    rows = json.loads(output("predict --cnn vgg16 --gpu T4 --batch 32 --json --formula", formula_file))
    law = load_formula(formula_file)
    run = configuration(cnn="vgg16", gpu="T4", batch_per_gpu=32)
    expected = law.predict(run.features([spec.name for spec in law.features]))[0]
    (row,) = rows
    assert row["time_s"] == expected
    # The formula's factor is 1.5; an architecture that it never held out counts as one with 22 % error.
    factor = exp(hypot(log(1.5), 1.3 * log(1.22)))
    assert row["high_s"] / row["time_s"] == pytest.approx(factor)
    assert row["time_s"] / row["low_s"] == pytest.approx(factor)
    assert row["samples_per_second"] == pytest.approx(32 / expected)
    assert row["interval_level"] == 0.9


def test_all_gpus_are_sorted_and_complete(formula_file):
    arguments = ("predict", "--formula", formula_file, "--cnn", "resnet50", "--batch", 64, "--all-gpus")
    rows = json.loads(output(*arguments, "--json"))
    times = [row["time_s"] for row in rows]
    assert times == sorted(times)
    usable = {
        gpu.gpu
        for gpu in built_in_gpus().gpus
        if gpu.peak_fp32_flop_per_s > 0 and gpu.bandwidth_byte_per_s > 0
    }
    assert {row["gpu"] for row in rows} == usable
    table = output(*arguments, "--vendor", "nvidia", "--min-memory", "24GB").splitlines()
    assert len(table) <= 24 and max(map(len, table[1:])) <= 120  # the first line names a long path
    assert table[0].startswith("formula: ")
    shown = [line.split("  ")[0] for line in table if re.search(r" m?s  +[\d.]+ to ", line)]
    assert shown and all(built_in_gpus().find(name).vendor == "NVIDIA" for name in shown)
    assert all(built_in_gpus().find(name).memory_bytes >= 24e9 for name in shown)
    assert [row["gpu"] for row in json.loads(output(*arguments, "--json", "--top", 3))] == [
        row["gpu"] for row in rows[:3]
    ]


def test_undefined_prediction_is_null(formula, tmp_path):
    law = replace(
        formula, expression=parse_text("conv_output_memory_s / depthwise_output_memory_s * layer_launch_s")
    )
    save_formula(law, tmp_path / "law.json")
    arguments = ("predict", "--formula", tmp_path / "law.json", "--cnn", "vgg16", "--gpu", "T4", "--batch", 8)
    (row,) = json.loads(output(*arguments, "--json"))
    assert row["time_s"] is None
    assert row["warnings"][-1] == "the formula is not defined here"
    assert "not defined" in output(*arguments)


def test_show_reads_the_formula_term_by_term(formula_file):
    text = output("show", formula_file, "--cnn", "vgg16", "--gpu", "T4", "--batch", 32, "--all")
    shares = [float(share) for share in re.findall(r"^ +([\d.]+) % +[\d.]+ m?s", text, re.MULTILINE)]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert shares == sorted(shares, reverse=True)
    for part in ("time_s [s] =", "im2col_compute_s", "training from", "vgg", "roofline", "error: 15.2 %"):
        assert part in text


def test_several_gpus_add_the_textbook_exchange_where_asked_for(formula_file):
    arguments = ("predict --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --formula", formula_file)
    (one,) = json.loads(output(*arguments, "--json"))
    several = ("--gpus", 8, "--link", "nvlink2-x6", "--law", "textbook")
    (eight,) = json.loads(output(*arguments, "--json", *several))
    run = configuration(
        cnn="resnet50", gpu="V100-SXM2-16GB", batch_per_gpu=64, n_gpus=8, link="nvlink2-x6", algorithm="ring"
    )
    exchange = run.matrix(["ring_s"])[0, 0]
    assert eight["exchange_s"] == exchange > 0 == one["exchange_s"]
    assert eight["time_s"] == pytest.approx(one["time_s"] + exchange, rel=1e-15)
    assert eight["samples_per_second"] == pytest.approx(8 * 64 / eight["time_s"])
    assert any("textbook" in warning for warning in eight["warnings"]) and not one["warnings"]
    (far,) = json.loads(output(*arguments, "--json", "--gpus", 8, "--nodes", 2, "--algorithm", "tree"))
    assert (far["link"], far["network"], far["algorithm"]) == ("nvlink2-x6", "infiniband-edr-x4", "tree")
    assert "all-reduce  " in output(*arguments, "--gpus", 8)


def test_the_group_of_a_constant_can_be_chosen(formula, tmp_path):
    constant = GroupedConstant("C[harness]", "harness", {"nvidia": 2.0, "mxnet": 0.5}, 1.25)
    grouped = replace(
        formula, expression=parse_text("C[harness] * layer_launch_s"), grouped=(constant,), ranges={}
    )
    save_formula(grouped, tmp_path / "grouped.json")
    asked = ["predict", "--formula", tmp_path / "grouped.json", "--cnn", "vgg16", "--gpu", "T4", "--batch", 8]
    times = {
        name: json.loads(output(*asked, "--json", *label))[0]["time_s"]
        for name, label in {"": [], **{n: ["--label", f"harness={n}"] for n in constant.values}}.items()
    }
    assert times["nvidia"] / times[""] == pytest.approx(2.0 / 1.25)
    assert times["mxnet"] / times[""] == pytest.approx(0.5 / 1.25)


def test_an_untrained_precision_is_warned_of(formula_file):
    arguments = ("predict", "--formula", formula_file, "--cnn", "vgg16", "--gpu", "T4", "--json")
    (row,) = json.loads(output(*arguments, "--batch", 32, "--precision", "amp"))
    assert row["precision"] == "amp" and "no training run used amp" in row["warnings"]


@pytest.mark.parametrize(
    "line",
    [
        "predict --cnn vgg16 --gpu T4 --batch 8 --formula",
        "show",
        "validate fp32-2026 --formula",
        "export --to page.html",
    ],
)
def test_law_of_layers_in_features_that_no_layer_has_is_refused(line, in_empty_folder):
    law = Formula(parse_text("2 * single_gpu_time_s"), feature_specs(["single_gpu_time_s"]), TARGET)
    save_formula(replace(law, scope="layer"), in_empty_folder / "layers.json")
    result = invoke(line, "layers.json")
    # A page is refused for what the formula models, before its features are looked at.
    wanted = "which has no page" if "page.html" in line else "feature of layers"
    assert result.exit_code == 2 and (wanted in result.stderr or "each layer" in result.stderr)
    output("export layers.json --to law.py")
    assert "sum over every layer of a run" in Path("law.py").read_text()


def test_a_terminal_lists_the_architectures_with_the_most_runs_best_first(formula):
    lines = [
        {"name": f"net{number}", "rows": 10 * number, "errors": {OURS: 50.0 - number}, "members": []}
        for number in range(30, 0, -1)
    ]
    law = replace(formula, errors={**formula.errors, "estimators": [OURS], BY_CNN: lines})
    text = errors_text(law)
    shown = [line.split()[0] for line in text.splitlines() if line.strip().startswith("net")]
    assert shown == [f"net{number}" for number in range(30, 10, -1)]
    assert "10 more architectures with fewer runs: errors.csv" in text
    few = replace(law, errors={**law.errors, BY_CNN: lines[:20]})
    assert "more architectures" not in errors_text(few)
