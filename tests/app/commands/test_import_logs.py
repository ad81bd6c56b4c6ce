"""A log becomes a run that `data check`, `calibrate` and `predict` take, once its questions are answered."""

import pandas as pd

from ...commands import invoke, output, refusal
from ...fuzz.readers import CORPUS


def test_what_a_log_does_not_say_is_asked_and_answered_by_the_command(in_empty_folder):
    log = CORPUS / "log-imagenet.txt"
    asked = invoke("data import", log, "--out", "runs.csv")
    assert asked.exit_code == 2 and "waits for data 100 ms, left out" in asked.stdout
    command = asked.stderr.partition(": trainlaw ")[2]
    for answer in ("T4", "32", "fp32"):
        command = command.replace("CHOICE", answer, 1)
    assert "1 run;" in output(command)
    (run,) = pd.read_csv("runs.csv").to_dict("records")
    assert (run["cnn"], run["batch_per_gpu"], run["n_repeats"]) == ("vgg16", 32, 2)
    assert run["time_s"] == 0.302 and (run["time_min_s"], run["time_max_s"]) == (0.3, 0.304)
    assert "no fault" in output("data check runs.csv")


def test_a_log_without_times_and_what_contradicts_it_are_refused(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,step,train_loss_step,lr-SGD\n0,49,6.9,0.1\n0,99,6.8,0.1\n")
    assert "no step times in this log" in refusal("data import", path)
    assert "cnn is vgg16 in the log" in refusal("data import --set cnn=resnet50", CORPUS / "log-imagenet.txt")


def test_times_of_epochs_take_the_number_of_images(in_empty_folder):
    said = (
        '--set gpu="RTX 3060" --set cnn=resnet50 --set batch_per_gpu=16 --precision amp --trust --out r.csv'
    )
    assert "images_per_epoch=CHOICE" in invoke(f"data import {said}", CORPUS / "log-results.csv").stderr
    # Who takes the seconds of epochs for milliseconds of steps is asked all the same.
    assert (
        "images_per_epoch=CHOICE"
        in invoke(f"data import {said} --unit ms", CORPUS / "log-results.csv").stderr
    )
    output(f"data import {said} --set images_per_epoch=1600", CORPUS / "log-results.csv")
    assert pd.read_csv("r.csv")["time_s"].tolist() == [0.295]
