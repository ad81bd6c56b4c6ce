"""Inputs that would give a wrong result in silence: each is refused or asked about, by its name."""

import os
import socket
from pathlib import Path

import openpyxl
import pytest
import typer.main
from click.testing import CliRunner
from trainlaw.app.cli import app

RUNS = "gpu,cnn,batch_per_gpu,time_s"
RUN = "T4,resnet50,32,0.29"
WANTED = "cnn,gpu,batch_per_gpu"
PRICES = "gpu,price_per_hour_usd,date,source"
GPU = "gpu,sm_count,lanes_per_sm,boost_clock_hz,peak_fp32_flop_per_s,memory_bytes,bandwidth_byte_per_s"
SHEET = "GPU,model,batch,time (ms),precision"

CHECK, IMPORT, FROM = ("data", "check"), ("data", "import"), ("predict", "--from")
PLAN = ("plan", "--cnn", "lenet5", "--gpus", "1", "--prices")
GPUS = ("gpus", "list", "--gpu-file")
SHOW, LAW = ("cnn", "show"), ("show",)
PROFILE = ("predict-from-profile", "--anchor-gpu", "T4", "--gpu", "K80", "--profile")
LAYERS = "kind,in_channels,in_height,in_width,out_channels,out_height,out_width"
COPIES = "\n".join(
    f"{gpu},{cnn},32,{time}"
    for gpu in ("T4", "V100-SXM2-16GB")
    for cnn, time in (("resnet50", 0.29131), ("vgg16", 0.48207), ("resnet18", 0.1178))
)
LABELS = "\n".join(
    f"T4,{cnn},32,{time},{time}" for cnn, time in (("resnet50", 0.29), ("vgg16", 0.48), ("vgg11", 0.3))
)

# Command, content of the file, words of the message.
CASES = {
    "gpus of a configuration": (FROM, f"{WANTED},gpus\nvgg16,T4,8,4\n", "'gpus': did you mean 'n_gpus'?"),
    "nodes of a configuration": (FROM, f"{WANTED},nodes\nvgg16,T4,8,2\n", "'nodes': did you mean 'n_nodes'?"),
    "pixels of a configuration": (FROM, f"{WANTED},pixels\nvgg16,T4,8,64\n", "mean 'input_size_px'?"),
    "dtype of a configuration": (FROM, f"{WANTED},dtype\nvgg16,T4,8,amp\n", "mean 'precision'?"),
    "misspelt column": (FROM, f"{WANTED},precison\nvgg16,T4,8,amp\n", "did you mean 'precision'"),
    "a remark": (FROM, f"{WANTED},my note\nvgg16,T4,8,x\n", "--ignore my note"),
    "a column twice": (FROM, f"{WANTED},gpu\nvgg16,T4,8,K80\n", "'gpu' more than once"),
    "a cell too many": (FROM, f"{WANTED}\nvgg16,T4,8,amp\n", "line 2: expected 3 cells, got 4"),
    "an open quote": (FROM, f'{WANTED}\nvgg16,"T4,8\nvgg16,T4,16\n', "expected a CSV table"),
    "half a batch": (FROM, f"{WANTED}\nvgg16,T4,32.5\n", "a whole number"),
    "decimal comma in a cell": (
        FROM,
        f"{WANTED},host_launch_s\nvgg16,T4,8,0,00004\n".replace(",0,", ";0,").replace(",", ";", 6),
        "got",
    ),
    "dtype of a run": (CHECK, f"{RUNS},precision,dtype\n{RUN},fp32,amp\n", "dtype: expected a known column"),
    "amp of a run": (CHECK, f"{RUNS},precision,amp\n{RUN},fp32,yes\n", "amp: expected a known column"),
    "num_gpus of a run": (CHECK, f"{RUNS},num_gpus\n{RUN},4\n", "n_gpus=num_gpus"),
    "img_size of a run": (CHECK, f"{RUNS},img_size\n{RUN},64\n", "input_size_px=img_size"),
    "inference": (CHECK, f"{RUNS},mode\n{RUN},inference\n", "mode: expected a known column"),
    "two times": (CHECK, f"{RUNS},time_ms\n{RUN},480\n", "time_ms: expected a known column"),
    "gap in an Excel header": (
        CHECK,
        [[*RUNS.split(",")[:3], None, "time_s"], ["T4", "resnet50", 32, 7, 0.3]],
        "a name for each column",
    ),
    "cells beyond an Excel header": (
        CHECK,
        [RUNS.split(","), ["T4", "resnet50", 32, 0.3, 0.4]],
        "a name for each column",
    ),
    "decimal comma": (CHECK, f"{RUNS}\n{RUN}\n".replace(",", ";").replace("0.29", "0,29"), "got '0,29'"),
    "copies under another GPU": (CHECK, f"{RUNS}\n{COPIES}\n", "those of T4; remove the copies"),
    "the time as a label": (CHECK, f"{RUNS},harness\n{LABELS}\n", "which is the target"),
    "the time as a feature": (
        CHECK,
        f"{RUNS},host_launch_s\n{LABELS}\n".replace("0.48,0.48", "0.9,0.9"),
        "host_launch_s",
    ),
    "fastest repeat slower": (CHECK, f"{RUNS},time_min_s\n{RUN},0.4\n", "at most time_s"),
    "GPUs that nodes do not divide": (
        CHECK,
        f"{RUNS},n_gpus,n_nodes,link,network,algorithm\n{RUN},3,2,pcie3-x16,ethernet-10g,ring\n",
        "a multiple of n_nodes",
    ),
    "10 or 12 GB": (IMPORT, f"{SHEET}\nRTX 3080,resnet50,32,200,fp32\n", "differ in memory"),
    "die or card K80": (IMPORT, f"{SHEET}\nK80,resnet50,32,900,fp32\n", "a board of it holds 2 GPUs"),
    "die or card M60": (IMPORT, f"{SHEET}\nTesla M60,resnet50,32,900,fp32\n", "a board of it holds 2 GPUs"),
    "no unit": (IMPORT, "GPU,model,batch,time,precision\nT4,resnet50,32,290,fp32\n", "no unit is stated"),
    "thousands or decimals": (IMPORT, f'{SHEET}\nT4,resnet50,32,"1,250",fp32\n', "--decimal"),
    "batch of all or each": (
        IMPORT,
        "GPU,GPUs,model,batch,time (ms),precision\nV100-SXM2-16GB,4,resnet50,128,120,fp32\n",
        "--batch-is",
    ),
    "no precision": (IMPORT, "GPU,model,batch,time (ms)\nT4,resnet50,32,290\n", "--precision"),
    "another unit than stated": (
        IMPORT,
        f"{SHEET}\nT4,resnet50,32,0.29,fp32\n".replace("ms", "s").replace("0.29", "290"),
        "these look like ms",
    ),
    "thousands in op statistics": (
        PROFILE,
        "operation;total_time_us\nConv2D;1,250\n",
        "not clear whether commas",
    ),
    "comma in operations": (
        PROFILE,
        'gpu,cnn,batch_per_gpu,time_s,device_Conv2D_s\nT4,vgg16,8,0.3,"1,250"\n',
        "expected a number",
    ),
    "a price with two commas": (
        PLAN,
        "gpu;price_per_hour_usd;date;source\nT4;0,35,1;2026-09-20;x\n",
        "price_per_hour_usd",
    ),
    "two prices": (PLAN, f"{PRICES}\nT4,1,2026-09-20,x\nT4,2,2026-09-20,x\n", "one price of T4"),
    "misspelt price column": (PLAN, "gpu,pirce\nT4,1\n", "price_per_hour_usd, got gpu, pirce"),
    "misspelt specification": (GPUS, "gpu,bandwith_byte_per_s\nT4,3e11\n", "bandwidth_byte_per_s"),
    "specification in another unit": (GPUS, "gpu,bandwidth_byte_per_s\nT4,320 GB\n", "bandwidth_byte_per_s"),
    "a GPU twice": (GPUS, "gpu,bandwidth_byte_per_s\nT4,3e11\nT4,4e11\n", "'T4'"),
    "groups that divide nothing": (
        ("cnn", "show"),
        f"{LAYERS},groups\ninput,3,8,8,3,8,8,1\nconv,3,8,8,4,8,8,0\n",
        "groups",
    ),
    "no group": (
        ("cnn", "show"),
        f"{LAYERS},groups\ninput,3,8,8,3,8,8,1\ndense,3,8,8,4,1,1,0\n",
        "groups",
    ),
    "misspelt layer column": (SHOW, f"{LAYERS},strides\ninput,3,8,8,3,8,8,1\n", "strides"),
    "formula with a field twice": (
        ("show",),
        '{"format": "trainlaw formula 1", "format": "x"}',
        "each field once",
    ),
    "an infinite number": (LAW, '{"format": 1e999}', "finite numbers"),
}


def written(path, content):
    if isinstance(content, list):
        book = openpyxl.Workbook()
        for row in content:
            book.active.append(row)
        book.save(path)
    else:
        path.write_text(content, encoding="utf-8")


@pytest.fixture(scope="module")
def run():
    commands = typer.main.get_command(app)
    return lambda *words: CliRunner().invoke(commands, list(map(str, words)))


@pytest.mark.parametrize("name", CASES)
def test_what_would_lie_is_refused_or_asked(name, run, tmp_path, monkeypatch):
    command, content, words = CASES[name]
    file = "a.xlsx" if isinstance(content, list) else "a.json" if content.startswith("{") else "a.csv"
    monkeypatch.chdir(tmp_path)
    written(tmp_path / file, content)
    result = run(*command, file)
    assert result.exit_code == 2 and words in result.output, result.output
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [CHECK, IMPORT, FROM, PLAN, PROFILE, ("cnn", "show")], ids=" ".join)
@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_file_is_refused_at_once(command, kind, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if kind == "pipe":
        os.mkfifo("a.csv")
    elif kind == "device":
        os.symlink("/dev/zero", "a.csv")
    else:
        server = socket.socket(socket.AF_UNIX)
        server.bind("a.csv")
        server.close()
    result = run(*command, "a.csv")
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    assert "is not a file" in result.stderr


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_semicolons_and_utf_16_are_read(encoding, run, tmp_path):
    for command, text in ((CHECK, f"{RUNS}\n{RUN}\n"), (FROM, f"{WANTED}\nvgg16,T4,8\n")):
        path = tmp_path / "a.csv"
        path.write_text(text.replace(",", ";"), encoding=encoding)
        assert run(*command, path).exit_code == 0


def test_a_column_may_be_left_out_by_name(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{RUNS},my note\n{RUN},x\n")
    result = run(*CHECK, path, "--ignore", "my note")
    assert result.exit_code == 0 and "not read: my note" in result.stdout


def test_a_formula_on_its_own_runs_is_in_sample():
    from dataclasses import replace

    from trainlaw.app.models.coverage import in_sample_warning
    from trainlaw.app.models.user_formula import find_formula
    from trainlaw.datasets import load

    formula, table = find_formula(None, Path.cwd())[0], load("default")
    assert "in-sample: all runs" in in_sample_warning(formula, table)[0]
    some = table.where((table.frame["gpu"] == "T4").to_numpy())
    assert "in-sample: all runs" in in_sample_warning(formula, some)[0]
    others = replace(some, _rows=some.frame.assign(time_s=some.seconds * 1.01))
    assert in_sample_warning(formula, others) == []


@pytest.mark.parametrize("words", [("data", "check", "runs.csv", "--column"), ("show", "--label")])
def test_a_long_option_is_shown_in_short(words, in_empty_folder):
    (in_empty_folder / "runs.csv").write_text(f"{RUNS}\n{RUN}\n")
    done = CliRunner().invoke(typer.main.get_command(app), [*words, "9" * 5_000])
    assert done.exit_code == 2 and len(done.output) < 1_000


def test_a_precision_for_all_rows_says_which_column_it_replaces(run, tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("GPU,model,batch size,ms,precision\nT4,resnet50,64,540,fp16\nT4,resnet50,32,280,fp32\n")
    done = run(*IMPORT, path, "--precision", "fp32", "--out", tmp_path / "o.csv", "--yes")
    assert "not read: precision (fp32 was given for every row)" in done.stdout
