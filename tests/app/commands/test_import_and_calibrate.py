"""From a spreadsheet to an answer by two commands: several cards, stacks, and numbers of GPUs in one file."""

import pandas as pd
import pytest
import trainlaw
from click.testing import CliRunner
from trainlaw.app.cli import app

CNNS = ("resnet50", "vgg16", "densenet121")
CARDS = ("T4", "RTX 3090")
STACKS = {"eager": {}, "NHWC": {"layout": "channels_last"}, "torch.compile": {"compilation": "inductor"}}


def seconds(gpu, cnn, **configuration):
    """A machine 10 % slower than the formula."""
    return 1.1 * trainlaw.predict(cnn, gpu, batch=64, precision="amp", **configuration).seconds


def cards():
    rows = [(gpu, cnn, 64, "AMP", 1e3 * seconds(gpu, cnn)) for gpu in CARDS for cnn in CNNS]
    return pd.DataFrame(rows, columns=["GPU", "Model", "Batch", "Precision", "ms"])


def stacks():
    rows = [
        (
            "RTX 3090",
            cnn,
            64,
            "yes",
            word == "NHWC",
            word == "torch.compile",
            64 / seconds("RTX 3090", cnn, **stack),
        )
        for word, stack in STACKS.items()
        for cnn in CNNS
    ]
    return pd.DataFrame(rows, columns=["GPU", "Model", "Batch", "AMP", "NHWC", "compile", "img/s"])


def numbers_of_gpus():
    rows = [
        (f"{n}x V100-SXM2-16GB", cnn, 64, "AMP", 64 * n / seconds("V100-SXM2-16GB", cnn, n_gpus=n))
        for n in (1, 2, 4)
        for cnn in CNNS
    ]
    return pd.DataFrame(rows, columns=["GPU", "Model", "Batch/GPU", "Precision", "img/s (total)"])


@pytest.mark.usefixtures("few_networks")
@pytest.mark.parametrize(
    ("table", "options", "column", "values", "warning"),
    [
        (cards, [], "gpu", list(CARDS), "--gpu calibrates one formula for each"),
        (stacks, [], "layout", ["nchw", "channels_last"], "factor of runs with runs_channels_last"),
        (
            numbers_of_gpus,
            ["--set", "gpus_per_node=4"],
            "n_gpus",
            [1, 2, 4],
            "runs on several GPUs do not calibrate: 6 left out",
        ),
    ],
)
def test_two_commands_lead_from_a_spreadsheet_to_a_formula(tmp_path, table, options, column, values, warning):
    path, law = tmp_path / "runs.csv", tmp_path / "law"
    table().to_csv(path, index=False)
    command = CliRunner()
    imported = command.invoke(app, ["data", "import", str(path), *options])
    assert imported.exit_code == 0, imported.output
    runs = pd.read_csv(tmp_path / "runs-imported.csv")
    assert list(dict.fromkeys(runs[column])) == values
    if table is stacks:
        assert (runs["compilation"] == "inductor").sum() == len(CNNS)
    calibrated = command.invoke(app, ["calibrate", str(tmp_path / "runs-imported.csv"), "--out", str(law)])
    assert calibrated.exit_code == 0, calibrated.output
    assert warning in " ".join(calibrated.output.split())
    found = trainlaw.predict("resnet50", runs["gpu"][0], batch=64, precision="amp", formula=law)
    before = trainlaw.predict("resnet50", runs["gpu"][0], batch=64, precision="amp")
    assert found.interval[1] / found.interval[0] < before.interval[1] / before.interval[0]
