"""Rows as the profiler writes them, on devices that the GPU table lacks, through study, validate, predict."""

import csv
import json
from importlib.util import find_spec

import pandas as pd
import pytest
from trainlaw.app.studies.definition import asked_definition, definition_of, read_study_table
from trainlaw.app.studies.kinds.kind import study_labels
from trainlaw.app.studies.material import defined_splits
from trainlaw.datasets import configuration, find_gpu
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.profiler.machine import Processor
from trainlaw.datasets.profiler.row_files import MachineFile
from trainlaw.formulas import InputError, load_formula

from ...commands import invoke, refusal

pytestmark = pytest.mark.usefixtures("quick_studies")
CNNS = ("alexnet_mx", "resnet18", "squeezenet1_1", "vgg11")
LAW = "20 * macs * batch / peak + 1e-3"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Runs of one CPU with 1 and with 2 threads; the time is that of LAW, so that its error is known."""
    folder = tmp_path_factory.mktemp("machine")
    processor = Processor("Honest CPU", 2, 16, 2.5e9, 8e9, 32e6, 32e3)
    file = MachineFile(folder / "runs.csv")
    rows = []
    for threads in (1, 2):
        row = processor.gpu_row(threads, 0.0, 1e10)
        file.add(row)
        for cnn in CNNS:
            macs = configuration(cnn=cnn, gpu="T4", batch_per_gpu=1).matrix(["macs"])[0, 0]
            for batch in (2, 8, 32):
                seconds = 20 * macs * batch / row["peak_fp32_flop_per_s"] + 1e-3
                rows.append([row["gpu"], cnn, batch, seconds])
    with open(folder / "runs.csv", "w", newline="") as text:
        csv.writer(text).writerows([["gpu", "cnn", "batch_per_gpu", "time_s"], *rows])
    return folder


def test_a_processor_counts_as_one_and_a_card_does_not(machine):
    wanted = definition_of(
        {"table": str(machine / "runs.csv"), "gpu_file": str(machine / "runs-machine.csv")}, "here"
    )
    assert set(study_labels(read_study_table(wanted))["device"]) == {"CPU"}
    assert (find_gpu("EPYC 7742").device, find_gpu("T4").device) == ("CPU", "GPU")


def test_validate_takes_own_devices(machine):
    own = ["--gpu-file", machine / "runs-machine.csv", "--split", "cnn", "--against", "null_compute"]
    done = invoke("validate", machine / "runs.csv", *own, "--formula", LAW, "--into", machine / "scored")
    assert done.exit_code == 0, (done.output, done.exception)
    formula = load_formula(machine / "scored" / "formula.json")
    assert formula.errors["summary"]["trainlaw"]["mape_percent"] == pytest.approx(0.0, abs=1e-6)
    assert set(formula.provenance["own_files_sha256"]) == {"runs-machine.csv"}


def test_a_study_of_own_devices_can_be_defined_again_and_predicts_there(machine, tmp_path, monkeypatch):
    monkeypatch.chdir(machine)
    options = ["--gpu-file", "runs-machine.csv", "--split", "cnn", "--against", "null_compute"]
    budget = ["--evaluations", 200, "--workers", 1]
    done = invoke("study", "runs.csv", *options, *budget, "--into", machine / "one")
    assert done.exit_code == 0, (done.output, done.exception)
    facts = json.loads((machine / "one" / "provenance.json").read_text())
    assert set(facts["own_files_sha256"]) == {"runs-machine.csv"}
    report = (machine / "one" / "report.html").read_text()
    # Architectures were held out, and nothing may say that GPUs were.
    assert "error on held-out architectures" in done.output
    assert "on held-out architectures" in report
    assert "2: and runs of other CNNs" in done.output
    assert "next: trainlaw predict --cnn alexnet_mx --gpu 'Honest CPU, 1 thread'" in done.output
    assert not any(words in done.output for words in ("new GPU", "held-out GPU"))
    monkeypatch.chdir(tmp_path)  # the files are found from anywhere
    again = asked_definition(machine / "one" / "study.toml", {})
    assert len(read_study_table(again)) == 24
    device = MachineFile(machine / "runs.csv").names[0]
    asked = ["--formula", machine / "one", "--gpu-file", machine / "runs-machine.csv", "--json"]
    done = invoke("predict", "--cnn", "resnet18", "--batch", 8, "--gpu", device, *asked)
    assert done.exit_code == 0, (done.output, done.exception)
    assert json.loads(done.output)


def test_a_single_platform_is_refused_before_the_search(machine):
    done = invoke(
        "study",
        machine / "runs.csv",
        "--gpu-file",
        machine / "runs-machine.csv",
        "--by",
        "device",
        "--into",
        machine / "never",
    )
    assert done.exit_code == 2 and "found only 'CPU'" in done.output
    assert not (machine / "never").exists()


def test_on_a_single_device_networks_can_be_held_out(machine):
    lines = (machine / "runs.csv").read_text().splitlines(keepends=True)
    (machine / "one.csv").write_text("".join(line for line in lines if "2 threads" not in line))
    entries = {"table": str(machine / "one.csv"), "gpu_file": str(machine / "runs-machine.csv")}
    wanted = definition_of({**entries, "split": "cnn"}, "here")
    labels = study_labels(read_study_table(wanted))
    held_out = {key for split in defined_splits(wanted, labels, "one.csv") for key in split.held_out}
    assert held_out == set(labels["cnn_base"])
    with pytest.raises(InputError, match="on one GPU hold out CNNs: --split cnn"):
        defined_splits(definition_of(entries, "here"), labels, "one.csv")


def test_own_files_are_for_own_runs(machine):
    assert "are for runs in a file" in refusal("study default --gpu-file", machine / "runs-machine.csv")


def test_without_its_file_a_device_is_unknown(machine):
    assert "Honest CPU" in refusal("validate", machine / "runs.csv", "--formula", LAW)


def test_a_processor_may_have_half_a_gigabyte_of_cache(tmp_path):
    MachineFile(tmp_path / "runs.csv").add(
        Processor("Large CPU", 8, 16, 2.6e9, 25e9, 503e6, 48e3).gpu_row(1, 0.0, 1e10)
    )
    (row,) = csv.DictReader((tmp_path / "runs-machine.csv").open())
    assert with_gpus(tmp_path / "runs-machine.csv").find(row["gpu"]).l2_bytes == float(row["l2_bytes"]) > 4e8


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_runs_of_torch_are_checked_and_calibrate(tmp_path):
    path, own = tmp_path / "runs.csv", ["--gpu-file", tmp_path / "runs-machine.csv"]
    asked = "--cnn resnet18,squeezenet1_1 --batch 2 --pixels 64 --threads 1 --device cpu --limit-seconds 0.5"
    done = invoke("profile", *asked.split(), "--out", path)
    assert done.exit_code == 0, done.output
    runs = pd.read_csv(path)
    assert sorted(runs["cnn"]) == ["resnet18", "squeezenet1_1"]
    assert set(runs["timed_parts"]) == {"forward+backward+optimizer"} and set(runs["device"]) == {"cpu"}
    assert (runs[["forward_s", "backward_s", "update_s"]] > 0).all(axis=None)
    assert (runs["forward_s"] < runs["time_s"]).all()
    assert "no fault" in invoke("data", "check", path, *own).output
    # The machine may be busy, so that its times are far from the formula's.
    done = invoke("calibrate", path, *own, "--trust", "--out", tmp_path / "law")
    assert done.exit_code == 0 and "2 runs" in done.output, done.output
