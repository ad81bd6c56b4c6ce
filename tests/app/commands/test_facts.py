"""GPUs, CNNs, links, features and tables as the commands show them, and files of a person's own."""

import json
import re
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
from trainlaw.app.inputs.requests import RunRequest, requested_runs, runs_of_csv
from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.app.inputs.run_tables import any_table, find_table
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.datasets import (
    DATASETS,
    FEATURES,
    LAYER_FEATURES,
    built_in_gpus,
    cnn_table,
    find_cnn_counts,
    load,
)
from trainlaw.datasets.cnns.counts import explain
from trainlaw.datasets.cnns.names import cnn_names
from trainlaw.datasets.cnns.zoo import build, dense_names, timm_table, zoo_entry
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS
from trainlaw.datasets.hardware.links import links
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, memory_needs
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import InputError, load_formula

from ...commands import invoke, refusal
from ...commands import output as printed
from ...layer_tables import write_layer_table

CARDS = (
    "gpu,sm_count,core_count,boost_clock_hz,peak_fp32_flop_per_s,memory_bytes,bandwidth_byte_per_s\n"
    "Tensor Beast 9000,10,1280,1.5e9,3.84e12,8e9,2e11\n"
    "T4,,,,,,3.3e11\n"
)


output = partial(printed, columns=120)


@pytest.fixture
def gpu_file(tmp_path):
    path = tmp_path / "my-gpus.csv"
    path.write_text(CARDS)
    return path


@pytest.fixture
def cnn_file(tmp_path):
    path = tmp_path / "my-net.csv"
    write_layer_table(build("lenet5"), path)
    return path


def test_a_remark_about_a_gpu_is_shown():
    assert "remark: " in output("gpus", "show", "RTX 3080 12GB")


def test_own_gpus_are_added_and_corrected(gpu_file):
    assert "Tensor Beast 9000" in output("gpus", "list", "--gpu-file", gpu_file)
    text = output("gpus", "list")
    assert all(gpu.gpu in text for gpu in built_in_gpus().gpus) and "Beast" not in text
    assert re.search(r"^T4 +TU104 +Turing +16 GB +8\.14 TFLOP/s +320 GB/s$", text, re.MULTILINE)


def test_links_have_a_source_for_each_figure():
    text = output("gpus", "links")
    assert all(name in text for name in links() if name != "none")
    assert re.search(r"pcie4-x16 +nominal +31.508 GB/s +PCI Express Base 4.0", text)


def test_cnn_list_names_the_whole_zoo():
    text = output("cnn", "list", "--all")
    assert all(f"\n{name} " in text for name in cnn_names())
    sizes = output("cnn", "list", "--all", "--sizes")
    shipped = (cnn_table(), timm_table(), timm_table(later=True), dense_names())
    assert len(sizes.splitlines()) == 1 + sum(map(len, shipped))


def test_cnn_list_groups_by_family_and_fits_a_screen():
    text = output("cnn", "list")
    assert len(text.splitlines()) <= 30
    counts = [int(line.split()[1]) for line in text.splitlines()[1:19]]
    assert counts == sorted(counts, reverse=True)
    families = {zoo_entry(name).family for name in cnn_names()}
    assert all(re.search(rf"\b{family} +\d", text) for family in families)
    assert f"{len(cnn_names())} CNNs in {len(families)} families" in text


def test_explain_prints_the_definition_of_each_count():
    text = " ".join(output("cnn", "show", "resnet50", "--explain").split())
    for name, _, definition in explain():
        assert name in text
        assert " ".join(definition.split()) in text
    assert "element/sample" in text


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_layer_table_is_a_cnn(tmp_path, ending):
    path = tmp_path / f"mine.{ending}"
    write_layer_table(replace(build("lenet5"), name="mine"), path)
    text = output("cnn", "show", path)
    assert text.startswith("mine ")
    assert re.search(r"params +62,006", text)
    assert output("cnn", "layers", path).count("\n") == len(build("lenet5").layers) + 1


def test_folded_normalisation_is_noticed_and_put_back(tmp_path):
    onnx = pytest.importorskip("onnx", reason="the extra 'cnn' brings onnx")
    from onnx import TensorProto, helper

    weight = TensorProto(name="onnx::Conv_1", dims=[4, 3, 3, 3], data_type=TensorProto.FLOAT)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 8, 8])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 4, 6, 6])
    node = helper.make_node("Conv", ["image", "onnx::Conv_1"], ["out"], kernel_shape=[3, 3])
    graph = helper.make_graph([node], "net", [image], [out], [weight])
    path = tmp_path / "folded.onnx"
    onnx.save(helper.make_model(graph), path)
    text = output("cnn", "show", path)
    assert "note: batch normalisation is folded into 1 of 1 convolutions" in text
    assert re.search(r"n_batchnorm +1", text)
    assert re.search(r"n_batchnorm +0", output("cnn", "show", path, "--keep-folded"))
    asked = ("predict", "--cnn", path, "--gpu", "T4", "--batch", "8")
    assert "--keep-folded leaves it" in output(*asked)
    assert "--restore-batchnorm restores it" in output(*asked, "--keep-folded")
    (told,) = run_warnings(one_run(cnn=str(path)))
    assert any(text.startswith("batch normalisation is folded") for text in told)


def run_warnings(runs):
    return [row.warnings for row in predict_runs(load_formula(BUILT_IN), runs)]


def one_run(cnn="lenet5", gpu="T4", batch=8, **further):
    return requested_runs(RunRequest(cnn, gpu, (batch,), **further))


def test_predictions_take_own_gpus_and_cnns(gpu_file, cnn_file):
    table = one_run(
        cnn=str(cnn_file), gpu="Tensor Beast 9000", gpu_file=gpu_file, setup=Setup("amp", n_gpus=4)
    )
    names = ["bandwidth_byte_per_s", "params", "n_gpus", "bytes_per_element"]
    assert table.matrix(names).tolist() == [[2e11, 62006.0, 4.0, 2.0]]
    everywhere = one_run(cnn=str(cnn_file), gpu=None, all_gpus=True, gpu_file=gpu_file)
    assert {"Tensor Beast 9000", "T4"} <= set(everywhere.frame["gpu"])
    assert everywhere.where(gpu="T4").matrix(["bandwidth_byte_per_s"]).item() == 3.3e11


def test_a_file_of_plans_names_changed_gpus_and_files(tmp_path, cnn_file, gpu_file):
    plans = pd.DataFrame(
        {
            "cnn": [cnn_file, "resnet50", cnn_file],
            "gpu": ["T4 with 2x bandwidth", "Tesla T4", "Tensor Beast 9000"],
            "batch_per_gpu": [8, 8, 16],
            "n_gpus": ["", 4, ""],
            "algorithm": ["", "tree", ""],
        }
    )
    plans.to_csv(tmp_path / "plans.csv", index=False)
    table = runs_of_csv(tmp_path / "plans.csv", known_gpus(gpu_file))
    assert table.matrix(["bandwidth_byte_per_s"])[:, 0].tolist() == [6.6e11, 3.3e11, 2e11]
    assert table.matrix(["params"])[:, 0].tolist() == [62006.0, 25557032.0, 62006.0]
    assert table.matrix(["communication_s"])[1].item() == table.matrix(["tree_s"])[1].item() > 0


def test_two_cnns_of_one_name_are_refused(tmp_path):
    for folder, channels in (("a", "lenet5"), ("b", "mnist_cnn")):
        (tmp_path / folder).mkdir()
        net = build(channels, 32, 10)
        write_layer_table(replace(net, name="net"), tmp_path / folder / "net.json")
    plans = tmp_path / "plans.csv"
    rows = "".join(f"{tmp_path}/{folder}/net.json,T4,8\n" for folder in "ab")
    plans.write_text("cnn,gpu,batch_per_gpu\n" + rows)
    with pytest.raises(InputError, match="two different CNNs are called net"):
        runs_of_csv(plans)


def test_what_cannot_fit_is_told():
    assert run_warnings(one_run(cnn="resnet50")) == [()]
    (told,) = run_warnings(one_run(cnn="vgg16", batch=4096))
    assert any(text.startswith("cannot fit: the step keeps 3") for text in told)
    (told,) = run_warnings(one_run(cnn="resnet50", batch=192))
    assert any(text.startswith("may not fit") for text in told)


def test_measured_runs_fitted_so_they_are_not_said_to_be_impossible():
    """Only zeus' V100, recorded as the card of 16 GB, ran what that card cannot hold."""
    for name in ("precisions", "multi"):
        refused = load(name).where(memory_needs(load(name))["fits"] == CANNOT_FIT)
        assert set(refused.frame["source"]) <= {"zeus"}
        assert len(refused) <= 3


def test_unknown_specifications_of_a_card_are_told(gpu_file):
    def unknown(**asked):
        (told,) = run_warnings(one_run(**asked))
        return [text.partition(" of ")[0] for text in told if " is not known" in text]

    # Those of a file are assumed, which is printed when it is read.
    assert unknown(gpu="Tensor Beast 9000", gpu_file=gpu_file) == []
    # Its sources disagree on the size of the level 2 cache.
    assert (unknown(), unknown(gpu="RTX 5050")) == ([], ["l2_bytes"])


def test_features_print_their_definitions():
    text = output("features")
    for name, feature in FEATURES.items():
        assert name in text
        assert feature.is_base or f"= {feature.definition.split()[0]}" in text
    assert "= " not in output("features", "--brief")


def test_features_exist_for_layers_too():
    text = output("features", "--layers")
    assert all(name in text for name in LAYER_FEATURES)
    assert re.search(r"compute_s .*\n +(\* )?= 2 \* n_passes \* macs / peak_flop_per_s", text)


def test_data_list_says_size_coverage_licence_noise_and_anomalies():
    text = output("data", "list")
    for name, dataset in DATASETS.items():
        assert re.search(rf"^{name} +[\d,]+ +\d+ +[\d-]+ +1?\d?-?\d+", text, re.MULTILINE)
        flat = " ".join(text.split())
        for known in (dataset.coverage, dataset.licence, dataset.noise_floor, *dataset.anomalies):
            assert " ".join(known.split()) in flat
    assert re.search(r"^default +6,860 +59 +618 +1-4096 +one GPU, all precisions", text, re.MULTILINE)
    assert re.search(r"^fp32-2026 +1,730 +25 +48 +1-2048 +one GPU, fp32", text, re.MULTILINE)


@pytest.mark.parametrize("name", DATASETS)
def test_data_show_has_gpus_by_cnns(name):
    text = output("data", "show", name)
    assert "sha256" in text and "licence" in text
    assert re.search(r"\d+ \(\d+(-\d+)?\)", text)


def measured(path, frame):
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def own_runs(tmp_path):
    frame = load("fp32-2026").where(source="zeus").frame[["gpu", "cnn", "input_size_px", "n_classes"]]
    times = load("fp32-2026").where(source="zeus").seconds
    batches = load("fp32-2026").where(source="zeus").frame["batch_per_gpu"]
    return measured(tmp_path / "own.csv", frame.assign(batch_per_gpu=batches, time_s=times, precision="fp32"))


def test_outliers_of_a_file_are_found(tmp_path, own_runs):
    assert "nothing suspicious in 29 runs" in output("data", "outliers", own_runs)
    frame = pd.read_csv(own_runs)
    frame.loc[0, "time_s"] /= 1000
    text = output("data", "outliers", measured(tmp_path / "strange.csv", frame))
    assert re.search(r"^ *1 +\S+.* of the peak rate, more than 2.25", text, re.MULTILINE)
    assert "x rate" in text


@pytest.mark.parametrize("name", ["atlas-all", "h100", "h100-forward", "compiled", "multi"])
def test_built_in_tables_are_without_a_fault(name):
    assert f"{name}: no fault; next: trainlaw data outliers {name}" in output("data", "check", name)


def test_both_layouts_of_a_configuration_are_no_repeats():
    # One run of each in both layouts, which differ by up to 2.2 times.
    assert "repeats differ by 87 %" not in output("data", "outliers", "h100", "--all")
    assert "suspicious" in output("data", "outliers", "atlas-all")


def test_own_runs_are_merged_with_built_in_ones(tmp_path, own_runs):
    target = tmp_path / "all.csv"
    text = output("data", "import", own_runs, "--merge-with", "fp32-2026", "--to", target)
    assert "29 runs and 1,730 of fp32-2026; configurations in both, kept as repeats: 20" in text
    table = find_table(str(target))
    assert len(table) == 1759
    assert (table.frame["source"] == "unknown").sum() == 29
    assert table.where(source="profet") == load("fp32-2026").where(source="profet")


def test_own_gpus_and_cnns_in_own_runs(tmp_path, gpu_file, cnn_file):
    frame = pd.DataFrame(
        {"gpu": ["Tensor Beast 9000"], "cnn": ["my-net"], "batch_per_gpu": [8], "time_s": [0.002]}
    )
    runs = measured(tmp_path / "mine.csv", frame)
    own = ("--gpu-file", gpu_file, "--cnn-file", cnn_file)
    assert "no fault" in output("data", "check", runs, *own)
    assert "unknown CNN" not in output("data", "import", runs, *own, "--precision", "fp32")
    table = any_table(str(tmp_path / "mine-imported.csv"), gpu_file=gpu_file, cnn_files=[cnn_file])
    assert table.matrix(["params", "bandwidth_byte_per_s"]).tolist() == [[62006.0, 2e11]]
    assert "my-net" in invoke("data", "check", runs, "--gpu-file", gpu_file).stdout
    wrong = measured(tmp_path / "wrong.csv", frame.assign(input_size_px=64))
    assert "my-net has 32 px" in invoke("data", "check", wrong, *own).stdout


def test_a_named_cnn_is_the_shipped_one():
    assert named_cnn("ResNet-50") == find_cnn_counts("resnet50")
    assert named_cnn("resnet50").graph == build("resnet50")


def test_the_template_of_gpus_can_be_filled_and_used(tmp_path):
    empty, like = tmp_path / "mine.csv", tmp_path / "like.csv"
    text = output("gpus", "template", "--out", empty)
    assert re.search(r"^memory_bytes +needed +24 GB", text, re.MULTILINE)
    assert "column sm_count" in refusal("gpus", "list", "--gpu-file", empty)
    output("gpus", "template", "--like", "RTX 3090", "--out", like)
    header = like.read_text().partition("\n")[0].split(",")
    assert header[:7] == [
        "gpu",
        "sm_count",
        "core_count",
        "boost_clock_hz",
        "peak_fp32_flop_per_s",
        "memory_bytes",
        "bandwidth_byte_per_s",
    ]
    mine, known = known_gpus(like).find("My GPU"), known_gpus().find("RTX 3090")
    assert all(mine.number(name) == pytest.approx(known.number(name), nan_ok=True) for name in NUMBER_COLUMNS)


@pytest.mark.parametrize("options", [(), ("--layout", "channels_last"), ("--compile", "inductor")])
def test_forward_passes_are_near_those_measured(options):
    rows = load("forward").where(gpu="RTX 4090", cnn="timm/resnet50", input_size_px=224).frame
    compilation = "inductor" if "inductor" in options else "eager"
    layout = "channels_last" if "channels_last" in options else "nchw"
    rows = rows[(rows["compilation"] == compilation) & (rows["layout"] == layout)]
    batch = int(rows["batch_per_gpu"].max())
    words = ("--cnn", "timm/resnet50", "--pixels", "224", "--gpu", "RTX 4090", "--batch", str(batch))
    text = output("predict", "--forward", *words, "--precision", "amp", *options, "--format", "json")
    predicted = json.loads(text)[0]["time_s"]
    measured = rows[rows["batch_per_gpu"] == batch]["time_s"].median()
    assert predicted == pytest.approx(measured, rel=0.35)
    assert "iteration time" not in output("predict", "--forward", *words)
    # Every measured forward pass is in amp.
    answer = output("predict", "--forward", *words, *options, "--format", "json")
    assert json.loads(answer) == json.loads(text)
    assert "no training run used tf32" in output("predict", "--forward", *words, "--precision", "tf32")
