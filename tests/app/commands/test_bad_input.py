"""Bad input: one clear line on standard error, exit code 2, nothing written, nothing on standard output."""

import random
import subprocess
import sys

import pytest
from trainlaw.app.cli import app
from typer.testing import CliRunner

GOOD_ROW = {"gpu": "T4", "cnn": "resnet50", "batch_per_gpu": "32", "time_s": "0.21"}


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def fails_in_one_line(result, *expected):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    line, *more = result.stderr.splitlines()
    assert not more
    assert line.startswith("trainlaw: ")
    for text in expected:
        assert text in line
    return line


def table(tmp_path, rows=(GOOD_ROW,), **changes):
    path = tmp_path / "runs.csv"
    rows = [{**row, **changes} for row in rows]
    rows = [{key: value for key, value in row.items() if value is not None} for row in rows]
    path.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n")
    return path


def bad_tables(tmp_path):
    noise = tmp_path / "noise.csv"
    noise.write_bytes(random.Random(0).randbytes(10_000_000))
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    prose = tmp_path / "prose.csv"
    prose.write_text("Dear reader,\n\nthis is a letter.\n")
    header = tmp_path / "header.csv"
    header.write_text(",".join(GOOD_ROW) + "\n")
    picture = tmp_path / "picture.csv"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10)
    return {"noise": noise, "empty": empty, "prose": prose, "header": header, "picture": picture}


@pytest.mark.parametrize("name", ["noise", "empty", "prose", "header", "picture"])
@pytest.mark.parametrize("command", [("study",), ("data", "check"), ("data", "import")], ids=" ".join)
def test_file_that_is_no_table(name, command, tmp_path, in_empty_folder):
    path = bad_tables(tmp_path)[name]
    result = run(*command, path)
    if command == ("data", "check"):
        result.stdout_bytes = b""  # the faults themselves, a line each, are what was asked for
    fails_in_one_line(result, f"{name}.csv")
    assert list(in_empty_folder.iterdir()) == []
    assert not (tmp_path / f"{name}-imported.csv").exists()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"time_s": None}, ["time_s"]),
        ({"gpu": None}, ["gpu"]),
        ({"time_s": "-0.2"}, ["time_s", "-0.2"]),
        ({"time_s": "0"}, ["time_s"]),
        ({"time_s": "soon"}, ["time_s", "soon"]),
        ({"batch_per_gpu": "0"}, ["batch_per_gpu"]),
        ({"batch_per_gpu": "2.5"}, ["batch_per_gpu", "2.5"]),
        ({"gpu": "T44"}, ["T44", "'T4'"]),
        ({"cnn": "resnet5"}, ["resnet5", "'resnet50'"]),
        ({"precision": "fp31"}, ["precision", "fp31"]),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_table_with_a_fault_names_column_and_value(changes, expected, tmp_path, in_empty_folder):
    path = table(tmp_path, **changes)
    fails_in_one_line(run("study", path), *expected)
    # What is wrong with a spreadsheet is listed, as it is asked for.
    result = run("data", "import", path)
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    assert all(text.strip("'") in result.stdout for text in expected)
    assert list(in_empty_folder.iterdir()) == []


def test_time_in_another_unit_is_refused_unless_it_is_said(tmp_path):
    path = table(tmp_path, time_s=None, time_ms="210")
    fails_in_one_line(run("study", path), "time_s")
    assert run("data", "check", path, "--column", "time_s=time_ms").exit_code == 0
    fails_in_one_line(run("data", "check", path, "--column", "time_s"), "OURS=YOURS")


def test_check_prints_a_line_per_fault(tmp_path):
    path = table(tmp_path, rows=[GOOD_ROW, {**GOOD_ROW, "time_s": "-1"}, {**GOOD_ROW, "gpu": "T44"}])
    result = run("data", "check", path)
    assert result.exit_code == 2
    assert len(result.stdout.splitlines()) == 2
    assert "2 faults" in result.stderr


def test_runs_on_one_gpu_only_cannot_be_held_out(tmp_path, in_empty_folder):
    fails_in_one_line(run("study", table(tmp_path)), "two kinds of GPU")
    assert list(in_empty_folder.iterdir()) == []


def test_table_that_is_nowhere(in_empty_folder):
    fails_in_one_line(run("study", "nowhere.csv"), "no such file")
    fails_in_one_line(run("study", "defaul"), "'default'")
    fails_in_one_line(run("data", "show", "defaul"), "'default'")
    assert list(in_empty_folder.iterdir()) == []


def test_run_folder_is_not_overwritten(in_empty_folder):
    (in_empty_folder / "mine").mkdir()
    (in_empty_folder / "mine" / "letter").write_text("dear")
    fails_in_one_line(run("study", "--into", "mine"), "mine exists")
    fails_in_one_line(run("study", "--into", "mine", "--overwrite"), "not a run folder")
    assert (in_empty_folder / "mine" / "letter").read_text() == "dear"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--cnn", "resnet50", "--gpu", "T44", "--batch", 8), ["T44", "'T4'"]),
        (("--cnn", "resnet50", "--gpu", "Tesla", "--batch", 8), ["'Tesla'"]),
        (("--cnn", "resnet50", "--gpu", "", "--batch", 8), ["GPU"]),
        (("--cnn", "resnet5", "--gpu", "T4", "--batch", 8), ["resnet5", "'resnet50'"]),
        (("--cnn", "=cmd()", "--gpu", "T4", "--batch", 8), ["unknown CNN"]),
        (("--cnn", "resnet50", "--gpu", "T4"), ["--batch"]),
        (("--cnn", "resnet50", "--batch", 8), ["--gpu"]),
        (("--cnn", "resnet50", "--gpu", "T4", "--all-gpus", "--batch", 8), ["--all-gpus"]),
        (("--cnn", "vgg16", "--gpu", "T4", "--batch", 8, "--pixels", 3), ["too small"]),
        (("--cnn", "vgg16", "--gpu", "T4", "--batch", 8, "--precision", "fp31"), ["fp31"]),
        (("--cnn", "vgg16", "--gpu", "T4", "--batch", 8, "--gpus", 3, "--nodes", 2), ["multiple", "3"]),
        (("--cnn", "vgg16", "--gpu", "T4", "--batch", 8, "--gpus", 2, "--algorithm", "rnig"), ["'ring'"]),
        (("--cnn", "vgg16", "--gpu", "T4", "--batch", 8, "--gpus", 2, "--link", "pcie"), ["unknown link"]),
        (("--cnn", "vgg16", "--gpu", "T4", "--batch", 8, "--link", "pcie4-x16"), ["--gpus"]),
        (("--cnn", "vgg16", "--gpu", "T4", "--batch", 8, "--fabric", "ethernet-10g"), ["--nodes"]),
        (("--cnn", "vgg16", "--gpu", "T4", "--batch", 8, "--out", __file__), ["exists"]),
    ],
)
def test_prediction_of_what_is_not_known(arguments, expected, formula_file):
    fails_in_one_line(run("predict", "--formula", formula_file, *arguments), *expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "at least one row"),
        ("cnn,gpu\nresnet50,T4\n", "batch_per_gpu"),
        ("cnn,gpu,batch_per_gpu\n", "at least one row"),
        ("cnn,gpu,batch_per_gpu\nresnet50,T4,8\nresnet50,T44,8\n", "line 3"),
        ("cnn,gpu,batch_per_gpu\nresnet50,T4,-8\n", "'-8'"),
        ("cnn,gpu,batch_per_gpu\nresnet50,T4\n", "batch_per_gpu"),
        ("cnn,gpu,batch_per_gpu\nresnet50,T4,99999999999\n", "batch_per_gpu"),
    ],
)
def test_faulty_csv_of_configurations(content, expected, formula_file, tmp_path):
    path = tmp_path / "plans.csv"
    path.write_text(content)
    line = fails_in_one_line(run("predict", "--formula", formula_file, "--from", path), "plans.csv")
    assert expected in line or "missing" in line


@pytest.mark.parametrize("command", ["predict", "show", "export"])
def test_formula_file_that_is_spoiled(command, formula_file, tmp_path):
    """Every other way to spoil one is tested with the reader, in tests/formulas/test_formula_file.py."""
    path = tmp_path / "spoiled.json"
    path.write_text(formula_file.read_text().replace('"mul"', '"system"'))
    arguments = {
        "predict": ("predict", "--formula", path, "--cnn", "resnet50", "--gpu", "T4", "--batch", 8),
        "show": ("show", path),
        "export": ("export", path, "--to", tmp_path / "out.py"),
    }[command]
    fails_in_one_line(run(*arguments), "spoiled.json")
    assert not (tmp_path / "out.py").exists()


def test_no_formula_anywhere(in_empty_folder, monkeypatch):
    monkeypatch.setattr("trainlaw.app.models.user_formula.BUILT_IN", in_empty_folder / "none.json")
    fails_in_one_line(run("show"), "trainlaw study")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("x.docx", ".docx"), ("x", "'x'"), ("nowhere/x.py", "nowhere"), ("there.py", "exists")],
)
def test_export_to_an_impossible_file(name, expected, formula_file, in_empty_folder):
    (in_empty_folder / "there.py").write_text("mine")
    fails_in_one_line(run("export", formula_file, "--to", name), expected)
    assert [path.name for path in in_empty_folder.iterdir()] == ["there.py"]
    assert (in_empty_folder / "there.py").read_text() == "mine"


@pytest.mark.parametrize(
    "arguments",
    [
        ("gpus", "show", "T44"),
        ("cnn", "show", "resnet5"),
        ("gpus", "show", "x" * 5000),
        ("cnn", "show", "\x00\n=1"),
    ],
)
def test_unknown_names(arguments):
    fails_in_one_line(run(*arguments))


def test_usage_errors_exit_2_without_a_traceback():
    for arguments in (
        ("nonsense",),
        ("predict", "--batch", "many"),
        ("study", "--folds", "1"),
        ("gpus", "show"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_real_process_fails_the_same_way(tmp_path):
    command = [
        sys.executable,
        "-m",
        "trainlaw",
        "predict",
        "--formula",
        str(tmp_path),
        "--cnn",
        "a",
        "--gpu",
        "b",
        "--batch",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error():
    command = f'"{sys.executable}" -m trainlaw cnn list | head -n 1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
