"""Inputs that are wrong, or would give a wrong result in silence: each is refused by one line.

Nothing is written, and nothing is printed on standard output, unless it is a list of faults. Most of them are
in `transcripts/refusals.txt`.
"""

import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from trainlaw.app.models.coverage import in_sample_warning
from trainlaw.app.models.user_formula import find_formula
from trainlaw.datasets import load

from ...commands import invoke, output, refusal

RUNS = "gpu,cnn,batch_per_gpu,time_s"
RUN = "T4,resnet50,32,0.29"
WANTED = "cnn,gpu,batch_per_gpu"

CHECK, IMPORT, FROM = "data check", "data import", "predict --from"


@pytest.mark.parametrize(
    "rows",
    [
        [[*RUNS.split(",")[:3], None, "time_s"], ["T4", "resnet50", 32, 7, 0.3]],
        [RUNS.split(","), ["T4", "resnet50", 32, 0.3, 0.4]],
    ],
)
def test_cells_of_excel_without_a_heading_are_refused(rows, in_empty_folder):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save("a.xlsx")
    assert "a name for each column" in refusal(CHECK, "a.xlsx")


@pytest.mark.parametrize("line", [f"gpus show {'x' * 5000}", "cnn show '\x00\n=1'"])
def test_a_name_that_is_none_is_refused_in_one_line(line):
    assert re.search("GPU|CNN", refusal(line))


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
    "line", ["predict --cnn resnet50 --gpu T4 --batch 8 --formula", "show", "export --to out.py"]
)
def test_formula_file_that_is_spoiled(line, formula_file, in_empty_folder):
    """Every other way to spoil one is tested with the reader, in tests/formulas/test_formula_file.py."""
    (in_empty_folder / "spoiled.json").write_text(formula_file.read_text().replace('"mul"', '"system"'))
    assert "spoiled.json" in refusal(line, "spoiled.json")
    assert not (in_empty_folder / "out.py").exists()


@pytest.mark.parametrize("line", ["nonsense", "predict --batch many", "study --folds 1", "gpus show"])
def test_usage_errors_exit_2_without_a_traceback(line):
    result = invoke(line)
    assert result.exit_code == 2 and "Traceback" not in result.stderr


def test_a_real_process_fails_the_same_way(tmp_path):
    words = f"-m trainlaw predict --formula {tmp_path} --cnn a --gpu b --batch 1".split()
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_reader_that_leaves_early_is_no_error():
    command = f'"{sys.executable}" -m trainlaw cnn list | head -n 1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_semicolons_and_utf_16_are_read(encoding, in_empty_folder):
    for command, text in ((CHECK, f"{RUNS}\n{RUN}\n"), (FROM, f"{WANTED}\nvgg16,T4,8\n")):
        (in_empty_folder / "a.csv").write_text(text.replace(",", ";"), encoding=encoding)
        assert output(f"{command} a.csv")


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
