"""Ways to a wrong number, as a table of mutations x readers: none passes without a word, right runs do."""

import csv
import io
from functools import cache

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from trainlaw.app.cli import app
from trainlaw.app.models.doubts import run_doubts
from trainlaw.app.models.law_times import law_seconds
from trainlaw.datasets.measurements.importing import runs_from_frame

GPUS, CNNS, BATCHES = ("T4", "V100-SXM2-16GB"), ("resnet50", "vgg16", "mobilenet_v2"), (16, 32, 64)
NEEDED = ["gpu", "cnn", "batch_per_gpu", "time_s"]


@cache
def runs_by_formula():
    """Runs of every GPU, CNN and batch above, with times by the formula."""
    rows = [(gpu, cnn, batch, 1.0) for gpu in GPUS for cnn in CNNS for batch in BATCHES]
    frame = pd.DataFrame(rows, columns=NEEDED)
    return frame.assign(time_s=law_seconds(runs_from_frame(frame, "runs")))


def right_runs(seed=0, spread=0.15):
    """Runs with times by the formula and what measurements deviate from it."""
    runs = runs_by_formula()
    return runs.assign(
        time_s=runs["time_s"] * np.exp(np.random.default_rng(seed).normal(0.0, spread, len(runs)))
    )


def scaled(factor):
    return lambda runs: runs.assign(time_s=runs["time_s"] * factor)


def one(place, factor):
    def changed(runs):
        times = runs["time_s"].to_numpy(copy=True)
        times[place] *= factor
        return runs.assign(time_s=times)

    return changed


def text(place, cell, column="time_s"):
    def changed(runs):
        cells = runs[column].astype(object).tolist()
        cells[place] = cell
        return runs.assign(**{column: cells})

    return changed


def column(**values):
    return lambda runs: runs.assign(**values)


def renamed(ours, theirs):
    return lambda runs: runs.rename(columns={ours: theirs})


def ordered(order):
    return lambda runs: runs.assign(time_s=order(runs["time_s"].to_numpy()))


def again(factor):
    return lambda runs: pd.concat([runs, scaled(factor)(runs.iloc[4:5])], ignore_index=True)


def swapped(name, pairs):
    return lambda runs: runs.assign(**{name: runs[name].replace(pairs)})


MUTATIONS = {
    **{
        f"all x {factor:.3g}": scaled(factor)
        for factor in (1e3, 1e6, 1e-3, 60, 1 / 60, 3600, 3, 1 / 3, 10, 0.1, 100, 0.01, 2.6, 0.38, 4, 8)
    },
    **{
        f"row {place} x {factor}": one(place, factor)
        for place in (0, 8, -1)
        for factor in (10, 0.1, 1000, 0.001, 60)
    },
    **{
        f"rows {place} x 1000": one(place, 1e3)
        for place in (slice(0, 9), slice(9, 18), slice(0, 3), slice(0, 18, 2))
    },
    **{
        f"cell {cell}": text(3, cell)
        for cell in (9999, 999, 99999, -1, 0, "inf", "nan", "n/a", "1,250", "0,54", "OOM")
    },
    "images per second": lambda runs: runs.assign(time_s=runs["batch_per_gpu"] / runs["time_s"]),
    "iterations per second": lambda runs: runs.assign(time_s=20 / runs["time_s"]),
    "time of an image": lambda runs: runs.assign(time_s=runs["time_s"] / runs["batch_per_gpu"]),
    "time of an epoch": lambda runs: runs.assign(time_s=runs["time_s"] * 1_281_167 / runs["batch_per_gpu"]),
    "one time for all": column(time_s=0.5),
    "reversed": ordered(lambda times: times[::-1]),
    "sorted": ordered(np.sort),
    "half of the table shifted": ordered(lambda times: np.roll(times, 9)),
    "contradiction x 10": again(10),
    "contradiction x 2": again(2),
    "contradiction / 3": again(1 / 3),
    "forward": column(timed_parts="forward"),
    "batch of 8 GPUs": lambda runs: runs.assign(batch_per_gpu=runs["batch_per_gpu"] * 8),
    "batch by 8 GPUs": lambda runs: runs.assign(batch_per_gpu=runs["batch_per_gpu"] // 8),
    "batch is half": text(2, 32.5, "batch_per_gpu"),
    "batch is 0": text(2, 0, "batch_per_gpu"),
    "GPUs exchanged": swapped("gpu", {"T4": GPUS[1], GPUS[1]: "T4"}),
    "another GPU": swapped("gpu", {"T4": "H100-SXM5-80GB"}),
    "an older GPU": swapped("gpu", {"V100-SXM2-16GB": "K80"}),
    "CNNs exchanged": swapped("cnn", {"vgg16": "mobilenet_v2", "mobilenet_v2": "vgg16"}),
    "unknown CNN": swapped("cnn", {"vgg16": "vgg17"}),
    "unknown GPU": swapped("gpu", {"T4": "T5"}),
    "32 px": column(input_size_px=32),
    "640 px": column(input_size_px=640),
    "tf32 on a T4": column(precision="tf32"),
    "unknown precision": column(precision="int8"),
    "64 GPUs in a node": column(n_gpus=64, n_nodes=1, link="pcie3-x16", algorithm="ring"),
    "fastest above median": lambda runs: runs.assign(time_min_s=2 * runs["time_s"]),
    "slowest below median": lambda runs: runs.assign(time_max_s=runs["time_s"] / 2),
    "the time as a label": lambda runs: runs.assign(harness=runs["time_s"].map(str)),
}
#: What `data import` reads rightly: columns by other names.
HEADINGS = {
    f"{ours} as {theirs}": renamed(ours, theirs)
    for ours, theirs in (
        ("time_s", "time_ms"),
        ("time_s", "latency"),
        ("time_s", "throughput"),
        ("batch_per_gpu", "global_batch"),
        ("batch_per_gpu", "bs"),
        ("gpu", "device"),
        ("cnn", "model"),
    )
}
# The other readers of runs read as `check` does: in `test_reported` all of them see some wrong times.
COMMANDS = {
    "check": "data check {}",
    "import": "data import {} --precision fp32 --skip-unmeasured --out new.csv",
}


def refused(reader, path):
    """Return whether a reader said more than that all is well."""
    result = CliRunner().invoke(app, COMMANDS[reader].replace("{}", str(path)).split())
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code == 2


# `--skip-unmeasured` leaves out what is no time, and says so; `--precision` is the one of all runs.
RIGHT = {("import", f"cell {cell}") for cell in ("nan", "n/a", "OOM", "inf", "-1", "0")}
RIGHT |= {("import", "tf32 on a T4"), ("import", "unknown precision")}


@pytest.mark.parametrize("reader", COMMANDS)
def test_no_wrong_number_is_silent(reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    silent = []
    for name, mutation in (MUTATIONS | (HEADINGS if reader == "check" else {})).items():
        path = tmp_path / "runs.csv"
        out = io.StringIO()
        frame = mutation(right_runs())
        csv.writer(out).writerows([list(frame.columns), *frame.astype(object).to_numpy().tolist()])
        path.write_text(out.getvalue())
        if (reader, name) not in RIGHT and not refused(reader, path):
            silent.append(name)
        for made in tmp_path.iterdir():
            assert made.name in ("runs.csv", "new.csv")
            made.unlink()
    assert silent == []


def test_right_runs_are_not_asked_about():
    """Of tables of any size with the usual deviations, at most 5 % are doubted."""
    asked, law_s = 0, runs_by_formula()["time_s"]
    for seed in range(60):
        kept = right_runs(seed, 0.2).sample(2 + seed % 17, random_state=seed)
        runs = runs_from_frame(kept.reset_index(drop=True), "runs")
        asked += bool(run_doubts(runs, law_s[kept.index].to_numpy()))
    assert asked <= 3
