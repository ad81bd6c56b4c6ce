"""What misled five kinds of users who tried everything: each finding, by the command that met it.

Elsewhere: nodes of several GPUs in `predictions/test_scaling.py` and `test_plan.py`, the workbook in
`workbook/`, exports and the same answers everywhere in `test_same_answers.py`, names in
`inputs/test_names_as_written.py`, prices in `inputs/test_prices.py`, spreadsheets in
`commands/test_import.py`, the site in `tests/test_docs.py`, the vector interface in `test_api.py`.
Left as they are: warnings name features as `trainlaw features` lists them; in sixteen-bit ties of fast
GPUs at small batches the host decides, which a warning says.
"""

import pandas as pd
import pytest
import trainlaw
from trainlaw.app.cli import app
from typer.testing import CliRunner

RESNET = ("--cnn", "resnet50")
T4 = (*RESNET, "--gpu", "T4", "--batch", "32")


def said(*arguments):
    """What a command prints, on one line."""
    found = CliRunner().invoke(app, [*arguments], env={"COLUMNS": "100"})
    return " ".join(found.output.split())


SAID = {
    "several nodes have the fabric of their generation": (
        ("plan", *RESNET, "--gpu", "H100-SXM5-80GB", "--gpus", "16", "--batch", "256", "--precision", "amp"),
        "2 nodes of 8 GPUs, nvswitch4, infiniband-ndr-x8",
    ),
    "predict takes the same nodes": (
        ("predict", *RESNET, "--gpu", "V100-SXM2-16GB", "--batch", "64", "--gpus", "16"),
        "2 nodes of 8 GPUs, link nvlink2-x6, fabric infiniband-edr-x4",
    ),
    "a GPU of a vendor never measured": (
        ("predict", *RESNET, "--gpu", "Arc A770", "--batch", "64"),
        "no training run is on a GPU of Intel",
    ),
    "an architecture with a large error": (
        ("predict", "--cnn", "xception", "--gpu", "T4", "--batch", "64"),
        "expect this prediction to be off by as much",
    ),
    "a family of GPUs": (("predict", *RESNET, "--gpu", "A100", "--batch", "64"), "A100-SXM4-80GB"),
    "an incomplete GPU": (
        ("predict", *RESNET, "--gpu", "RTX 5050", "--batch", "64"),
        "l2_bytes of RTX 5050 is not known",
    ),
    "repeated GPUs": (("predict", *T4, "--gpu", "RTX4090"), "RTX 4090"),
    "several GPUs in one option": (("predict", *RESNET, "--gpu", "T4,L4", "--batch", "32"), "L4"),
    "scaling of several GPUs": (("scaling", *RESNET, "--gpu", "T4,L4", "--batch", "8"), "per GPU, L4"),
    "several GPUs in one file": (("scaling", *T4, "--gpu", "L4", "--json"), "expected one --gpu"),
    "a template of prices": (("plan", "--prices", "template"), "n_gpus,price_per_hour_usd"),
    "classes": (("predict", *T4, "--classes", "200"), "iteration time"),
    "a small training": (
        ("plan", *T4[:4], "--gpus", "1", "--images", "1000", "--epochs", "1", "--batch", "32", "--precision",
         "FP16", "--within", "1 day"),
        "1 epoch of 1,000 images; 1 of 1 plan within 24 h",
    ),
    "a small training in seconds": (
        ("plan", *T4[:4], "--gpus", "1", "--images", "1000", "--epochs", "1", "--batch", "32"),
        " s ",
    ),
    "only what is missing": (("predict", *T4[:4]), "expected --batch as well"),
    "a detector": (("predict", "--cnn", "yolov8", *T4[2:]), "your own network: --cnn net.onnx"),
    "a transformer": (("predict", "--cnn", "bert", *T4[2:]), "transformers are not modelled"),
    "no GPU": (("predict", *RESNET, "--gpu", "TPU v4", "--batch", "8"), "is no GPU"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "words"), SAID.values(), ids=SAID)
def test_finding_of_the_command_line(command, words):
    output = said(*command)
    assert words in output and "nan" not in output


def test_units_in_cells_win(in_empty_folder):
    rows = ["CNN,GPU,batch,step time", "resnet50,T4,16,0.1262 s", "resnet50,T4,32,219.7 ms"]
    (in_empty_folder / "runs.csv").write_text("\n".join([*rows, "vgg16,T4,16,~250 ms (noisy)"]))
    printed = said("data", "import", "runs.csv")
    assert "2 runs read" in printed and "noisy)=skip" in printed


def test_values_are_completed(monkeypatch, in_empty_folder):
    for words, found in (("scaling --gpu RTX", "RTX 3090"), ("plan --cnn eff", "efficientnet_b0")):
        monkeypatch.setenv("_TRAINLAW_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", f"trainlaw {words}")
        monkeypatch.setenv("COMP_CWORD", "3")
        assert found in CliRunner().invoke(app, [], prog_name="trainlaw").output


def test_tables_and_lists_are_frames(tmp_path):
    law = trainlaw.load_formula()
    assert set(trainlaw.gpus("RTX*")["gpu"]) > {"RTX 3090"}
    assert set(trainlaw.cnns("eff*")["cnn"]) > {"efficientnet_b0"}
    path = trainlaw.export(law, tmp_path / "law.csv")
    assert {"cnn", "gpu", "time_s"} < set(pd.read_csv(path, nrows=3).columns)
