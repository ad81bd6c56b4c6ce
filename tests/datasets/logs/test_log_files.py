"""Every kind of training log gives the time of a steady step, or says why it has none."""

from pathlib import Path

import numpy as np
import pytest
from trainlaw.datasets.logs.log_files import read_log
from trainlaw.formulas import InputError

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"

# File, facts, times of steps without waits in s, median wait in s (None: not in the log).
LOGS = {
    "log-torchvision.txt": (
        {"cnn": "resnet18", "batch_per_gpu": 32, "n_gpus": 1, "precision": "amp", "input_size_px": 176},
        [0.078, 0.079, 0.08],
        0.0004,
    ),
    "log-timm.txt": (
        {"cnn": "resnet50", "batch_per_gpu": 128, "n_gpus": 4, "precision": "default", "input_size_px": 160},
        [0.15, 0.15],
        0.051,
    ),
    "log-imagenet.txt": ({"cnn": "vgg16"}, [0.3, 0.304], 0.1),
    "log-keras.txt": ({}, [0.06, 0.062], None),
    "log-dllogger.json": (
        {"cnn": "resnet50", "batch_per_gpu": 128, "n_gpus": 8, "precision": "default", "input_size_px": 224},
        [0.32],
        0.08,
    ),
    "log-lightning.txt": ({}, [0.12], 0.03),
    "log-metrics.csv": ({"batch_per_gpu": 64}, [0.125, 0.1], None),
    "log-trainer-state.json": ({"batch_per_gpu": 32, "n_gpus": 1}, [0.5], None),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_gives_its_facts_and_the_steps_after_the_start_up(name):
    log, (facts, seconds, wait) = read_log(CORPUS / name), LOGS[name]
    assert {ours: value for ours, value in log.facts.items() if ours != "framework"} == facts
    np.testing.assert_allclose(log.step_seconds, seconds, rtol=1e-3)
    assert np.isnan(log.wait_s) if wait is None else log.wait_s == pytest.approx(wait)


@pytest.mark.parametrize(("name", "epochs"), [("log-results.csv", (30.0, 29.0)), ("log-mllog.txt", (2.0,))])
def test_times_of_epochs_are_not_times_of_steps(name, epochs):
    log = read_log(CORPUS / name)
    assert log.epochs == epochs and not len(log.seconds)


def test_steps_and_losses_are_no_times(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,step,train_loss_step,lr-SGD,val_loss\n0,49,6.9,0.1,\n0,99,6.8,0.1,\n")
    assert read_log(path).missing
    path.write_text("epoch,step,train_loss_step,step_time\n0,49,6.9,0.1\n0,99,6.8,0.1\n")
    assert "has no unit" in read_log(path).missing
    path.write_text("epoch,step,train_loss_step,step_time_ms\n0,49,6.9,900\n0,99,6.8,100\n")
    np.testing.assert_allclose(read_log(path).seconds, [0.1])


def test_only_the_bars_of_epochs_count(tmp_path):
    """Colours and bars that are drawn again, as in a terminal; the first whole bar has no validation."""
    path, bars = tmp_path / "train.log", ""
    for epoch in (1, 2):
        bars += f"Epoch {epoch}/2\n\x1b[1m 1/50\x1b[0m \x1b[37m━━━\x1b[0m 1:02 5s/step - loss: 2.3"
        bars += "\x08" * 40 + "\x1b[1m50/50\x1b[0m ━━━ \x1b[1m2s\x1b[0m 40ms/step - loss: 2.2"
        bars += "\r\x1b[1m50/50\x1b[0m ━━━ 3s 55ms/step - loss: 2.2 - val_loss: 2.1\n"
    path.write_text(bars + "50/50 ━━━ 0s 7ms/step\n")
    np.testing.assert_allclose(read_log(path).seconds, [0.04])


@pytest.mark.parametrize("name", ["log-torchvision.txt", "log-timm.txt", "log-imagenet.txt", "log-keras.txt"])
def test_two_trainings_and_a_single_step_are_refused(tmp_path, name):
    text = (CORPUS / name).read_text()
    path = tmp_path / name
    path.write_text(text + text)
    with pytest.raises(InputError, match="expected the log of one training"):
        read_log(path)
    lines = text.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith(("Epoch", "Train: ")))
    path.write_text("\n".join(lines[: first + (2 if "keras" in name else 1)]))
    with pytest.raises(InputError, match="got 1: the first holds the start-up"):
        read_log(path)


def test_tables_are_no_logs():
    tables = [path for path in CORPUS.iterdir() if not path.name.startswith("log-")]
    assert [path.name for path in tables if read_log(path)] == []
