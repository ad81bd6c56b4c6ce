"""Settings of a run to predict: precision by default, layout, compilation, tuning, the host's launches."""

import json

import pytest
import trainlaw
from trainlaw.app.inputs.requests import host_launch_of, one_run, runs_of_csv
from trainlaw.datasets import TARGET, configuration, feature_specs, find_gpu
from trainlaw.datasets.hardware.gpus import Gpu
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import Formula, parse_text, save_formula

from ...commands import invoke

LAW = (
    "max(2 * other_matrix_s + 0.3 * is_tuned * conv3x3_matrix_s, 1.5 * host_s)"
    " + grouped_channels_last_simt_s * exp(0.5 * is_amd) + 3 * conv_output_cached_s"
)


@pytest.fixture
def law_file(tmp_path):
    expression = parse_text(LAW)
    names = ("other_matrix_s", "is_tuned", "conv3x3_matrix_s", "host_s", "grouped_channels_last_simt_s")
    law = Formula(expression, feature_specs([*names, "is_amd", "conv_output_cached_s"]), TARGET)
    save_formula(law, tmp_path / "law.json")
    return tmp_path / "law.json"


def invoked(*arguments):
    return invoke("predict --cnn resnet50 --batch 8", *arguments)


def predicted(*arguments):
    done = invoked(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("gpu", "precision"),
    [
        ("V100-SXM2-16GB", "fp32"),
        ("T4", "fp32"),
        ("A100-SXM4-40GB", "default"),
        ("RTX 3090", "default"),
        ("L4", "default"),
        ("H100-SXM5-80GB", "default"),
        ("Instinct MI300X", "fp32"),
        ("EPYC 7763", "fp32"),
    ],
)
def test_precision_by_default_is_that_of_pytorch(gpu, precision):
    assert find_gpu(gpu).default_precision == precision
    (row,) = predicted("--gpu", gpu)
    assert row["precision"] == precision
    said = {"default": "tf32, linear layers fp32"}.get(precision, precision)
    assert row["notes"][0].startswith(f"setup: 1 GPU, {said} (PyTorch's default")
    (asked,) = predicted("--gpu", gpu, "--precision", precision)
    assert ("default" in asked["notes"][0]) == (precision == "default") and asked["time_s"] == row["time_s"]


def test_a_gpu_of_unknown_maker_is_judged_by_its_rates():
    assert Gpu("mine", peak_fp32_flop_per_s=1e13, peak_tf32_flop_per_s=8e13).default_precision == "default"
    assert Gpu("mine", peak_fp32_flop_per_s=1e13, peak_tf32_flop_per_s=1e13).default_precision == "fp32"


def test_precision_by_default_holds_per_gpu_and_row(tmp_path):
    assert [one_run("lenet5", gpu, 8).frame["precision"].item() for gpu in ("T4", "A10")] == [
        "fp32",
        "default",
    ]
    plans = tmp_path / "plans.csv"
    plans.write_text("cnn,gpu,batch_per_gpu,precision\nlenet5,A10,8,\nlenet5,A10,8,fp32\n")
    assert runs_of_csv(plans).frame["precision"].tolist() == ["default", "fp32"]
    assert runs_of_csv(plans, precision="fp32").frame["precision"].tolist() == ["fp32", "fp32"]
    assert trainlaw.predict("lenet5", "A10", 8).precision == "default"
    assert configuration(cnn="lenet5", gpu="A10", batch_per_gpu=8).frame["precision"].item() == "fp32"


def test_settings_are_columns_of_the_run():
    setup = Setup(layout="channels_last", compilation="xla", tuned=True, host_launch_s=4e-5)
    run = one_run("resnet50", "T4", 8, None, setup)
    assert run.frame[["layout", "compilation", "tuned"]].iloc[0].tolist() == ["channels_last", "xla", 1]
    assert run.matrix(["is_channels_last", "is_tuned", "host_launch_s"])[0].tolist() == [1, 1, 4e-5]
    plain = one_run("resnet50", "T4", 8)
    assert plain.matrix(["is_channels_last", "is_tuned", "host_launch_s"])[0].tolist() == [0, 0, 120e-6]


def test_options_columns_and_the_facade_agree(law_file, tmp_path):
    options = ["--layout", "channels_last", "--compile", "inductor", "--tuned", "--host-launch", "40us"]
    (row,) = predicted("--gpu", "T4", "--formula", law_file, *options)
    names = ["layout", "compilation", "tuned", "host_launch_s"]
    assert [row[name] for name in names] == ["channels_last", "inductor", True, 4e-5]
    plans = tmp_path / "plans.csv"
    plans.write_text(
        f"cnn,gpu,batch_per_gpu,{','.join(names)}\nresnet50,T4,8,channels_last,inductor,1,4e-5\n"
    )
    done = invoke("predict --from", plans, "--formula", law_file, "--json")
    assert json.loads(done.stdout) == [row]
    settings = {"layout": "channels_last", "compilation": "inductor", "tuned": True, "host_launch_s": 4e-5}
    found = trainlaw.predict("resnet50", "T4", 8, formula=law_file, **settings)
    assert found.time_s == row["time_s"] and list(found.warnings) == row["warnings"]
    text = invoked("--gpu", "T4", "--formula", law_file, *options).stdout
    assert "layout channels_last, compilation inductor, vendor-tuned, host launch 40 µs per layer" in text
    assert "settings" not in invoked("--gpu", "T4", "--formula", law_file).stdout


def test_settings_that_no_term_knows_are_warned_of(law_file, formula_file):
    options = ("--compile", "xla", "--layout", "channels_last")
    (row,) = predicted("--gpu", "T4", "--formula", law_file, *options)
    assert not [text for text in row["warnings"] if "no term" in text]
    (row,) = predicted("--gpu", "T4", "--formula", formula_file, *options, "--tuned", "--host-launch", "1ms")
    assert sum("no term" in text for text in row["warnings"]) == 4


def test_the_host_is_said_to_decide_where_it_does(law_file):
    arguments = ["--formula", law_file, "--gpu", "A100-SXM4-40GB"]
    (row,) = predicted(*arguments)
    assert "the host's launches decide (batch 8), taken as 120 µs per layer: measure them" in str(row)
    (row,) = predicted(*arguments, "--host-launch", "100us")
    assert "the host's launches decide (batch 8), at 100 µs per layer" in row["warnings"]
    (row,) = predicted(*arguments, "--host-launch", "0.2us")
    assert "decide" not in str(row)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("40us", 40e-6), ("40 µs", 40e-6), ("0.04ms", 0.04e-3), ("4e-5s", 4e-5), ("1 s", 1.0)],
)
def test_host_launch_is_a_number_with_a_unit(text, seconds):
    assert host_launch_of(text) == seconds
