"""Files and streams that once ended in a traceback, filled the memory or gave a wrong number in silence."""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import trainlaw
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.formulas import InputError, load_formula

from ..commands import invoke, refused

LIMIT_BYTES = 2**30
RUNS = "gpu,cnn,batch_per_gpu,time_s\nT4,resnet50,64,0.54\n"
PREDICT = ("predict", "--cnn", "resnet50", "--gpu", "T4", "--batch", "64")


def refuses(result, *said):
    line = refused(result)
    assert all(text in line for text in said), line


def process(*words, **options):
    """Run the command in a process of its own, with little memory."""

    def limited():
        resource.setrlimit(resource.RLIMIT_DATA, (3 * LIMIT_BYTES, 3 * LIMIT_BYTES))

    command = [sys.executable, "-P", "-m", "trainlaw", *map(str, words)]
    return subprocess.run(command, preexec_fn=limited, timeout=600, check=False, **options)


def test_closed_output_is_one_line():
    command = 'exec "$0" -P -m trainlaw predict --cnn resnet50 --gpu T4 --batch 64 >&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard output is closed" in done.stderr


def test_full_output_is_one_line():
    with open("/dev/full", "w") as full:
        done = process(*PREDICT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "trainlaw: file system: No space left on device\n")


def test_output_in_ascii_has_escapes():
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = process(*PREDICT, env=ascii_only, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u00b5" in done.stdout


@pytest.fixture
def formula_file(tmp_path):
    """A copy of the built-in formula."""
    return Path(shutil.copy(BUILT_IN, tmp_path / "formula.json"))


def stored(formula_file, **changes):
    """Write the formula again, with other fields."""
    formula_file.write_text(json.dumps(json.loads(formula_file.read_text()) | changes))
    return formula_file


def test_modules_of_the_current_folder_are_not_executed(tmp_path):
    """Neither the command nor the process that simplifies formulas imports one."""
    here, programs = tmp_path / "here", tmp_path / "programs"
    here.mkdir()
    programs.mkdir()
    for name in ("json", "sympy", "numpy"):
        (here / f"{name}.py").write_text("from pathlib import Path\nPath('executed').touch()\n")
    # As installers write the command: a program in another folder.
    (programs / "command.py").write_text("from trainlaw.app.cli import main\nmain()\n")
    (programs / "simplified.py").write_text(
        "from trainlaw.formulas import parse_text, simplify\nprint(simplify(parse_text('(a * b + a) / a')))\n"
    )
    for words in (("command.py", *PREDICT), ("simplified.py",)):
        command = [sys.executable, programs / words[0], *words[1:]]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-300:]
    assert not (here / "executed").exists()


def test_json_with_control_characters_is_json(formula_file):
    known = load_formula(formula_file).provenance | {"table": "a\x9bb\u202e"}
    result = invoke("show", stored(formula_file, provenance=known), "--json")
    assert json.loads(result.stdout)["provenance"]["table"] == "a\x9bb\u202e"


def test_reversed_range_is_refused(formula_file):
    name = next(iter(load_formula(formula_file).ranges))
    path = stored(formula_file, ranges={name: [0.5, 0.25]})
    refuses(invoke("show", "--all", path), "[low, high]", "[0.5, 0.25]")


def test_nested_columns_are_refused(tmp_path):
    path = tmp_path / "gpus.parquet"
    pq.write_table(pa.table({"gpu": ["T4"], "sm_count": pa.array([{"a": 1}])}), path)
    refuses(invoke("gpus", "list", "--gpu-file", path), "struct", "sm_count")


def test_long_text_in_parquet_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "bomb.parquet"
    # As a dictionary, so that to write the file takes no memory either; its schema says texts.
    same = np.zeros(100_000, dtype=np.int32)
    columns = {"gpu": ["x" * 20_000], "cnn": ["resnet50"]}
    rows = pa.table({name: pa.DictionaryArray.from_arrays(same, text) for name, text in columns.items()})
    pq.write_table(rows, path, row_group_size=100_000, store_schema=False)
    assert path.stat().st_size < 2_000
    for words in (("data", "check"), ("data", "import")):
        done = process(*words, path, capture_output=True, text=True)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "unpacked" in done.stderr


def test_many_columns_of_parquet_are_refused_by_name(tmp_path):
    path = tmp_path / "wide.parquet"
    zeros = np.zeros(1_000_000)
    pq.write_table(pa.table({f"c{number}": zeros for number in range(60)}), path)
    refuses(invoke("data", "check", path), "50000000 cells")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_texts_of_parquet_are_read(tmp_path, kind):
    path = tmp_path / "runs.parquet"
    texts = {"gpu": ["T4", "T4"], "cnn": ["resnet50", "vgg16"]}
    columns = {name: pa.array(values).cast(kind) for name, values in texts.items()}
    pq.write_table(pa.table(columns | {"batch_per_gpu": [64, 32], "time_s": [0.54, 0.45]}), path)
    assert invoke("data", "check", path).exit_code == 0


HEADER = "gpu,cnn,batch_per_gpu,time_s"
SERIES = "T4,resnet50,8,0.08\nT4,resnet50,16,0.14\nT4,resnet50,32,0.27\nT4,vgg16,8,0.12\nT4,vgg16,32,0.45"
WRONG_TIMES = {
    "ms": (f"{HEADER}\nT4,resnet50,64,540\nT4,vgg16,32,450", "ms read as s"),
    "images/s": (f"{HEADER}\nT4,resnet50,64,118\nT4,vgg16,32,71", "times those of the built-in formula"),
    "three times": (f"{HEADER}\nT4,resnet50,64,1.6\nT4,vgg16,32,1.35", "times those of the built-in formula"),
    "one run in ms": (f"{HEADER}\nT4,resnet50,64,540", "ms read as s"),
    "placeholder": (f"{HEADER}\n{SERIES}\nT4,resnet18,64,9999", "row 6"),
    "one run times 100": (f"{HEADER}\n{SERIES}\nT4,resnet18,64,19", "row 6"),
    "contradiction": (f"{HEADER}\n{SERIES}\nT4,resnet50,32,0.027", "contradict"),
    "forward pass": (f"{HEADER},timed_parts\nT4,resnet50,64,0.17,forward", "forward in row 1"),
}


@pytest.mark.parametrize("name", WRONG_TIMES)
def test_wrong_times_are_asked_about_by_every_reader(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, said = WRONG_TIMES[name]
    path = tmp_path / "runs.csv"
    path.write_text(f"{content}\n")
    law = "6 * macs * batch / peak / 0.4"
    # A file of forward passes alone is in order; it does not train a formula of whole iterations.
    checked = () if name == "forward pass" else (("data", "check"),)
    for words in (*checked, ("calibrate",), ("study",), ("validate", "--formula", law)):
        refuses(invoke(*words, path), said)
    for function in (partial(trainlaw.calibrate, "built-in"), trainlaw.study):
        with pytest.raises(InputError, match=said):
            function(path)
    assert "doubtful: " in invoke("data", "outliers", path).stdout
    imports = ("data", "import", path, "--precision", "fp32", "--out", tmp_path / "out.csv")
    assert invoke(*imports).exit_code == 2
    assert [place.name for place in tmp_path.iterdir()] == ["runs.csv"]
    if name == "forward pass":
        refuses(invoke("calibrate", path, "--trust"), said)
    else:
        assert trainlaw.calibrate("built-in", path, trust=True).provenance["calibrated"]


def test_no_interval_is_narrower_than_the_error_of_the_runs_left_out(tmp_path):
    path = tmp_path / "runs.csv"
    before = trainlaw.load_formula().errors["interval"]["factor"]
    for rows, least in (("T4,resnet50,64,0.54", before), ("T4,resnet50,64,1.6\nT4,vgg16,32,1.35", 1.3)):
        path.write_text(f"{HEADER}\n{rows}\n")
        law = trainlaw.calibrate("built-in", path, trust=True)
        left_out = law.provenance["calibrated"]["error_left_out_percent"] or 0.0
        factor = law.errors["interval"]["factor"]
        # Factors are stored with six decimals.
        assert factor >= max(least, 1 / (1 - left_out / 100)) - 1e-6


def bind_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)


@pytest.mark.parametrize(
    "line",
    [
        "study fp32-2026 --rates x.csv",
        "study fp32-2026 --split list --held-out x.toml",
        "study --definition x.toml",
        "study x.csv",
        "data check x.csv",
        "data import x.csv",
        "data import x.txt.gz",
        "predict --from x.csv",
        "cnn show x.onnx",
        "cnn show x.json",
        "gpus list --gpu-file x.csv",
        "show x.json",
        "plan --cnn lenet5 --gpus 1 --prices x.csv",
        "predict-from-profile --anchor-gpu T4 --gpu K80 --cnn vgg16 --batch 32 --profile x.json",
    ],
)
@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, bind_socket, lambda path: os.symlink("/dev/zero", path)]
)
def test_what_is_no_file_is_refused(line, make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(next(word for word in line.split() if word.startswith("x.")))
    result = invoke(line)
    assert result.exit_code == 2 and isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.stderr


def test_a_formula_of_another_version_is_said_so(formula_file):
    known = dict(load_formula(formula_file).provenance) | {"trainlaw_version": "0.0.9"}
    result = invoke(*PREDICT, "--formula", stored(formula_file, provenance=known))
    assert "the formula is of trainlaw 0.0.9" in " ".join(result.stdout.split())


SHEET = "gpu,model,batch"


@pytest.mark.parametrize(
    ("content", "words", "expected"),
    [
        (
            f"{SHEET},img,time (ms)\nT4,resnet50,64,128,180\nT4,resnet50,64,224,540\n",
            ("--precision", "fp32"),
            {"input_size_px": [128, 224]},
        ),
        (
            f"{SHEET},imgsz,time (ms)\nT4,vgg16,32,64,60\nT4,vgg16,32,224,450\n",
            ("--precision", "fp32"),
            {"input_size_px": [64, 224]},
        ),
        (
            f"{SHEET},bits,time (ms)\nT4,resnet50,64,16,266\nT4,resnet50,64,32,540\n",
            (),
            {"precision": ["fp16", "fp32"]},
        ),
    ],
)
def test_columns_by_other_names_are_read(content, words, expected, tmp_path):
    (tmp_path / "runs.csv").write_text(content)
    out = tmp_path / "out.csv"
    assert invoke("data", "import", tmp_path / "runs.csv", "--out", out, *words).exit_code == 0
    frame = pd.read_csv(out)
    assert {name: frame[name].tolist() for name in expected} == expected


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("T4,resnet50,64,9999\nT4,vgg16,32,450\n", "times those of the built-in formula"),
        ("T4,resnet50,64,540\nT4,resnet50,64,54\nT4,vgg16,32,450\n", "contradict each other"),
    ],
)
def test_few_rows_are_asked_about(rows, said, tmp_path):
    (tmp_path / "runs.csv").write_text(f"{SHEET},time (ms)\n{rows}")
    out = tmp_path / "out.csv"
    result = invoke("data", "import", tmp_path / "runs.csv", "--precision", "fp32", "--out", out)
    assert result.exit_code == 2 and said in result.output
    assert not out.exists()
