"""Every kind of training log gives the time of a steady step, or says why it has none."""

from pathlib import Path

import pytest
from trainlaw.datasets.logs.log_files import read_log
from trainlaw.formulas import InputError

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"

# File, cells of the row but for those of every log, median, least and greatest time in s, and a note.
LOGS = {
    "log-torchvision.txt": (
        {"cnn": "resnet18", "batch_per_gpu": "32", "n_gpus": "1", "amp": "True", "input_size_px": "176"},
        (0.079, 0.078, 0.08),
        "waits for data 0.4 ms, inside",
    ),
    "log-timm.txt": (
        {"cnn": "resnet50", "global_batch": 512, "n_gpus": "4", "amp": "no", "input_size_px": "160"},
        (0.15, 0.15, 0.15),
        "waits for data 51 ms, left out",
    ),
    "log-imagenet.txt": ({"cnn": "vgg16"}, (0.302, 0.3, 0.304), "waits for data 100 ms, left out"),
    "log-keras.txt": ({}, (0.061, 0.06, 0.062), "2 times after the start-up, from 0.06 to 0.062 s"),
    "log-dllogger.json": (
        {"cnn": "resnet50", "batch_per_gpu": 128, "n_gpus": 8, "amp": "no", "input_size_px": 224},
        (0.32,),
        "waits for data 80 ms, left out",
    ),
    "log-lightning.txt": ({}, (0.12,), "waits for data 30 ms, left out"),
    "log-metrics.csv": ({"batch_per_gpu": 64}, (0.1125, 0.1, 0.125), "log of Lightning's metrics.csv"),
    "log-trainer-state.json": ({"batch_per_gpu": 32, "n_gpus": 1}, (0.5,), "the mean of 200 steps"),
    "log-mmengine.txt": ({"n_gpus": "8"}, (0.3135, 0.312, 0.315), "waits for data 4 ms, inside"),
    "log-paddle.txt": ({}, (0.31166, 0.311, 0.31232), "waits for data 1.215 ms, inside"),
    "log-tensorboard.csv": ({}, (0.1239,), "evaluations are inside"),
    "log-horovod.txt": (
        {"cnn": "resnet50", "batch_per_gpu": "32", "n_gpus": "4"},
        (0.1, 0.08, 0.16),
        "log of Horovod's synthetic benchmark",
    ),
    "log-tf-cnn.txt": (
        {"cnn": "vgg16", "global_batch": "64", "n_gpus": "1"},
        (0.375, 0.25, 0.5),
        "the mean of all steps before it",
    ),
}
OF_ALL = ("framework", "harness", "n_repeats", "time_s", "time_min_s", "time_max_s")


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_a_row_with_the_median_of_the_steps_after_the_start_up(name):
    log, (facts, seconds, note) = read_log(CORPUS / name), LOGS[name]
    assert {heading: cell for heading, cell in log.row.items() if heading not in OF_ALL} == facts
    assert tuple(log.row[own] for own in OF_ALL[3:] if own in log.row) == pytest.approx(seconds)
    assert note in "; ".join(log.notes)


def test_times_of_epochs_are_not_times_of_steps():
    row = read_log(CORPUS / "log-results.csv").row
    assert row["Epoch time (s)"] == 29.5 and "time_s" not in row
    row = read_log(CORPUS / "log-mllog.txt").row
    assert (row["Epoch time (s)"], row["global_batch"], row["images_per_epoch"]) == (230.0, "256", "1281167")


def test_only_the_bars_of_epochs_count(tmp_path):
    """Colours and bars that are drawn again, as in a terminal; the first whole bar has no validation."""
    path, bars = tmp_path / "train.log", ""
    for epoch in (1, 2):
        bars += f"Epoch {epoch}/2\n\x1b[1m 1/50\x1b[0m \x1b[37m━━━\x1b[0m 1:02 5s/step - loss: 2.3"
        bars += "\x08" * 40 + "\x1b[1m50/50\x1b[0m ━━━ \x1b[1m2s\x1b[0m 40ms/step - loss: 2.2"
        bars += "\r\x1b[1m50/50\x1b[0m ━━━ 3s 55ms/step - loss: 2.2 - val_loss: 2.1\n"
    path.write_text(bars + "50/50 ━━━ 0s 7ms/step\n")
    assert read_log(path).row["time_s"] == 0.04


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
