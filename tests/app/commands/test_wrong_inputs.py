"""Inputs that are wrong, or would give a wrong result in silence: each is refused or asked about by one line.

Nothing is written, and nothing is printed on standard output, unless it is a list of faults.
"""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from trainlaw.app.models.coverage import in_sample_warning
from trainlaw.app.models.user_formula import find_formula
from trainlaw.datasets import load

from ...commands import invoke, output, refusal, refused

GOOD = {"gpu": "T4", "cnn": "resnet50", "batch_per_gpu": "32", "time_s": "0.21"}
RUNS = "gpu,cnn,batch_per_gpu,time_s"
RUN = "T4,resnet50,32,0.29"
WANTED = "cnn,gpu,batch_per_gpu"
PRICES = "gpu,price_per_hour_usd,date,source"
SHEET = "GPU,model,batch,time (ms),precision"

CHECK, IMPORT, FROM = "data check", "data import", "predict --from"
PLAN = "plan --cnn lenet5 --gpus 1 --prices"
GPUS = "gpus list --gpu-file"
SHOW = "cnn show"
PROFILE = "predict-from-profile --anchor-gpu T4 --gpu K80 --profile"
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
        SHOW,
        f"{LAYERS},groups\ninput,3,8,8,3,8,8,1\nconv,3,8,8,4,8,8,0\n",
        "groups",
    ),
    "no group": (
        SHOW,
        f"{LAYERS},groups\ninput,3,8,8,3,8,8,1\ndense,3,8,8,4,1,1,0\n",
        "groups",
    ),
    "misspelt layer column": (SHOW, f"{LAYERS},strides\ninput,3,8,8,3,8,8,1\n", "strides"),
    "formula with a field twice": (
        "show",
        '{"format": "trainlaw formula 1", "format": "x"}',
        "each field once",
    ),
    "an infinite number": ("show", '{"format": 1e999}', "finite numbers"),
    "no configuration": (FROM, "", "missing: cnn, gpu, batch_per_gpu"),
    "configurations without a batch": (FROM, "cnn,gpu\nresnet50,T4\n", "batch_per_gpu"),
    "a header of configurations": (FROM, f"{WANTED}\n", "at least one row"),
    "an unknown GPU in a second row": (FROM, f"{WANTED}\nresnet50,T4,8\nresnet50,T44,8\n", "line 3"),
    "a batch below 0": (FROM, f"{WANTED}\nresnet50,T4,-8\n", "'-8'"),
    "a batch too large": (FROM, f"{WANTED}\nresnet50,T4,99999999999\n", "batch_per_gpu"),
    "time in ms": ("study", "gpu,cnn,batch_per_gpu,time_ms\nT4,resnet50,32,210\n", "time_s"),
    "runs on one GPU": ("study", f"{RUNS}\n{RUN}\n", "two kinds of GPU"),
}


def written(path, content):
    if isinstance(content, list):
        book = openpyxl.Workbook()
        for row in content:
            book.active.append(row)
        book.save(path)
    else:
        path.write_text(content, encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_what_would_lie_is_refused_or_asked(name, in_empty_folder):
    command, content, words = CASES[name]
    file = "a.xlsx" if isinstance(content, list) else "a.json" if content.startswith("{") else "a.csv"
    written(in_empty_folder / file, content)
    result = invoke(command, file)
    assert result.exit_code == 2 and words in result.output, result.output
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in in_empty_folder.iterdir()] == [file]


NO_TABLES = {
    "noise": random.Random(0).randbytes(1_000_000),
    "empty": b"",
    "prose": b"Dear reader,\n\nthis is a letter.\n",
    "header": RUNS.encode(),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10,
}


@pytest.mark.parametrize("name", NO_TABLES)
@pytest.mark.parametrize("command", ["study", CHECK, IMPORT])
def test_file_that_is_no_table(name, command, tmp_path, in_empty_folder):
    path = tmp_path / f"{name}.csv"
    path.write_bytes(NO_TABLES[name])
    assert path.name in refusal(command, path)
    assert list(in_empty_folder.iterdir()) == []
    assert not (tmp_path / f"{name}-imported.csv").exists()


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        ("time_s", None, "time_s"),
        ("gpu", None, "gpu"),
        ("time_s", "-0.2", "-0.2"),
        ("time_s", "0", "time_s"),
        ("time_s", "soon", "soon"),
        ("batch_per_gpu", "0", "batch_per_gpu"),
        ("batch_per_gpu", "2.5", "2.5"),
        ("gpu", "T44", "'T4'"),
        ("cnn", "resnet5", "'resnet50'"),
        ("precision", "fp31", "fp31"),
    ],
)
def test_table_with_a_fault_names_column_and_value(column, cell, expected, tmp_path, in_empty_folder):
    row = {name: text for name, text in (GOOD | {column: cell}).items() if text is not None}
    path = tmp_path / "runs.csv"
    path.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    assert expected in refusal("study", path)
    # What is wrong with a spreadsheet is listed, as it is asked for.
    result = invoke(IMPORT, path)
    assert refused(result) and expected.strip("'") in result.stdout
    assert list(in_empty_folder.iterdir()) == []


def test_time_in_another_unit_may_be_named(in_empty_folder):
    (in_empty_folder / "a.csv").write_text("gpu,cnn,batch_per_gpu,time_ms\nT4,resnet50,32,290\n")
    assert output(f"{CHECK} a.csv --column time_s=time_ms")
    assert "OURS=YOURS" in refusal(f"{CHECK} a.csv --column time_s")


def test_check_prints_a_line_per_fault(in_empty_folder):
    (in_empty_folder / "a.csv").write_text(f"{RUNS}\n{RUN}\nT4,vgg16,32,-1\nT44,vgg16,32,1\n")
    result = invoke(f"{CHECK} a.csv")
    assert len(result.stdout.splitlines()) == 2
    assert "2 faults" in refused(result)


def test_run_folder_is_not_overwritten(in_empty_folder):
    (in_empty_folder / "mine").mkdir()
    (in_empty_folder / "mine" / "letter").write_text("dear")
    assert "mine exists" in refusal("study --into mine")
    assert "not a run folder" in refusal("study --into mine --overwrite")
    assert (in_empty_folder / "mine" / "letter").read_text() == "dear"


ON_T4 = "predict --cnn vgg16 --gpu T4 --batch 8"
LINES = {
    "predict --cnn resnet50 --gpu T44 --batch 8": "'T4'",
    "predict --cnn resnet50 --gpu Tesla --batch 8": "'Tesla'",
    "predict --cnn resnet50 --gpu '' --batch 8": "GPU",
    "predict --cnn resnet5 --gpu T4 --batch 8": "'resnet50'",
    "predict --cnn '=cmd()' --gpu T4 --batch 8": "unknown CNN",
    "predict --cnn resnet50 --gpu T4": "--batch",
    "predict --cnn resnet50 --batch 8": "--gpu",
    "predict --cnn resnet50 --gpu T4 --all-gpus --batch 8": "--all-gpus",
    f"{ON_T4} --pixels 3": "too small",
    f"{ON_T4} --precision fp31": "fp31",
    f"{ON_T4} --gpus 3 --nodes 2": "multiple",
    f"{ON_T4} --gpus 2 --algorithm rnig": "'ring'",
    f"{ON_T4} --gpus 2 --link pcie": "unknown link",
    f"{ON_T4} --link pcie4-x16": "--gpus",
    f"{ON_T4} --fabric ethernet-10g": "--nodes",
    f"{ON_T4} --out {__file__}": "exists",
    "study nowhere.csv": "no such file",
    "study defaul": "'default'",
    "data show defaul": "'default'",
    "gpus show T44": "'T4'",
    "cnn show resnet5": "'resnet50'",
    f"gpus show {'x' * 5000}": "GPU",
    "cnn show '\x00\n=1'": "CNN",
    "export --to x.docx": ".docx",
    "export --to x": "'x'",
    "export --to nowhere/x.py": "nowhere",
}


@pytest.mark.parametrize("line", LINES)
def test_a_wrong_command_is_refused_in_one_line(line, in_empty_folder):
    result = invoke(line)
    assert LINES[line] in refused(result) and result.stdout == ""
    assert list(in_empty_folder.iterdir()) == []


def test_a_file_is_not_replaced_by_an_export(in_empty_folder):
    (in_empty_folder / "there.py").write_text("mine")
    assert "exists" in refusal("export --to there.py")
    assert (in_empty_folder / "there.py").read_text() == "mine"


@pytest.mark.parametrize(
    "line",
    ["predict --cnn resnet50 --gpu T4 --batch 8 --formula", "show", "export --to out.py"],
)
def test_formula_file_that_is_spoiled(line, formula_file, in_empty_folder):
    """Every other way to spoil one is tested with the reader, in tests/formulas/test_formula_file.py."""
    (in_empty_folder / "spoiled.json").write_text(formula_file.read_text().replace('"mul"', '"system"'))
    assert "spoiled.json" in refusal(line, "spoiled.json")
    assert not (in_empty_folder / "out.py").exists()


def test_no_formula_anywhere(in_empty_folder, monkeypatch):
    monkeypatch.setattr("trainlaw.app.models.user_formula.BUILT_IN", in_empty_folder / "none.json")
    assert "trainlaw study" in refusal("show")


@pytest.mark.parametrize("line", ["nonsense", "predict --batch many", "study --folds 1", "gpus show"])
def test_usage_errors_exit_2_without_a_traceback(line):
    result = invoke(line)
    assert result.exit_code == 2 and "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_real_process_fails_the_same_way(tmp_path):
    words = f"-m trainlaw predict --formula {tmp_path} --cnn a --gpu b --batch 1".split()
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error():
    command = f'"{sys.executable}" -m trainlaw cnn list | head -n 1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_semicolons_and_utf_16_are_read(encoding, in_empty_folder):
    for command, text in ((CHECK, f"{RUNS}\n{RUN}\n"), (FROM, f"{WANTED}\nvgg16,T4,8\n")):
        (in_empty_folder / "a.csv").write_text(text.replace(",", ";"), encoding=encoding)
        assert output(f"{command} a.csv")


def test_a_column_may_be_left_out_by_name(in_empty_folder):
    (in_empty_folder / "a.csv").write_text(f"{RUNS},my note\n{RUN},x\n")
    assert "not read: my note" in output(f"{CHECK} a.csv --ignore 'my note'")


def test_a_formula_on_its_own_runs_is_in_sample():
    formula, table = find_formula(None, Path.cwd())[0], load("default")
    assert "in-sample: all runs" in in_sample_warning(formula, table)[0]
    some = table.where((table.frame["gpu"] == "T4").to_numpy())
    assert "in-sample: all runs" in in_sample_warning(formula, some)[0]
    others = replace(some, _rows=some.frame.assign(time_s=some.seconds * 1.01))
    assert in_sample_warning(formula, others) == []


@pytest.mark.parametrize("line", [f"{CHECK} runs.csv --column", "show --label"])
def test_a_long_option_is_shown_in_short(line, in_empty_folder):
    (in_empty_folder / "runs.csv").write_text(f"{RUNS}\n{RUN}\n")
    done = invoke(line, "9" * 5_000)
    assert done.exit_code == 2 and len(done.output) < 1_000


def test_a_precision_for_all_rows_says_which_column_it_replaces(in_empty_folder):
    rows = "T4,resnet50,64,540,fp16\nT4,resnet50,32,280,fp32\n"
    (in_empty_folder / "mixed.csv").write_text(f"GPU,model,batch size,ms,precision\n{rows}")
    said = output(f"{IMPORT} mixed.csv --precision fp32 --out o.csv --yes")
    assert "not read: precision (fp32 was given for every row)" in said
